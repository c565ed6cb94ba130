package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newTree writes files below a new folder. A content that begins with "-> " is a link, a
// name that ends with a slash is a folder.
func newTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeTree(t, dir, files)
	return dir
}

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			check(t, os.MkdirAll(path, 0o755))
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			check(t, os.Symlink(target, path))
			continue
		}
		check(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// snapshotOf returns the files of a snapshot as "path=content" and its diagnostics as
// "path code".
func snapshotOf(t *testing.T, d *Directory) (files, diagnostics []string) {
	t.Helper()
	snapshot, list, err := d.Snapshot(context.Background())
	check(t, err)
	for _, f := range snapshot.Files {
		files = append(files, f.Path+"="+string(f.Content.Bytes()))
	}
	for _, d := range list {
		diagnostics = append(diagnostics, d.File+" "+string(d.Code))
	}
	slices.Sort(diagnostics)
	return files, diagnostics
}

func wantEqual(t *testing.T, subject string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", subject, got, want)
	}
}

func TestSnapshotReads(t *testing.T) {
	rows := []struct {
		name        string
		files       map[string]string
		o           DirOptions
		want        []string
		diagnostics []string
	}{{
		name: "documents at any depth, sorted by path",
		files: map[string]string{
			"b.yaml": "b", "a/z.yml": "z", "a/b/c.json": "c", "a-b.rego": "r", "README.md": "no", "Makefile": "no", "empty/": "",
		},
		want: []string{"a-b.rego=r", "a/b/c.json=c", "a/z.yml=z", "b.yaml=b"},
	}, {
		name: "names with a leading dot",
		files: map[string]string{
			".hidden.yaml": "no", ".git2/x.yaml": "no", "a/.b/c.yaml": "no", "yes.yaml": "y", ".#yes.yaml": "-> nowhere",
		},
		want: []string{"yes.yaml=y"},
	}, {
		name: "a mounted ConfigMap is read once",
		files: map[string]string{
			"..2026_01/deny.yaml": "d", "..data": "-> ..2026_01", "deny.yaml": "-> ..data/deny.yaml",
		},
		want: []string{"deny.yaml=d"},
	}, {
		name: "links to files and folders",
		files: map[string]string{
			"real/x.yaml": "x", "real/data": "d", "again": "-> real", "d.yaml": "-> real/data", "README": "-> real/data",
		},
		want: []string{"again/x.yaml=x", "d.yaml=d", "real/x.yaml=x"},
	}, {
		name:        "broken links",
		files:       map[string]string{"gone.yaml": "-> nothing", "mount": "-> /nothing/here", "under.yaml": "-> a.yaml/b", "a.yaml": "a"},
		want:        []string{"a.yaml=a"},
		diagnostics: []string{"gone.yaml broken-link", "mount broken-link", "under.yaml broken-link"},
	}, {
		name:        "link loops",
		files:       map[string]string{"self.yaml": "-> self.yaml", "a/up": "-> ..", "a/here": "-> .", "a/b/x.yaml": "x", "p": "-> q", "q": "-> p"},
		want:        []string{"a/b/x.yaml=x"},
		diagnostics: []string{"a/here link-loop", "a/up link-loop", "p link-loop", "q link-loop", "self.yaml link-loop"},
	}, {
		name:        "file too large",
		files:       map[string]string{"big.yaml": "12345", "fits.yaml": "1234"},
		o:           DirOptions{Limits: Limits{MaxFileBytes: 4}},
		want:        []string{"fits.yaml=1234"},
		diagnostics: []string{"big.yaml too-large"},
	}, {
		name:        "all files too large",
		files:       map[string]string{"a.yaml": "123", "b.yaml": "123", "c.yaml": "123"},
		o:           DirOptions{Limits: Limits{MaxBytes: 6}},
		want:        []string{"a.yaml=123", "b.yaml=123"},
		diagnostics: []string{"c.yaml too-large"},
	}, {
		name:        "too many files and folders",
		files:       map[string]string{"a.yaml": "a", "b/c.yaml": "c", "d.yaml": "d", "e.txt": "e"},
		o:           DirOptions{Limits: Limits{MaxEntries: 3}},
		want:        []string{"a.yaml=a", "b/c.yaml=c"},
		diagnostics: []string{"d.yaml too-large"},
	}, {
		name:        "names with control characters",
		files:       map[string]string{"a\nb.yaml": "x", "c\x1b[0m/d.yaml": "x", "\xff.yaml": "x", "größe.yaml": "g"},
		want:        []string{"größe.yaml=g"},
		diagnostics: []string{`\xff.yaml file-name`, `a\nb.yaml file-name`, `c\x1b[0m file-name`},
	}, {
		name: "endings in upper case",
		files: map[string]string{
			"deny.YAML": "no", "a/b.Yml": "no", "link.JSON": "-> real/data", "real/data": "d", "NOTES.TXT": "no", ".X.YAML": "no",
			"old/x.YAML": "no", ".writignore": "old/\n*.Rego\n", "y.Rego": "no", "a.yaml": "a",
		},
		want:        []string{"a.yaml=a"},
		diagnostics: []string{"a/b.Yml file-name", "deny.YAML file-name", "link.JSON file-name"},
	}, {
		name:  "empty folder",
		files: map[string]string{},
	}}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			files, diagnostics := snapshotOf(t, Dir(newTree(t, row.files), row.o))
			wantEqual(t, "files", files, row.want)
			wantEqual(t, "diagnostics", diagnostics, row.diagnostics)
		})
	}
}

