package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// testTimeout bounds waits for events that must occur; a passing test never reaches it.
const testTimeout = time.Minute

// watcher runs Watch on a directory. It starts with the first notification.
type watcher struct {
	t        *testing.T
	d        *Directory
	notified chan struct{}
	ended    chan error
}

func watchDir(t *testing.T, d *Directory) *watcher {
	t.Helper()
	w := &watcher{t: t, d: d, notified: make(chan struct{}, 1), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.ended <- d.Watch(ctx, func() {
			select {
			case w.notified <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-w.ended:
			if err != nil {
				t.Errorf("Watch returned %v", err)
			}
		case <-time.After(testTimeout):
			t.Error("Watch did not return after its context ended")
		}
	})
	w.wait()
	return w
}

func (w *watcher) wait() {
	w.t.Helper()
	select {
	case <-w.notified:
	case <-time.After(testTimeout):
		w.t.Fatal("got no notification")
	}
}

// waitFor takes a snapshot at each notification until it has the wanted files. It takes none
// before the first notification: that could find a change without one.
func (w *watcher) waitFor(want ...string) {
	w.t.Helper()
	var got []string
	var err error
	timeout := time.After(testTimeout)
	for {
		select {
		case <-w.notified:
		case <-timeout:
			w.t.Fatalf("got %[2]q (%[3]v) at the last notification, want %[1]q", want, got, err)
		}
		var snapshot Snapshot
		snapshot, _, err = w.d.Snapshot(context.Background())
		got = nil
		for _, f := range snapshot.Files {
			got = append(got, f.Path+"="+string(f.Content.Bytes()))
		}
		if err == nil && slices.Equal(got, want) {
			return
		}
	}
}

// waitForError waits for a notification after which Snapshot returns an error.
func (w *watcher) waitForError() {
	w.t.Helper()
	for {
		w.wait()
		if _, _, err := w.d.Snapshot(context.Background()); err != nil {
			return
		}
	}
}

// These changes must raise events: rescans are disabled.
func TestWatchNotifies(t *testing.T) {
	at := func(dir string) func(name string) string {
		return func(name string) string { return filepath.Join(dir, name) }
	}
	rows := []struct {
		name   string
		before map[string]string
		change func(t *testing.T, dir string, path func(string) string)
		want   []string
	}{{
		name:   "file written in place",
		before: map[string]string{"a.yaml": "1"},
		change: func(t *testing.T, dir string, _ func(string) string) {
			writeTree(t, dir, map[string]string{"a.yaml": "22"})
		},
		want: []string{"a.yaml=22"},
	}, {
		name:   "file replaced, as by an editor",
		before: map[string]string{"a.yaml": "1"},
		change: func(t *testing.T, dir string, path func(string) string) {
			writeTree(t, dir, map[string]string{".a.swp": "2"})
			check(t, os.Rename(path(".a.swp"), path("a.yaml")))
		},
		want: []string{"a.yaml=2"},
	}, {
		name:   "file removed",
		before: map[string]string{"a.yaml": "1", "b.yaml": "1"},
		change: func(t *testing.T, _ string, path func(string) string) { check(t, os.Remove(path("a.yaml"))) },
		want:   []string{"b.yaml=1"},
	}, {
		name:   "file created in new folders",
		before: map[string]string{"a.yaml": "1"},
		change: func(t *testing.T, dir string, _ func(string) string) {
			writeTree(t, dir, map[string]string{"x/y/z/b.yaml": "2"})
		},
		want: []string{"a.yaml=1", "x/y/z/b.yaml=2"},
	}, {
		name:   "folder replaced by another one",
		before: map[string]string{"x/a.yaml": "1", ".y/a.yaml": "2"},
		change: func(t *testing.T, _ string, path func(string) string) {
			check(t, os.Rename(path("x"), path(".old")))
			check(t, os.Rename(path(".y"), path("x")))
		},
		want: []string{"x/a.yaml=2"},
	}, {
		name:   "mounted ConfigMap updated",
		before: map[string]string{"..1/a.yaml": "1", "..data": "-> ..1", "a.yaml": "-> ..data/a.yaml"},
		change: func(t *testing.T, dir string, path func(string) string) {
			writeTree(t, dir, map[string]string{"..2/a.yaml": "2", "..data_tmp": "-> ..2"})
			check(t, os.Rename(path("..data_tmp"), path("..data")))
			check(t, os.RemoveAll(path("..1")))
		},
		want: []string{"a.yaml=2"},
	}, {
		name:   "target of a link written in place",
		before: map[string]string{".store/a": "1", "a.yaml": "-> .store/a"},
		change: func(t *testing.T, dir string, _ func(string) string) {
			writeTree(t, dir, map[string]string{".store/a": "22"})
		},
		want: []string{"a.yaml=22"},
	}}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := newTree(t, row.before)
			w := watchDir(t, Dir(dir, DirOptions{Rescan: -1}))
			row.change(t, dir, at(dir))
			w.waitFor(row.want...)
		})
	}
}

