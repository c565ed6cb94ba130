package reload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/tables"
)

// kept is a state directory that holds the bundle of documents saying a.
func kept(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	r, _, _ := newReloader(newDocuments("a"), func(o *Options) { o.StateDir = dir })
	check(t, r.Load(context.Background()))
	wantText(t, "state error", r.Status().StateError, "")
	return dir
}

func TestRestart(t *testing.T) {
	dir := kept(t)
	docs := newDocuments("bad")
	r, _, observed := newReloader(docs, func(o *Options) { o.StateDir = dir })
	if err := r.Load(context.Background()); err == nil || !strings.Contains(err.Error(), "dangling-role") {
		t.Errorf("got %v, want why the documents are not served", err)
	}
	wantSays(t, r, "a")
	s := r.Status()
	if !s.Ready || !s.Degraded || s.Source != fromState || s.Revision != r.Revision() || s.LastError == "" || s.Bundle == nil {
		t.Errorf("got %+v, want degraded and served from the state", s)
	}
	wantText(t, "observed", observed.take(), "refused, degraded false, 1 errors 0 warnings, degraded true, serves "+r.Revision()[:6])

	// The documents of that very revision return: nothing to activate.
	docs.set("a/2")
	check(t, r.Reload(context.Background()))
	if s := r.Status(); s.Degraded || s.Source != fromDocuments {
		t.Errorf("got %+v, want served from the documents", s)
	}
	wantText(t, "observed", observed.take(), "unchanged, degraded false, 0 errors 0 warnings")

	docs.set("b")
	check(t, r.Reload(context.Background()))
	docs.set("bad")
	again, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	_ = again.Load(context.Background())
	wantSays(t, again, "b")
}

func TestRestartWithGoodDocuments(t *testing.T) {
	dir := kept(t)
	r, _, _ := newReloader(newDocuments("b"), func(o *Options) { o.StateDir = dir })
	check(t, r.Load(context.Background()))
	wantSays(t, r, "b")
	if s := r.Status(); s.Degraded || s.Source != fromDocuments {
		t.Errorf("got %+v, want served from the documents", s)
	}
}

// A kept bundle that is not what was written is refused and named. It stays in
// the status until another is kept.
func TestCorruptState(t *testing.T) {
	edit := func(change func(content []byte) []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			content, err := os.ReadFile(path)
			check(t, err)
			check(t, os.WriteFile(path, change(content), 0o600))
		}
	}
	rows := []struct {
		name  string
		spoil func(t *testing.T, path string)
		want  string
	}{
		{"truncated bundle", edit(func(content []byte) []byte { return content[:len(content)/2] }), "the kept bundle.tar.gz"},
		{"empty file", edit(func([]byte) []byte { return nil }), "the kept bundle.tar.gz"},
		{"flipped bit", edit(func(content []byte) []byte { content[len(content)/2] ^= 1; return content }), "the kept bundle.tar.gz"},
		{"zeros, as after a crash", edit(func(content []byte) []byte { return make([]byte, len(content)) }), "the kept bundle.tar.gz"},
		{"data of another bundle", func(t *testing.T, path string) {
			b := readBundle(t, path)
			b.Data = tables.TextOf(bytes.Replace(b.Data.Bytes(), []byte(`"a"`), []byte(`"z"`), 1))
			writeBundle(t, path, b)
		}, "according to the files"},
		{"Rego of another bundle", func(t *testing.T, path string) {
			b := readBundle(t, path)
			b.Files["writ/extensions/x/x.rego"] = []byte("package writ.extensions.x\n\nx := 1\n")
			writeBundle(t, path, b)
		}, "the revision in the manifest"},
		{"directory instead of the bundle", func(t *testing.T, path string) {
			check(t, os.Remove(path))
			check(t, os.Mkdir(path, 0o755))
		}, "the kept bundle.tar.gz"},
	}
	var table [][]string
	for _, row := range rows {
		table = append(table, []string{row.name, row.want})
		t.Run(row.name, func(t *testing.T) {
			dir := kept(t)
			row.spoil(t, filepath.Join(dir, stateFile))
			docs := newDocuments("bad")
			r, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
			_ = r.Load(context.Background())
			wantSays(t, r, "evaluation error: no revision loaded")
			_ = r.Reload(context.Background())
			s := r.Status()
			if s.Ready || !strings.Contains(s.StateError, row.want) {
				t.Errorf("got %+v, want not ready and %q", s, row.want)
			}
			if strings.Contains(s.StateError, dir) {
				t.Errorf("state error: got %q, want no path of the machine", s.StateError)
			}
			docs.set("b")
			check(t, r.Reload(context.Background()))
			wantSays(t, r, "b")
		})
	}
	documented(t, table)
}

