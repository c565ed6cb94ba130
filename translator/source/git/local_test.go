package git_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/source/git"
)

// localFault is done to a repository on this machine.
type localFault struct {
	name string
	do   func(o *origin) error
	want string
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
	none := func([]byte) []byte { return nil }
	flip := func(content []byte) []byte { content[len(content)/2] ^= 0x10; return content }
	in := func(path string) func(o *origin) string {
		return func(o *origin) string { return filepath.Join(o.dir, path) }
	}
	commit := func(o *origin) string { return o.object(o.second) }
	folder := func(o *origin) string { return o.object(o.tree) }
	top := func(o *origin) string { return o.object(o.top) }
	file := func(o *origin) string { return o.object(o.blob) }
	another := func(path, from func(o *origin) string) func(o *origin) error {
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
				o.t.Fatalf("got %q, want one of %s", found, pattern)
			}
			return edit(func(*origin) string { return found[0] }, change)(o)
		}
	}
	return []localFault{
		{"the repository is gone", remove(in("")), "repository does not exist"},
		{"a file in its place", func(o *origin) error {
			check(o.t, os.RemoveAll(o.dir))
			return os.WriteFile(o.dir, []byte("gitdir"), 0o644)
		}, "open the repository"},
		{"an empty one in its place", func(o *origin) error {
			check(o.t, os.RemoveAll(o.dir))
			(&checkout{o.t, filepath.Dir(o.dir)}).git("init", "--quiet", "--bare", "--initial-branch=main", o.dir)
			return nil
		}, `no reference "main"`},
		{"its objects are gone", remove(in("objects")), "is not there"},
		{"the reference is gone", remove(in("refs/heads/main")), `no reference "main"`},
		{"the reference is empty", edit(in("refs/heads/main"), none), `no reference "main"`},
		{"the reference is half written", edit(in("refs/heads/main"), half), "is not there"},
		{"the reference is nonsense", edit(in("refs/heads/main"), func([]byte) []byte { return []byte("main\n") }), "names no commit"},
		{"the reference names nothing", edit(in("refs/heads/main"), func([]byte) []byte { return []byte(strings.Repeat("0", 40)) }), "names no commit"},
		{"the reference names a file", func(o *origin) error { o.point(o.blob); return nil }, "is no commit, but a blob"},
		{"the reference leads to itself", edit(in("refs/heads/main"), func([]byte) []byte { return []byte("ref: refs/heads/main\n") }), `no reference "main"`},
		{"the commit is gone", remove(commit), "is not there"},
		{"the folder is gone", remove(folder), `read the folder "p": object not found`},
		{"the file is gone", remove(file), "read a.yaml: object not found"},
		{"the commit is half written", edit(commit, half), "read commit"},
		{"the folder is half written", edit(folder, half), `read the folder "p"`},
		{"the file is half written", edit(file, half), "EOF"},
		{"the file is empty", edit(file, none), "EOF"},
		{"the commit is corrupted", edit(commit, flip), "read commit"},
		{"the file is corrupted", edit(file, flip), "read a.yaml"},
		{"another object in the commit's place", another(commit, folder), "is damaged"},
		{"another object in the folder's place", another(folder, top), "is damaged"},
		{"another object in the file's place", another(file, folder), "read a.yaml"},
		{"another file in the file's place", another(file, func(o *origin) string { return o.object(o.before) }), "is damaged"},
		{"the pack is half written", packed("*.pack", half), "object not found"},
		{"the pack is corrupted", packed("*.pack", func(content []byte) []byte {
			return append(content[:20], bytes.Repeat([]byte{0xff}, len(content)-20)...)
		}), "read commit"},
		{"the pack's index is half written", packed("*.idx", half), "is not there"},
		{"the pack's index is empty", packed("*.idx", none), "is not there"},
		{"the pack's index is of another pack", packed("*.idx", func(content []byte) []byte { // its offsets
			copy(content[len(content)-60:], bytes.Repeat([]byte{0, 0, 0, 12}, 5))
			return content
		}), "commit"},
		{"the configuration is nonsense", edit(in("config"), func([]byte) []byte { return []byte("[core\n") }), "open the repository"},
		{"the file may not be read", func(o *origin) error {
			if os.Geteuid() == 0 {
				o.t.Skip("root may read everything")
			}
			return os.Chmod(file(o), 0)
		}, "permission denied"},
	}
}

// Each fault is met between two good commits of a bare repository on this machine.
func TestGitLocalFaults(t *testing.T) {
	o := newOrigin(t)
	rows := [][]string{{"fault", "said"}}
	for _, f := range localFaults() {
		rows = append(rows, []string{f.name, f.want})
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			local, dir := o.copy(t), t.TempDir()
			url := "git+file://" + local.dir
			r := git.Open(git.Options{Location: at(t, url+"//p?ref=main"), Dir: dir})
			survives(t, r, url, dir, f.want, 2, func() {
				local.point(local.second)
				check(t, f.do(local))
			}, func() { local.restore(local.second) })
		})
	}
	documented(t, rows)
}

// What is none of the reference's business is no fault: a lock that a killed git left,
// another reference that is broken, and one that goes away and comes back.
func TestGitLocalBystanders(t *testing.T) {
	local := newOrigin(t).copy(t)
	r := git.Open(git.Options{Location: at(t, "git+file://"+local.dir+"//p?ref=main")})
	want := func(text string) {
		t.Helper()
		if files, _, _ := reading(t, r); files["a.yaml"] != text {
			t.Errorf("got %q, want %q", files["a.yaml"], text)
		}
	}
	want("a: 1\n")
	for name, content := range map[string]string{
		"main.lock": "", "index.lock": "", "refs/heads/main.lock": local.second[:20], "refs/heads/broken": "", "refs/heads/nonsense": "x",
	} {
		check(t, os.WriteFile(filepath.Join(local.dir, name), []byte(content), 0o644))
	}
	local.point(local.second)
	want("a: 2\n")
	check(t, os.Remove(filepath.Join(local.dir, "refs/heads/main")))
	if _, _, err := r.Snapshot(t.Context()); err == nil {
		t.Error("a reference that is gone: no error")
	}
	local.point(local.second)
	want("a: 2\n")
	local.point(local.first) // a history that was rewritten
	want("a: 1\n")
	check(t, os.Remove(filepath.Join(local.dir, "refs/heads/main.lock")))
	(&checkout{t, local.dir}).git("pack-refs", "--all")
	want("a: 1\n")
}