// After each change the next one is still notified: the watches follow the folders.
func TestWatchFollowsFolders(t *testing.T) {
	t.Run("folder by folder", func(t *testing.T) {
		dir := newTree(t, map[string]string{"a.yaml": "1"})
		w := watchDir(t, Dir(dir, DirOptions{Rescan: -1}))
		check(t, os.Mkdir(filepath.Join(dir, "x"), 0o755))
		w.wait()
		writeTree(t, dir, map[string]string{"x/b.yaml": "1"})
		w.waitFor("a.yaml=1", "x/b.yaml=1")
		writeTree(t, dir, map[string]string{"x/b.yaml": "2"})
		w.waitFor("a.yaml=1", "x/b.yaml=2")
		check(t, os.RemoveAll(filepath.Join(dir, "x")))
		w.waitFor("a.yaml=1")
		writeTree(t, dir, map[string]string{"x/b.yaml": "3"})
		w.waitFor("a.yaml=1", "x/b.yaml=3")
		writeTree(t, dir, map[string]string{"x/b.yaml": "4"})
		w.waitFor("a.yaml=1", "x/b.yaml=4")
	})
	t.Run("folder renamed", func(t *testing.T) {
		dir := newTree(t, map[string]string{"x/a.yaml": "1"})
		w := watchDir(t, Dir(dir, DirOptions{Rescan: -1}))
		check(t, os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "y")))
		w.waitFor("y/a.yaml=1")
		writeTree(t, dir, map[string]string{"y/a.yaml": "2"})
		w.waitFor("y/a.yaml=2")
		check(t, os.Rename(filepath.Join(dir, "y"), filepath.Join(dir, "x")))
		w.waitFor("x/a.yaml=2")
		writeTree(t, dir, map[string]string{"x/a.yaml": "3"})
		w.waitFor("x/a.yaml=3")
	})
	t.Run("directory removed and created again", func(t *testing.T) {
		top := newTree(t, map[string]string{"p/q/a.yaml": "1"})
		w := watchDir(t, Dir(filepath.Join(top, "p/q"), DirOptions{Rescan: -1}))
		for _, gone := range []string{"p/q", "p"} {
			check(t, os.RemoveAll(filepath.Join(top, gone)))
			w.waitForError()
			writeTree(t, top, map[string]string{"p/q/a.yaml": "2 " + gone})
			w.waitFor("a.yaml=2 " + gone)
			writeTree(t, top, map[string]string{"p/q/a.yaml": "3 " + gone})
			w.waitFor("a.yaml=3 " + gone)
		}
	})
	t.Run("directory is a link that changes", func(t *testing.T) {
		top := newTree(t, map[string]string{"1/a.yaml": "1", "2/a.yaml": "2", "now": "-> 1"})
		w := watchDir(t, Dir(filepath.Join(top, "now"), DirOptions{Rescan: -1}))
		check(t, os.Symlink("2", filepath.Join(top, "next")))
		check(t, os.Rename(filepath.Join(top, "next"), filepath.Join(top, "now")))
		w.waitFor("a.yaml=2")
		writeTree(t, top, map[string]string{"2/a.yaml": "3"})
		w.waitFor("a.yaml=3")
	})
	t.Run("target of the directory replaced", func(t *testing.T) {
		top := newTree(t, map[string]string{"store/1/a.yaml": "1", "store/2/a.yaml": "2", "etc/now": "-> ../store/1"})
		w := watchDir(t, Dir(filepath.Join(top, "etc/now"), DirOptions{Rescan: -1}))
		check(t, os.RemoveAll(filepath.Join(top, "store/1")))
		w.waitForError()
		check(t, os.Rename(filepath.Join(top, "store/2"), filepath.Join(top, "store/1")))
		w.waitFor("a.yaml=2")
	})
}