// Folders that link to each other have exponentially many paths; the limit on entries must
// end the walk.
func TestSnapshotBoundsLinkFans(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("f%02d/one", i)] = fmt.Sprintf("-> ../f%02d", i+1)
		files[fmt.Sprintf("f%02d/two", i)] = fmt.Sprintf("-> ../f%02d", i+1)
	}
	files["f40/x.yaml"] = "x"
	_, diagnostics := snapshotOf(t, Dir(newTree(t, files), DirOptions{Limits: Limits{MaxEntries: 5000}}))
	if len(diagnostics) != 1 || !strings.HasSuffix(diagnostics[0], "too-large") {
		t.Errorf("got %q, want one too-large", diagnostics)
	}
}

func TestSnapshotStaysInCheckout(t *testing.T) {
	outside := newTree(t, map[string]string{"secret.yaml": "s", "dir/x.yaml": "x"})
	rows := []struct {
		name        string
		files       map[string]string
		want        []string
		diagnostics []string
	}{{
		name:  "links within the checkout, also above the directory",
		files: map[string]string{"shared/a.yaml": "a", "policies/a.yaml": "-> ../shared/a.yaml", "policies/all": "-> ../shared"},
		want:  []string{"a.yaml=a", "all/a.yaml=a"},
	}, {
		name:        "link to a file outside",
		files:       map[string]string{"policies/s.yaml": "-> " + outside + "/secret.yaml", "policies/t.yaml": "t"},
		want:        []string{"t.yaml=t"},
		diagnostics: []string{"s.yaml outside-checkout"},
	}, {
		name:        "link to a folder outside",
		files:       map[string]string{"policies/d": "-> " + outside + "/dir"},
		diagnostics: []string{"d outside-checkout"},
	}, {
		name:        "link to a link",
		files:       map[string]string{"policies/d.yaml": "-> ../hop", "hop": "-> " + outside + "/secret.yaml"},
		diagnostics: []string{"d.yaml outside-checkout"},
	}, {
		name:        "link into the git folder",
		files:       map[string]string{"policies/c.yaml": "-> ../.git/config"},
		diagnostics: []string{"c.yaml outside-checkout"},
	}, {
		name:  "link outside that is not a document",
		files: map[string]string{"policies/notes.txt": "-> " + outside + "/secret.yaml"},
	}}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			top := newTree(t, row.files)
			git(t, top, "init", "-q")
			files, diagnostics := snapshotOf(t, Dir(filepath.Join(top, "policies"), DirOptions{}))
			wantEqual(t, "files", files, row.want)
			wantEqual(t, "diagnostics", diagnostics, row.diagnostics)
		})
	}
	t.Run("linked worktree", func(t *testing.T) {
		top := newTree(t, map[string]string{"policies/s.yaml": "-> " + outside + "/secret.yaml", "policies/t.yaml": "t"})
		git(t, top, "init", "-q")
		git(t, top, "add", ".")
		git(t, top, "-c", "user.name=w", "-c", "user.email=w@example.com", "commit", "-q", "-m", "policies")
		tree := filepath.Join(t.TempDir(), "tree")
		git(t, top, "worktree", "add", "-q", tree)
		files, diagnostics := snapshotOf(t, Dir(filepath.Join(tree, "policies"), DirOptions{}))
		wantEqual(t, "files", files, []string{"t.yaml=t"})
		wantEqual(t, "diagnostics", diagnostics, []string{"s.yaml outside-checkout"})
	})
	t.Run("folder that becomes a link after it was listed", func(t *testing.T) {
		top := newTree(t, map[string]string{"policies/dir/x.yaml": "x"})
		git(t, top, "init", "-q")
		d := Dir(filepath.Join(top, "policies"), DirOptions{})
		l, err := d.list(context.Background())
		check(t, err)
		defer l.close()
		check(t, os.Rename(filepath.Join(top, "policies/dir"), filepath.Join(top, "policies/.dir")))
		writeTree(t, top, map[string]string{"policies/dir": "-> " + outside + "/dir"})
		f, err := l.open(l.entries[0].real)
		if !errors.Is(err, errChanged) {
			f.Close()
			t.Errorf("got %v, want errChanged", err)
		}
		_, diagnostics := snapshotOf(t, d)
		wantEqual(t, "diagnostics", diagnostics, []string{"dir outside-checkout"})
	})
	t.Run("outside of a checkout every link is followed", func(t *testing.T) {
		files, diagnostics := snapshotOf(t, Dir(newTree(t, map[string]string{"s.yaml": "-> " + outside + "/secret.yaml"}), DirOptions{}))
		wantEqual(t, "files", files, []string{"s.yaml=s"})
		wantEqual(t, "diagnostics", diagnostics, nil)
	})
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.Command("git", append([]string{"-C", dir}, args...)...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// Opening a pipe without a writer blocks, so pipes must not be opened.
func TestSnapshotDoesNotOpenPipes(t *testing.T) {
	dir := newTree(t, map[string]string{"a.yaml": "a", "linked.yaml": "-> pipe", "null.yaml": "-> /dev/null"})
	check(t, syscall.Mkfifo(filepath.Join(dir, "p.yaml"), 0o644))
	check(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	files, diagnostics := snapshotOf(t, Dir(dir, DirOptions{}))
	wantEqual(t, "files", files, []string{"a.yaml=a"})
	wantEqual(t, "diagnostics", diagnostics, []string{"linked.yaml not-regular", "null.yaml not-regular", "p.yaml not-regular"})
}

// A file that becomes a pipe after it was listed must not block.
func TestSnapshotOfFileBecomingPipe(t *testing.T) {
	dir := newTree(t, map[string]string{"a.yaml": "a"})
	d := Dir(dir, DirOptions{})
	once := true
	d.onRead = func(string) {
		if once {
			once = false
			path := filepath.Join(dir, "a.yaml")
			check(t, os.Remove(path))
			check(t, syscall.Mkfifo(path, 0o644))
		}
	}
	files, diagnostics := snapshotOf(t, d)
	wantEqual(t, "files", files, nil)
	wantEqual(t, "diagnostics", diagnostics, []string{"a.yaml not-regular"})
}

// A snapshot is a state that the directory had, even if it changes while it is read.
func TestSnapshotIsConsistent(t *testing.T) {
	write := func(name, content string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { writeTree(t, dir, map[string]string{name: content}) }
	}
	rows := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   []string
	}{
		{"file written after it was read", write("a.yaml", "new"), []string{"a.yaml=new", "b.yaml=old"}},
		{"file written before it is read", write("b.yaml", "new"), []string{"a.yaml=old", "b.yaml=new"}},
		{"file grows", write("b.yaml", "older"), []string{"a.yaml=old", "b.yaml=older"}},
		{"file created", write("c/d.yaml", "new"), []string{"a.yaml=old", "b.yaml=old", "c/d.yaml=new"}},
		{"file removed", func(t *testing.T, dir string) { check(t, os.Remove(filepath.Join(dir, "b.yaml"))) }, []string{"a.yaml=old"}},
		{"file replaced", func(t *testing.T, dir string) {
			writeTree(t, dir, map[string]string{".b": "neo"})
			check(t, os.Rename(filepath.Join(dir, ".b"), filepath.Join(dir, "b.yaml")))
		}, []string{"a.yaml=old", "b.yaml=neo"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := newTree(t, map[string]string{"a.yaml": "old", "b.yaml": "old"})
			d := Dir(dir, DirOptions{})
			changed := false
			d.onRead = func(path string) {
				if path == "b.yaml" && !changed {
					changed = true
					row.change(t, dir)
				}
			}
			files, _ := snapshotOf(t, d)
			wantEqual(t, "files", files, row.want)
		})
	}
}

func TestSnapshotOfUnstableDirectory(t *testing.T) {
	dir := newTree(t, map[string]string{"a.yaml": "a"})
	d := Dir(dir, DirOptions{})
	n := 0
	d.onRead = func(string) {
		n++
		writeTree(t, dir, map[string]string{"a.yaml": strings.Repeat("x", n+1)})
	}
	_, _, err := d.Snapshot(context.Background())
	if !errors.Is(err, errUnstable) {
		t.Errorf("got %v, want errUnstable", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err = d.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled", err)
	}
}

func TestSnapshotErrors(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		path  string
		want  error
	}{
		{"missing directory", nil, "gone", fs.ErrNotExist},
		{"file instead of the directory", map[string]string{"f": "x"}, "f", nil},
		{"broken link", map[string]string{"l": "-> gone"}, "l", fs.ErrNotExist},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			snapshot, _, err := Dir(filepath.Join(newTree(t, row.files), row.path), DirOptions{}).Snapshot(context.Background())
			if err == nil || len(snapshot.Files) != 0 {
				t.Fatalf("got %v and %d files, want an error and no files", err, len(snapshot.Files))
			}
			if row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
		})
	}
	t.Run("file whose size is reported as 0", func(t *testing.T) {
		if _, err := os.Stat("/proc/version"); err != nil {
			t.Skip("/proc not found")
		}
		dir := newTree(t, map[string]string{"v.yaml": "-> /proc/version"})
		if _, _, err := Dir(dir, DirOptions{}).Snapshot(context.Background()); !errors.Is(err, errUnstable) {
			t.Errorf("got %v, want errUnstable", err)
		}
	})
	t.Run("unreadable file", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root can read every file")
		}
		dir := newTree(t, map[string]string{"a.yaml": "a", "b.yaml": "b"})
		check(t, os.Chmod(filepath.Join(dir, "b.yaml"), 0))
		if _, _, err := Dir(dir, DirOptions{}).Snapshot(context.Background()); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "b.yaml") {
			t.Errorf("got %v, want permission denied for b.yaml", err)
		}
	})
}

