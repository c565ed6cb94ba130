package git_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/source/git"
)

// localFault damages a local repository.
type localFault struct {
	name   string
	damage func(o *origin) error
	want   string // part of the error
}

func localFaults() []localFault {
	edit := func(path func(o *origin) string, change func([]byte) []byte) func(o *origin) error {
		return func(o *origin) error {
			content, err := os.ReadFile(path(o))
			if err != nil {
				return err
			}
			if err := os.Chmod(path(o), 0o644); err != nil {
				return err
			}
			return os.WriteFile(path(o), change(content), 0o644)
		}
	}
	remove := func(path func(o *origin) string) func(o *origin) error {
		return func(o *origin) error { return os.RemoveAll(path(o)) }
	}
	half := func(content []byte) []byte { return content[:len(content)/2] }
	empty := func([]byte) []byte { return nil }
	flip := func(content []byte) []byte { content[len(content)/2] ^= 0x10; return content }
	in := func(path string) func(o *origin) string {
		return func(o *origin) string { return filepath.Join(o.dir, path) }
	}
	commit := func(o *origin) string { return o.objectPath(o.second) }
	folder := func(o *origin) string { return o.objectPath(o.tree) }
	top := func(o *origin) string { return o.objectPath(o.top) }
	file := func(o *origin) string { return o.objectPath(o.blob) }
	oldFile := func(o *origin) string { return o.objectPath(o.oldBlob) }
	overwrite := func(path, from func(o *origin) string) func(o *origin) error {
		return func(o *origin) error {
			content, err := os.ReadFile(from(o))
			if err != nil {
				return err
			}
			return edit(path, func([]byte) []byte { return content })(o)
		}
	}
	packed := func(pattern string, change func([]byte) []byte) func(o *origin) error {
		return func(o *origin) error {
			git := checkout{o.t, o.dir}
			git.git("repack", "-adq")
			found, err := filepath.Glob(filepath.Join(o.dir, "objects/pack", pattern))
			if err != nil || len(found) != 1 {
				o.t.Fatalf("got %q, want one file %s", found, pattern)
			}
			return edit(func(*origin) string { return found[0] }, change)(o)
		}
	}
	return []localFault{
		{"missing repository", remove(in("")), "repository does not exist"},
		{"file instead of the repository", func(o *origin) error {
			check(o.t, os.RemoveAll(o.dir))
			return os.WriteFile(o.dir, []byte("gitdir"), 0o644)
		}, "open the repository"},
		{"empty repository instead", func(o *origin) error {
			check(o.t, os.RemoveAll(o.dir))
			(&checkout{o.t, filepath.Dir(o.dir)}).git("init", "--quiet", "--bare", "--initial-branch=main", o.dir)
			return nil
		}, `no reference "main"`},
		{"missing objects", remove(in("objects")), "not found"},
		{"missing reference", remove(in("refs/heads/main")), `no reference "main"`},
		{"empty reference", edit(in("refs/heads/main"), empty), `no reference "main"`},
		{"truncated reference", edit(in("refs/heads/main"), half), "not found"},
		{"reference that is not a hash", edit(in("refs/heads/main"), func([]byte) []byte { return []byte("main\n") }), "does not name a commit"},
		{"reference to the zero hash", edit(in("refs/heads/main"), func([]byte) []byte { return []byte(strings.Repeat("0", 40)) }), "does not name a commit"},
		{"reference to a file", func(o *origin) error { o.setBranch(o.blob); return nil }, "is a blob, not a commit"},
		{"reference to itself", edit(in("refs/heads/main"), func([]byte) []byte { return []byte("ref: refs/heads/main\n") }), `no reference "main"`},
		{"missing commit", remove(commit), "not found"},
		{"missing folder", remove(folder), `read folder "p": object not found`},
		{"missing file", remove(file), "read a.yaml: object not found"},
		{"truncated commit", edit(commit, half), "read commit"},
		{"truncated folder", edit(folder, half), `read folder "p"`},
		{"truncated file", edit(file, half), "EOF"},
		{"empty file", edit(file, empty), "EOF"},
		{"corrupted commit", edit(commit, flip), "read commit"},
		{"corrupted file", edit(file, flip), "read a.yaml"},
		{"commit overwritten by a folder", overwrite(commit, folder), "is damaged"},
		{"folder overwritten by another one", overwrite(folder, top), "is damaged"},
		{"file overwritten by a folder", overwrite(file, folder), "read a.yaml"},
		{"file overwritten by another one", overwrite(file, oldFile), "is damaged"},
		{"truncated pack", packed("*.pack", half), "object not found"},
		{"corrupted pack", packed("*.pack", func(content []byte) []byte {
			return append(content[:20], bytes.Repeat([]byte{0xff}, len(content)-20)...)
		}), "read commit"},
		{"truncated pack index", packed("*.idx", half), "not found"},
		{"empty pack index", packed("*.idx", empty), "not found"},
		{"pack index with wrong offsets", packed("*.idx", func(content []byte) []byte {
			copy(content[len(content)-60:], bytes.Repeat([]byte{0, 0, 0, 12}, 5))
			return content
		}), "commit"},
		{"invalid configuration", edit(in("config"), func([]byte) []byte { return []byte("[core\n") }), "open the repository"},
		{"unreadable file", func(o *origin) error {
			if os.Geteuid() == 0 {
				o.t.Skip("root can read every file")
			}
			return os.Chmod(file(o), 0)
		}, "permission denied"},
	}
}

// Each fault damages a bare repository between two good commits.
func TestLocalFaults(t *testing.T) {
	o := newOrigin(t)
	rows := [][]string{{"fault", "error"}}
	for _, f := range localFaults() {
		rows = append(rows, []string{f.name, f.want})
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			local, dir := o.copy(t), t.TempDir()
			url := "git+file://" + local.dir
			r := git.Open(git.Options{Location: parse(t, url+"//p?ref=main"), Dir: dir})
			checkRecovery(t, r, url, dir, f.want, 2, func() {
				local.setBranch(local.second)
				check(t, f.damage(local))
			}, func() { local.restore(local.second) })
		})
	}
	checkDocumented(t, rows)
}

// A leftover lock and a broken other reference do not disturb the reading; a reference can
// disappear and come back, and can move to an older commit.
func TestLocalIgnoresOtherReferences(t *testing.T) {
	local := newOrigin(t).copy(t)
	r := git.Open(git.Options{Location: parse(t, "git+file://"+local.dir+"//p?ref=main")})
	want := func(text string) {
		t.Helper()
		if files, _, _ := read(t, r); files["a.yaml"] != text {
			t.Errorf("got %q, want %q", files["a.yaml"], text)
		}
	}
	want("a: 1\n")
	for name, content := range map[string]string{
		"main.lock": "", "index.lock": "", "refs/heads/main.lock": local.second[:20], "refs/heads/broken": "", "refs/heads/nonsense": "x",
	} {
		check(t, os.WriteFile(filepath.Join(local.dir, name), []byte(content), 0o644))
	}
	local.setBranch(local.second)
	want("a: 2\n")
	check(t, os.Remove(filepath.Join(local.dir, "refs/heads/main")))
	if _, _, err := r.Snapshot(t.Context()); err == nil {
		t.Error("missing reference: got no error")
	}
	local.setBranch(local.second)
	want("a: 2\n")
	local.setBranch(local.first) // as after a forced push
	want("a: 1\n")
	check(t, os.Remove(filepath.Join(local.dir, "refs/heads/main.lock")))
	(&checkout{t, local.dir}).git("pack-refs", "--all")
	want("a: 1\n")
}