// fakeClock sends each timer to the test, which fires it.
type fakeClock struct {
	timers chan timer
}

type timer struct {
	wait time.Duration
	fire chan time.Time
}

// wantNone fails if a timer with that wait was started and not returned by next.
func (c *fakeClock) wantNone(t *testing.T, wait time.Duration) {
	t.Helper()
	for {
		select {
		case timer := <-c.timers:
			if timer.wait == wait {
				t.Errorf("got a timer of %v", wait)
			}
		default:
			return
		}
	}
}

func newFakeClock() *fakeClock { return &fakeClock{timers: make(chan timer, 1000)} }

func (c *fakeClock) after(wait time.Duration) <-chan time.Time {
	fire := make(chan time.Time, 1)
	c.timers <- timer{wait, fire}
	return fire
}

// next returns the next timer with that wait and skips others.
func (c *fakeClock) next(t *testing.T, wait time.Duration) chan<- time.Time {
	t.Helper()
	timeout := time.After(testTimeout)
	for {
		select {
		case timer := <-c.timers:
			if timer.wait == wait {
				return timer.fire
			}
		case <-timeout:
			t.Fatalf("got no timer of %v", wait)
		}
	}
}

// fakeEvents are events that a test sends. Adding a watch fails while isFull is set.
type fakeEvents struct {
	changes chan fsnotify.Event
	errors  chan error
	isFull  bool
	openErr error
	list    []string // the watched paths
	onAdd   func(path string)
}

func (f *fakeEvents) open() (*events, error) {
	if f.openErr != nil {
		return nil, f.openErr
	}
	return &events{
		changes: f.changes, errors: f.errors,
		add: func(path string) error {
			if f.isFull {
				return syscall.ENOSPC
			}
			if f.onAdd != nil {
				f.onAdd(path)
			}
			if !slices.Contains(f.list, path) {
				f.list = append(f.list, path)
			}
			return nil
		},
		remove: func(path string) error {
			f.list = slices.DeleteFunc(f.list, func(have string) bool { return have == path })
			return nil
		},
		watched: func() []string { return slices.Clone(f.list) },
		close:   func() error { return nil },
	}, nil
}

func wantNoNotification(w *watcher, subject string) {
	w.t.Helper()
	select {
	case <-w.notified:
		w.t.Errorf("%s: got a notification", subject)
	default:
	}
}

func TestWatchSettles(t *testing.T) {
	dir := newTree(t, map[string]string{"a.yaml": "1"})
	clock := newFakeClock()
	fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
	const settle, rescan = 3 * time.Second, time.Minute
	d := Dir(dir, DirOptions{Settle: settle, Rescan: rescan, After: clock.after})
	d.openEvents = fake.open
	w := watchDir(t, d)
	slow := clock.next(t, rescan)
	event := fsnotify.Event{Name: filepath.Join(dir, "a.yaml"), Op: fsnotify.Write}

	fake.changes <- event
	first := clock.next(t, settle)
	overdue := clock.next(t, maxSettles*settle)
	fake.changes <- event
	second := clock.next(t, settle)
	first <- time.Time{}
	fake.changes <- fsnotify.Event{Name: filepath.Join(filepath.Dir(dir), "unrelated"), Op: fsnotify.Create}
	wantNoNotification(w, "replaced settle timer")
	clock.wantNone(t, maxSettles*settle)
	second <- time.Time{}
	w.wait()

	overdue <- time.Time{}
	fake.changes <- event
	wantNoNotification(w, "deadline of an earlier change")
	clock.next(t, settle)
	clock.next(t, maxSettles*settle) <- time.Time{}
	w.wait() // although the directory is never quiet

	slow <- time.Time{}
	w.wait() // although no event happened
	clock.next(t, rescan)

	fake.errors <- fsnotify.ErrEventOverflow
	clock.next(t, settle) <- time.Time{}
	w.wait()
}