// Only changed files are read again, except files that were just written and files that
// were cached long ago.
// A folder with many files is read as one with few is, whatever stands between them.
func TestSnapshotOfManyFiles(t *testing.T) {
	tree := map[string]string{"link.yaml": "-> f100.yaml", ".hidden.yaml": "h", "notes.txt": "n", "sub/g.yaml": "g"}
	var want []string
	for i := range 5 * statsPerWorker {
		name := fmt.Sprintf("f%d.yaml", i)
		tree[name] = fmt.Sprint(i)
		want = append(want, name+"="+tree[name])
	}
	dir := newTree(t, tree)
	d := Dir(dir, DirOptions{})
	want = append(want, "link.yaml=100", "sub/g.yaml=g")
	slices.Sort(want)
	for range 2 {
		files, diagnostics := snapshotOf(t, d)
		slices.Sort(files)
		wantEqual(t, "files", files, want)
		wantEqual(t, "diagnostics", diagnostics, nil)
		if at := slices.Index(want, "f300.yaml=300"); at >= 0 {
			writeTree(t, dir, map[string]string{"f300.yaml": "changed"})
			want[at] = "f300.yaml=changed"
		}
	}
}

func TestSnapshotReadsOnlyChangedFiles(t *testing.T) {
	dir := newTree(t, map[string]string{"a.yaml": "a", "b.yaml": "b"})
	now := time.Now()
	d := Dir(dir, DirOptions{Now: func() time.Time { return now }})
	var read []string
	lock := make(chan struct{}, 1)
	d.onRead = func(path string) {
		lock <- struct{}{}
		read = append(read, path)
		<-lock
	}
	steps := []struct {
		name string
		do   func()
		want []string
	}{
		{"first", func() {}, []string{"a.yaml", "b.yaml"}},
		{"immediately again", func() {}, []string{"a.yaml", "b.yaml"}},
		{"after the racy window", func() { now = now.Add(10 * time.Second) }, []string{"a.yaml", "b.yaml"}},
		{"unchanged", func() { now = now.Add(10 * time.Second) }, nil},
		{"one file written", func() { writeTree(t, dir, map[string]string{"b.yaml": "B"}) }, []string{"b.yaml"}},
		{"after the maximum age", func() { now = now.Add(2 * maxCacheAge) }, []string{"a.yaml", "b.yaml"}},
	}
	for _, step := range steps {
		step.do()
		read = nil
		files, _ := snapshotOf(t, d)
		slices.Sort(read)
		wantEqual(t, step.name, read, step.want)
		if len(files) != 2 {
			t.Errorf("%s: got %q, want two files", step.name, files)
		}
	}
}

func TestKey(t *testing.T) {
	key := func(files map[string]string) string {
		snapshot, _, err := Dir(newTree(t, files), DirOptions{}).Snapshot(context.Background())
		check(t, err)
		return snapshot.Key()
	}
	base := key(map[string]string{"a.yaml": "x", "b.yaml": "y"})
	if got := key(map[string]string{"b.yaml": "y", "a.yaml": "x", "c.txt": "z"}); got != base {
		t.Errorf("same documents: got %s, want %s", got, base)
	}
	for name, files := range map[string]map[string]string{
		"content": {"a.yaml": "x", "b.yaml": "z"},
		"name":    {"a.yaml": "x", "c.yaml": "y"},
		"swapped": {"a.yaml": "y", "b.yaml": "x"},
		"fewer":   {"a.yaml": "x"},
	} {
		if got := key(files); got == base {
			t.Errorf("%s: got the same key %s", name, got)
		}
	}
}