// documented requires a table of exactly the tested faults in docs/faults.md.
func documented(t *testing.T, rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/faults.md")
	check(t, err)
	table := "\n| fault | error |\n| --- | --- |\n"
	for _, row := range rows {
		table += fmt.Sprintf("| %s | `%s` |\n", row[0], row[1])
	}
	if !strings.Contains(string(page), table+"\n") {
		t.Errorf("docs/faults.md must contain this table:\n%s", table)
	}
}

func readBundle(t *testing.T, path string) *bundles.Bundle {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	defer f.Close()
	b, err := bundles.Read(f)
	check(t, err)
	return b
}

func writeBundle(t *testing.T, path string, b *bundles.Bundle) {
	t.Helper()
	var out bytes.Buffer
	check(t, b.WriteTar(&out))
	check(t, os.WriteFile(path, out.Bytes(), 0o600))
}

// faulty is a file on a disk that fails.
type faulty struct {
	*os.File
	room          int // bytes until the disk is full
	sync, closing error
}

func (f *faulty) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n, _ := f.File.Write(p[:f.room])
		f.room = 0
		return n, syscall.ENOSPC
	}
	f.room -= len(p)
	return f.File.Write(p)
}

func (f *faulty) Sync() error { return errors.Join(f.sync, f.File.Sync()) }

func (f *faulty) Close() error { return errors.Join(f.File.Close(), f.closing) }

// Whatever fails while a bundle is kept, the one before it stays whole, service
// goes on, the status says so, and it is tried again.
func TestFailingDisk(t *testing.T) {
	const enough = 1 << 30
	rows := []struct {
		name string
		disk func(f *os.File) (file, error)
		want error
	}{
		{"file cannot be created", func(f *os.File) (file, error) {
			f.Close()
			os.Remove(f.Name())
			return nil, syscall.EROFS
		}, syscall.EROFS},
		{"file system full at the start of the write", func(f *os.File) (file, error) { return &faulty{File: f}, nil }, syscall.ENOSPC},
		{"file system full within the write", func(f *os.File) (file, error) { return &faulty{File: f, room: 1000}, nil }, syscall.ENOSPC},
		{"failed sync", func(f *os.File) (file, error) { return &faulty{File: f, room: enough, sync: syscall.EIO}, nil }, syscall.EIO},
		{"failed close", func(f *os.File) (file, error) { return &faulty{File: f, room: enough, closing: syscall.EIO}, nil }, syscall.EIO},
	}
	var table [][]string
	for _, row := range rows {
		table = append(table, []string{row.name, row.want.Error()})
		t.Run(row.name, func(t *testing.T) {
			dir := kept(t)
			docs := newDocuments("b")
			r, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
			create := r.state.create
			r.state.create = func(dir, pattern string) (file, error) {
				f, err := os.CreateTemp(dir, pattern)
				check(t, err)
				return row.disk(f)
			}
			check(t, r.Load(context.Background()))
			wantSays(t, r, "b")
			s := r.Status()
			if s.Degraded || !strings.Contains(s.StateError, row.want.Error()) {
				t.Errorf("got %+v, want %v and not degraded", s, row.want)
			}
			wantFiles(t, dir, stateFile, lockFile, keptFolder)
			wantText(t, "kept", tables.Of[*tables.Access](readBundle(t, filepath.Join(dir, stateFile)).Tables).Extensions[0], "a")

			r.state.create = create
			check(t, r.Reload(context.Background())) // unchanged documents
			wantText(t, "state error", r.Status().StateError, "")
			wantText(t, "kept", tables.Of[*tables.Access](readBundle(t, filepath.Join(dir, stateFile)).Tables).Extensions[0], "b")
		})
	}
	documented(t, append(table, cannotKeep, cannotPin))
}

// A disk that stays full is tried at every look and logged once for every revision
// that is not kept.
func TestLogOfFailingState(t *testing.T) {
	var out bytes.Buffer
	docs := newDocuments("a")
	r, _, _ := newReloader(docs, func(o *Options) {
		o.StateDir, o.Logger = t.TempDir(), slog.New(slog.NewTextHandler(&out, nil))
	})
	tried := 0
	r.state.create = func(string, string) (file, error) { tried++; return nil, syscall.ENOSPC }
	for i, content := range []string{"a", "a", "a", "b", "b"} {
		docs.set(content)
		check(t, r.Reload(context.Background()))
		if tried != i+1 {
			t.Errorf("tried %d times after %d looks", tried, i+1)
		}
	}
	if got := strings.Count(out.String(), "cannot be stored for a restart"); got != 2 {
		t.Errorf("logged %d times, want once for each revision:\n%s", got, out.String())
	}
}