// No event reports a folder that is created in another one before that one is watched; it
// must be watched nevertheless.
func TestWatchListsFoldersAgain(t *testing.T) {
	dir := newTree(t, nil)
	fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
	fake.onAdd = func(path string) {
		switch path {
		case dir:
			check(t, os.MkdirAll(filepath.Join(dir, "x"), 0o755))
		case filepath.Join(dir, "x"):
			check(t, os.MkdirAll(filepath.Join(dir, "x/y"), 0o755))
		}
	}
	d := Dir(dir, DirOptions{Rescan: -1})
	d.openEvents = fake.open
	watchDir(t, d)
	for _, folder := range []string{"x", "x/y"} {
		if !slices.Contains(fake.list, filepath.Join(dir, folder)) {
			t.Errorf("got no watch on %s", folder)
		}
	}
}

// If the directory does not exist, the folder in which it would be created is watched.
func TestWatchAnchors(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		path  string
		want  []string
	}{
		{"existing", map[string]string{"p/": ""}, "p", []string{".", "p"}},
		{"missing", nil, "p", []string{"."}},
		{"missing with its parent", map[string]string{"a/": ""}, "a/p/q", []string{"a"}},
		{"link", map[string]string{"etc/p": "-> ../store/1", "store/1/": ""}, "etc/p", []string{"etc", "store", "store/1"}},
		{"broken link", map[string]string{"etc/p": "-> ../store/1", "store/": ""}, "etc/p", []string{"etc", "store"}},
		{"link to itself", map[string]string{"etc/p": "-> p"}, "etc/p", []string{"etc"}},
		{"file", map[string]string{"p": "x"}, "p", []string{"."}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			top := newTree(t, row.files)
			fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
			d := Dir(filepath.Join(top, row.path), DirOptions{Rescan: -1})
			d.openEvents = fake.open
			watchDir(t, d)
			var got []string
			for _, path := range fake.list {
				relative, err := filepath.Rel(top, path)
				check(t, err)
				got = append(got, relative)
			}
			slices.Sort(got)
			wantEqual(t, "watched", got, row.want)
		})
	}
}

// Folders that leave the directory are no longer watched: watches are a limited resource.
func TestWatchRemovesFolders(t *testing.T) {
	dir := newTree(t, map[string]string{"x/a.yaml": "1", "out": "-> " + newTree(t, map[string]string{"b.yaml": "1"})})
	clock := newFakeClock()
	fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
	d := Dir(dir, DirOptions{Rescan: time.Minute, After: clock.after})
	d.openEvents = fake.open
	w := watchDir(t, d)
	fire := clock.next(t, time.Minute)
	if got, want := len(fake.list), 4; got != want {
		t.Errorf("watched: got %q, want the directory, its parent and two folders", fake.list)
	}
	check(t, os.RemoveAll(filepath.Join(dir, "x")))
	check(t, os.Remove(filepath.Join(dir, "out")))
	fire <- time.Time{}
	w.wait()
	slices.Sort(fake.list)
	wantEqual(t, "watched", fake.list, []string{filepath.Dir(dir), dir})
}

// Without events Watch polls; once they are available again, it waits for events.
func TestWatchPollsWithoutEvents(t *testing.T) {
	rows := []struct {
		name   string
		fail   func(f *fakeEvents)
		repair func(f *fakeEvents)
	}{
		{"no watches left", func(f *fakeEvents) { f.isFull = true }, func(f *fakeEvents) { f.isFull = false }},
		{"no events", func(f *fakeEvents) { f.openErr = errors.New("too many open files") }, func(f *fakeEvents) { f.openErr = nil }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			clock := newFakeClock()
			fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
			row.fail(fake)
			d := Dir(newTree(t, nil), DirOptions{Rescan: time.Minute, After: clock.after})
			d.openEvents = fake.open
			w := watchDir(t, d)
			clock.next(t, pollInterval) <- time.Time{}
			w.wait()
			fire := clock.next(t, pollInterval)
			row.repair(fake)
			fire <- time.Time{}
			w.wait()
			clock.next(t, time.Minute)
		})
	}
	t.Run("events end", func(t *testing.T) {
		clock := newFakeClock()
		fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
		d := Dir(newTree(t, nil), DirOptions{Rescan: time.Minute, After: clock.after})
		d.openEvents = fake.open
		w := watchDir(t, d)
		clock.next(t, time.Minute)
		close(fake.errors)
		fire := clock.next(t, pollInterval)
		fake.errors = make(chan error)
		fire <- time.Time{}
		w.wait()
		clock.next(t, time.Minute)
	})
}
