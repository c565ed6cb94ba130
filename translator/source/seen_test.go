package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// countLists counts the listings of a directory.
func countLists(d *Directory) *atomic.Int64 {
	var lists atomic.Int64
	d.onList = func() { lists.Add(1) }
	return &lists
}

// isSeen skips a test where not every change is seen.
func isSeen(t *testing.T) {
	t.Helper()
	if err := distrust(t.TempDir()); err != nil {
		t.Skipf("each change lists the whole directory here: %v", err)
	}
}

// A change of the content of files lists no folder; any other change does.
func TestSnapshotOfChangedFiles(t *testing.T) {
	isSeen(t)
	rows := []struct {
		name   string
		before map[string]string
		change func(dir string) error
		isCon  bool // whether content alone changes
		want   []string
	}{
		{"nothing", map[string]string{"a.yaml": "1"}, func(string) error { return nil }, true, []string{"a.yaml=1"}},
		{"written in place", map[string]string{"a.yaml": "1", "s/b.yaml": "1"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "s/b.yaml"), []byte("2"), 0o644)
		}, true, []string{"a.yaml=1", "s/b.yaml=2"}},
		{"replaced", map[string]string{"a.yaml": "1", "b.yaml": "1"}, func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "b.yaml.new"), []byte("2"), 0o644), os.Rename(filepath.Join(dir, "b.yaml.new"), filepath.Join(dir, "b.yaml")))
		}, true, []string{"a.yaml=1", "b.yaml=2"}},
		{"not a document", map[string]string{"a.yaml": "1"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "README.md"), []byte("2"), 0o644)
		}, true, []string{"a.yaml=1"}},
		{"added", map[string]string{"a.yaml": "1"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "b.yaml"), []byte("2"), 0o644)
		}, false, []string{"a.yaml=1", "b.yaml=2"}},
		{"removed", map[string]string{"a.yaml": "1", "b.yaml": "1"}, func(dir string) error {
			return os.Remove(filepath.Join(dir, "b.yaml"))
		}, false, []string{"a.yaml=1"}},
		{"a pattern added", map[string]string{"a.yaml": "1", "b.yaml": "1"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, IgnoreFile), []byte("b.yaml\n"), 0o644)
		}, false, []string{"a.yaml=1"}},
		{"became a link", map[string]string{"a.yaml": "1", "b.yaml": "1", ".c/c.yaml": "3"}, func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "b.yaml")), os.Symlink(".c/c.yaml", filepath.Join(dir, "b.yaml")))
		}, false, []string{"a.yaml=1", "b.yaml=3"}},
		{"the target of a link", map[string]string{"a.yaml": "1", "b.yaml": "-> .c/c.yaml", ".c/c.yaml": "3"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".c/c.yaml"), []byte("4"), 0o644)
		}, false, []string{"a.yaml=1", "b.yaml=4"}},
		{"beside a broken link", map[string]string{"a.yaml": "1", "b.yaml": "-> nowhere.yaml"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("2"), 0o644)
		}, false, []string{"a.yaml=2"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := newTree(t, row.before)
			d := Dir(dir, DirOptions{})
			lists := countLists(d)
			watchDir(t, d)
			snapshotOf(t, d)
			before := lists.Load()
			check(t, row.change(dir))
			files, _ := snapshotOf(t, d)
			wantEqual(t, "files", files, row.want)
			if got := lists.Load() == before; got != row.isCon {
				t.Errorf("%d listings, read without a listing: %v, want %v", lists.Load()-before, got, row.isCon)
			}
		})
	}
}

// Limits hold for what is read without a listing too.
func TestSnapshotOfChangedFilesKeepsLimits(t *testing.T) {
	isSeen(t)
	for name, limits := range map[string]Limits{"a file": {MaxFileBytes: 10}, "all files": {MaxBytes: 12}} {
		dir := newTree(t, map[string]string{"a.yaml": "1", "b.yaml": "1"})
		d := Dir(dir, DirOptions{Limits: limits})
		watchDir(t, d)
		snapshotOf(t, d)
		writeTree(t, dir, map[string]string{"b.yaml": "123456789012345"})
		if _, diagnostics := snapshotOf(t, d); len(diagnostics) != 1 {
			t.Errorf("%s: got %q, want one diagnostic", name, diagnostics)
		}
		writeTree(t, dir, map[string]string{"b.yaml": "2"})
		files, _ := snapshotOf(t, d)
		wantEqual(t, name, files, []string{"a.yaml=1", "b.yaml=2"})
	}
}