// Faults that have a test of their own.
var (
	cannotKeep = []string{"directory of revisions not writable", "to go back to"}
	cannotPin  = []string{"pin not writable", "after a restart"}
)

// While it cannot be read which revision is pinned, none is removed: it might be that one.
func TestForgetReadsThePin(t *testing.T) {
	s := newState(t.TempDir())
	s.most = 1
	check(t, os.MkdirAll(filepath.Join(s.dir, keptFolder), 0o700))
	for _, digit := range []string{"a", "b", "c"} {
		check(t, os.WriteFile(s.keptPath(strings.Repeat(digit, 64)), nil, 0o600))
	}
	check(t, os.WriteFile(filepath.Join(s.dir, pinFile), []byte("torn"), 0o600))
	if err := s.forget(); err == nil || !strings.Contains(err.Error(), "read pin file") {
		t.Errorf("got %v, want that the pin cannot be read", err)
	}
	names, err := s.keptNames()
	check(t, err)
	if len(names) != 3 {
		t.Errorf("%d revisions are left beside a pin that cannot be read, want all 3", len(names))
	}
	oldest := names[2].Revision
	check(t, s.writePin(oldest))
	check(t, s.forget())
	names, err = s.keptNames()
	check(t, err)
	if len(names) != 2 || names[1].Revision != oldest {
		t.Errorf("left are %+v, want the newest and the pinned one", names)
	}
}

// What can be written, but not be kept to go back to, is tried again without a new
// revision; so is a pin.
func TestFailingFolder(t *testing.T) {
	dir := kept(t)
	docs := newDocuments("b")
	r, _, observed := newReloader(docs, func(o *Options) { o.StateDir = dir })
	folder, aside := filepath.Join(dir, keptFolder), filepath.Join(dir, "aside")
	check(t, os.Rename(folder, aside))
	check(t, os.WriteFile(folder, nil, 0o600))
	check(t, r.Load(context.Background()))
	wantSays(t, r, "b")
	if s := r.Status(); !strings.Contains(s.StateError, cannotKeep[1]) || s.Degraded {
		t.Errorf("got %+v, want a state error and not degraded", s)
	}
	check(t, os.Remove(folder))
	check(t, os.Rename(aside, folder))
	observed.take()
	check(t, r.Reload(context.Background())) // unchanged documents
	wantText(t, "state error", r.Status().StateError, "")
	if got := observed.take(); !strings.Contains(got, "state fails false") {
		t.Errorf("reported %q, want that the state is good again", got)
	}
	revisions, err := r.Revisions()
	check(t, err)
	if len(revisions) != 2 || !revisions[0].Active {
		t.Fatalf("got revisions %+v, want both", revisions)
	}

	// The operator is answered by the old revision at once, and learns what is missing.
	check(t, os.MkdirAll(filepath.Join(dir, pinFile+".tmp", "x"), 0o700))
	if err := r.Rollback(context.Background(), revisions[1].Revision); err == nil || !strings.Contains(err.Error(), cannotPin[1]) {
		t.Errorf("got %v, want that the pin does not outlive a restart", err)
	}
	wantSays(t, r, "a")
	if s := r.Status(); s.Revision != r.Revision() || s.Pinned != r.Revision() || s.StateError == "" {
		t.Errorf("got %+v, want the revision that is served, pinned, and a state error", s)
	}
	docs.set("c")
	check(t, r.Reload(context.Background()))
	wantSays(t, r, "a")
	check(t, os.RemoveAll(filepath.Join(dir, pinFile+".tmp")))
	check(t, r.Reload(context.Background()))
	wantText(t, "state error", r.Status().StateError, "")
	again, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	check(t, again.Load(context.Background()))
	wantSays(t, again, "a")
}

// What a process that was killed while writing leaves behind is neither read nor
// kept for ever.
func TestKilledWhileWriting(t *testing.T) {
	dir := kept(t)
	half, err := os.ReadFile(filepath.Join(dir, stateFile))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, stateFile+".123.tmp"), half[:len(half)/2], 0o600))
	docs := newDocuments("bad")
	r, _, _ := newReloader(docs, func(o *Options) { o.StateDir = dir })
	_ = r.Load(context.Background())
	wantSays(t, r, "a")
	docs.set("b")
	check(t, r.Reload(context.Background()))
	wantFiles(t, dir, stateFile, lockFile, keptFolder)
}

func TestStateDirThatCannotBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(path, nil, 0o600))
	r, _, _ := newReloader(newDocuments("a"), func(o *Options) { o.StateDir = path })
	check(t, r.Load(context.Background()))
	wantSays(t, r, "a")
	if s := r.Status(); s.StateError == "" {
		t.Error("got no state error for a file in the directory's place")
	}
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	wantText(t, "files", strings.Join(got, " "), strings.Join(want, " "))
}
