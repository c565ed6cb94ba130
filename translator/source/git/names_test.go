package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/source/git"
)

// entry is one of a tree that is written by hand, as no git would.
type entry struct{ mode, name, hash string }

// handmade is a repository whose commit has a folder with these entries, beside a
// good file.
func handmade(t *testing.T, entries func(file, folder string) []entry) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made.git")
	check(t, os.Mkdir(dir, 0o755))
	c := &checkout{t, dir}
	c.git("init", "--quiet", "--bare", "--template=", "--initial-branch=main")
	file := c.gitWith("a: 1\n", "hash-object", "-w", "--stdin")
	tree := func(entries []entry) string {
		var raw strings.Builder
		for _, e := range entries {
			fmt.Fprintf(&raw, "%s %s\x00", e.mode, e.name)
			for i := 0; i < len(e.hash); i += 2 {
				var b byte
				_, err := fmt.Sscanf(e.hash[i:i+2], "%02x", &b)
				check(t, err)
				raw.WriteByte(b)
			}
		}
		return c.gitWith(raw.String(), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	}
	folder := tree([]entry{{"100644", "deep.yaml", file}})
	policies := tree(append([]entry{{"100644", "good.yaml", file}}, entries(file, folder)...))
	commit := c.git("commit-tree", "-m", "made", tree([]entry{{"40000", "p", policies}}))
	c.git("update-ref", "refs/heads/main", commit)
	return dir
}

// What a tree may not have is refused by its name, and nothing beside it is read in
// its place: from a server and from this machine.
func TestGitRefusesNames(t *testing.T) {
	file := func(mode, name string) func(file, folder string) []entry {
		return func(file, _ string) []entry { return []entry{{mode, name, file}} }
	}
	rows := []struct {
		name    string
		entries func(file, folder string) []entry
		want    string // of a diagnostic or an error, or git's word for it; empty: it is read
	}{
		{"nothing", func(string, string) []entry { return nil }, ""},
		{"a name with a slash", file("100644", "../../etc/x.yaml"), `"../../etc/x.yaml"`},
		{"an absolute name", file("100644", "/etc/x.yaml"), `"/etc/x.yaml"`},
		{"a name with a backslash", file("100644", `..\x.yaml`), `"..\\x.yaml"`},
		{"the folder above", func(_, folder string) []entry { return []entry{{"40000", "..", folder}} }, `".."`},
		{"the folder itself", func(_, folder string) []entry { return []entry{{"40000", ".", folder}} }, `"."`},
		{"a repository's own folder", func(_, folder string) []entry { return []entry{{"40000", ".git", folder}} }, `".git"`},
		{"the same in other letters", func(_, folder string) []entry { return []entry{{"40000", ".GIT", folder}} }, `".GIT"`},
		{"no name", file("100644", ""), "corrupt|empty filename"},
		{"a name with a line break", file("100644", "x\ny.yaml"), "not printable"},
		{"a name twice", file("100644", "good.yaml"), `"good.yaml" twice`},
		{"a file and a folder of a name", func(_, folder string) []entry { return []entry{{"40000", "good.yaml", folder}} }, `"good.yaml" twice`},
		{"a name in other letters", file("100644", "GOOD.yaml"), `differs from "good.yaml" in case alone`},
		{"a folder in other letters", func(_, folder string) []entry {
			return []entry{{"40000", "More", folder}, {"40000", "more", folder}}
		}, `differs from "More" in case alone`},
		{"other letters that are not read", func(file, _ string) []entry {
			return []entry{{"100644", "NOTES", file}, {"100644", "notes", file}}
		}, ""},
		{"a submodule", file("160000", "vendor"), "vendor: not-regular"},
		{"a submodule with a document's name", file("160000", "vendor.yaml"), "vendor.yaml: not-regular"},
		{"a link out of it", func(file, _ string) []entry { return []entry{{"120000", "x.yaml", file}} }, "x.yaml: broken-link"},
		{"a mode that is none", file("010644", "x.yaml"), "x.yaml"},
		{"a folder that is a file", func(file, _ string) []entry { return []entry{{"40000", "x", file}} }, `read the folder "x"|corrupt`},
		{"a file that is a folder", func(_, folder string) []entry { return []entry{{"100644", "x.yaml", folder}} }, "read x.yaml"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := handmade(t, row.entries)
			server := serveGitBelow(t, filepath.Dir(dir))
			for _, url := range []string{"git+" + server.URL + "/made.git//p?ref=main", "git+file://" + dir + "//p?ref=main"} {
				snapshot, list, err := git.Open(git.Options{Location: at(t, url)}).Snapshot(t.Context())
				said := fmt.Sprint(err)
				for _, d := range list {
					said += fmt.Sprintf("\n%s: %s %s", d.File, d.Code, d.Message)
				}
				refused := err != nil || list.HasErrors()
				ours, gits, _ := strings.Cut(row.want, "|")
				if refused != (row.want != "") || !strings.Contains(said, ours) && (gits == "" || !strings.Contains(said, gits)) {
					t.Errorf("got %s, want %q", said, row.want)
				}
				for _, f := range snapshot.Files {
					if f.Path != "good.yaml" && !(row.want == "" || f.Path == "More/deep.yaml") {
						t.Errorf("%s is read", f.Path)
					}
				}
			}
		})
	}
}
