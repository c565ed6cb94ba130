package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/source/git"
)

// entry is an entry of a tree that git itself would not write.
type entry struct{ mode, name, hash string }

// newRepository returns a repository whose policy directory has the entries besides a valid
// file.
func newRepository(t *testing.T, entries func(file, folder string) []entry) string {
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

// An invalid entry is reported by its name, and no other file is read in its place: from a
// server and from a local repository.
func TestInvalidEntries(t *testing.T) {
	file := func(mode, name string) func(file, folder string) []entry {
		return func(file, _ string) []entry { return []entry{{mode, name, file}} }
	}
	rows := []struct {
		name    string
		entries func(file, folder string) []entry
		want    string // part of a diagnostic or an error, or after "|" of git's error; empty: no error
	}{
		{"no other entry", func(string, string) []entry { return nil }, ""},
		{"name with a slash", file("100644", "../../etc/x.yaml"), `"../../etc/x.yaml"`},
		{"absolute name", file("100644", "/etc/x.yaml"), `"/etc/x.yaml"`},
		{"name with a backslash", file("100644", `..\x.yaml`), `"..\\x.yaml"`},
		{"parent folder", func(_, folder string) []entry { return []entry{{"40000", "..", folder}} }, `".."`},
		{"the folder itself", func(_, folder string) []entry { return []entry{{"40000", ".", folder}} }, `"."`},
		{"git folder", func(_, folder string) []entry { return []entry{{"40000", ".git", folder}} }, `".git"`},
		{"git folder in upper case", func(_, folder string) []entry { return []entry{{"40000", ".GIT", folder}} }, `".GIT"`},
		{"empty name", file("100644", ""), "corrupt|empty filename"},
		{"name with a line break", file("100644", "x\ny.yaml"), "must be printable"},
		{"duplicate name", file("100644", "good.yaml"), `duplicate entry "good.yaml"`},
		{"file and folder of the same name", func(_, folder string) []entry { return []entry{{"40000", "good.yaml", folder}} }, `duplicate entry "good.yaml"`},
		{"file that differs in case", file("100644", "GOOD.yaml"), `differs from "good.yaml" only in case`},
		{"folder that differs in case", func(_, folder string) []entry {
			return []entry{{"40000", "More", folder}, {"40000", "more", folder}}
		}, `differs from "More" only in case`},
		{"ending in upper case", file("100644", "deny.YAML"), "deny.YAML: file-name"},
		{"other files that differ in case", func(file, _ string) []entry {
			return []entry{{"100644", "NOTES", file}, {"100644", "notes", file}}
		}, ""},
		{"submodule", file("160000", "vendor"), "vendor: not-regular"},
		{"submodule named like a document", file("160000", "vendor.yaml"), "vendor.yaml: not-regular"},
		{"link to a missing file", func(file, _ string) []entry { return []entry{{"120000", "x.yaml", file}} }, "x.yaml: broken-link"},
		{"invalid mode", file("010644", "x.yaml"), "x.yaml"},
		{"folder with the hash of a file", func(file, _ string) []entry { return []entry{{"40000", "x", file}} }, `read folder "x"|corrupt`},
		{"file with the hash of a folder", func(_, folder string) []entry { return []entry{{"100644", "x.yaml", folder}} }, "read x.yaml"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := newRepository(t, row.entries)
			server := serveGitBelow(t, filepath.Dir(dir))
			for _, url := range []string{"git+" + server.URL + "/made.git//p?ref=main", "git+file://" + dir + "//p?ref=main"} {
				snapshot, list, err := git.Open(git.Options{Location: parse(t, url)}).Snapshot(t.Context())
				reported := fmt.Sprint(err)
				for _, d := range list {
					reported += fmt.Sprintf("\n%s: %s %s", d.File, d.Code, d.Message)
				}
				isRejected := err != nil || len(list) > 0
				ours, gits, _ := strings.Cut(row.want, "|")
				if isRejected != (row.want != "") || !strings.Contains(reported, ours) && (gits == "" || !strings.Contains(reported, gits)) {
					t.Errorf("got %s, want %q", reported, row.want)
				}
				for _, f := range snapshot.Files {
					if f.Path != "good.yaml" && !(row.want == "" || f.Path == "More/deep.yaml") {
						t.Errorf("got file %s", f.Path)
					}
				}
			}
		})
	}
}