// A snapshot of a directory that is watched is that of a directory that is read anew, whatever
// was changed: also before the watch notifies.
func TestSnapshotOfWatchedDirectory(t *testing.T) {
	names := []string{"a.yaml", "b.yaml", "s/a.yaml", "s/t/a.yaml", "s", "s/t", "u", "README.md", ".hidden.yaml", ".writignore", "s/.writignore", ".writ.yaml", "link.yaml"}
	rapid.Check(t, func(rt *rapid.T) {
		dir := newTree(t, map[string]string{"p/a.yaml": "0", "p/s/a.yaml": "0", "p/s/t/a.yaml": "0"})
		policies := filepath.Join(dir, "p")
		d := Dir(policies, DirOptions{})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		begun := make(chan struct{}, 1)
		go func() {
			ended <- d.Watch(ctx, func() {
				select {
				case begun <- struct{}{}:
				default:
				}
			})
		}()
		<-begun
		defer func() { cancel(); <-ended }()
		for step := range rapid.IntRange(1, 8).Draw(rt, "steps") {
			for range rapid.IntRange(0, 3).Draw(rt, "edits") {
				name := rapid.SampledFrom(names).Draw(rt, "name")
				edit(rt, dir, filepath.Join(policies, name), strconv.Itoa(step))
			}
			got, gotList, gotErr := d.Snapshot(ctx)
			want, wantList, wantErr := Dir(policies, DirOptions{}).Snapshot(ctx)
			if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				rt.Fatalf("got error %v, want %v", gotErr, wantErr)
			}
			if gotErr == nil && (got.Key() != want.Key() || fmt.Sprint(gotList) != fmt.Sprint(wantList) || fmt.Sprint(got.Origins) != fmt.Sprint(want.Origins)) {
				rt.Fatalf("got %s %v, want %s %v", textOf(got), gotList, textOf(want), wantList)
			}
		}
	})
}

func textOf(s Snapshot) (out []string) {
	for _, f := range s.Files {
		out = append(out, f.Path+"="+string(f.Content.Bytes()))
	}
	return out
}

// edit changes what is at a path in one of the ways that tools do. Edits that are not possible
// change nothing.
func edit(t *rapid.T, dir, path, content string) {
	aside := filepath.Join(dir, "aside")
	switch rapid.SampledFrom([]string{"write", "write", "replace", "remove", "folder", "move", "link", "patterns", "swap"}).Draw(t, "edit") {
	case "write":
		_ = os.WriteFile(path, []byte(content), 0o644)
	case "replace":
		_ = os.WriteFile(path+".new", []byte(content), 0o644)
		_ = os.Rename(path+".new", path)
	case "remove":
		_ = os.RemoveAll(path)
	case "folder":
		_ = os.MkdirAll(path, 0o755)
		_ = os.WriteFile(filepath.Join(path, "z.yaml"), []byte(content), 0o644)
	case "move":
		_ = os.Rename(path, filepath.Join(filepath.Dir(path), rapid.SampledFrom([]string{"m.yaml", "s", "n"}).Draw(t, "to")))
	case "link":
		_ = os.Symlink(rapid.SampledFrom([]string{"a.yaml", "s", "nowhere.yaml", "s/t/a.yaml"}).Draw(t, "target"), path)
	case "patterns":
		_ = os.WriteFile(filepath.Join(filepath.Dir(path), IgnoreFile), []byte(rapid.SampledFrom([]string{"", "a.yaml\n", "t\n"}).Draw(t, "patterns")), 0o644)
	case "swap": // the directory itself is another one
		policies := filepath.Join(dir, "p")
		_ = os.RemoveAll(aside)
		_ = os.Mkdir(aside, 0o755)
		_ = os.WriteFile(filepath.Join(aside, "a.yaml"), []byte(content), 0o644)
		_ = os.Rename(policies, policies+".old")
		_ = os.Rename(aside, policies)
		_ = os.RemoveAll(policies + ".old")
	}
}

// While files are written one after the other, a snapshot is the directory at one moment.
func TestSnapshotIsOneMoment(t *testing.T) {
	isSeen(t)
	const files = 20
	dir := t.TempDir()
	write := func(i, n int) error {
		path := filepath.Join(dir, fmt.Sprintf("%02d.yaml", i))
		return errors.Join(os.WriteFile(path+".new", []byte(strconv.Itoa(n)), 0o644), os.Rename(path+".new", path))
	}
	for i := range files {
		check(t, write(i, 0))
	}
	d := Dir(dir, DirOptions{})
	lists := countLists(d)
	watchDir(t, d)
	snapshotOf(t, d)
	before := lists.Load()
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 1; ; n++ {
			for i := range files {
				if err := write(i, n); err != nil {
					ended <- err
					return
				}
				select {
				case <-stop:
					ended <- nil
					return
				case <-time.After(time.Duration(n%7) * time.Millisecond):
				}
			}
		}
	}()
	read := 0
	for began := time.Now(); time.Since(began) < time.Second; {
		snapshot, _, err := d.Snapshot(context.Background())
		if errors.Is(err, errUnstable) {
			continue
		}
		check(t, err)
		read++
		texts := textOf(snapshot)
		var numbers []int
		for _, f := range snapshot.Files {
			n, err := strconv.Atoi(string(f.Content.Bytes()))
			check(t, err)
			numbers = append(numbers, -n)
		}
		// Files are written in order, so each is as new as the next one, or newer by one.
		if !slices.IsSorted(numbers) || numbers[len(numbers)-1]-numbers[0] > 1 {
			t.Fatalf("no moment had %q", texts)
		}
	}
	close(stop)
	check(t, <-ended)
	t.Logf("%d snapshots, %d listings", read, lists.Load()-before)
	if read == 0 {
		t.Error("no snapshot was taken")
	}
}
