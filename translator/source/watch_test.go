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

// deadline is for what must happen; a test that passes never waits for it.
const deadline = 20 * time.Second

// watched is a directory under watch. It begins when the first notice is in.
type watched struct {
	t       *testing.T
	d       *Directory
	notices chan struct{}
	ended   chan error
}

func watchDir(t *testing.T, d *Directory) *watched {
	t.Helper()
	w := &watched{t: t, d: d, notices: make(chan struct{}, 1), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.ended <- d.Watch(ctx, func() {
			select {
			case w.notices <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-w.ended:
			if err != nil {
				t.Errorf("Watch ended with %v", err)
			}
		case <-time.After(deadline):
			t.Error("Watch did not end with its context")
		}
	})
	w.notice()
	return w
}

func (w *watched) notice() {
	w.t.Helper()
	select {
	case <-w.notices:
	case <-time.After(deadline):
		w.t.Fatal("no notice")
	}
}

// until takes a snapshot at every notice until the files are as wanted. It takes
// none before the first: that would find a change nobody told of.
func (w *watched) until(want ...string) {
	w.t.Helper()
	var got []string
	var err error
	late := time.After(deadline)
	for {
		select {
		case <-w.notices:
		case <-late:
			w.t.Fatalf("no notice brought %q, last %q (%v)", want, got, err)
		}
		var snapshot Snapshot
		snapshot, _, err = w.d.Snapshot(context.Background())
		got = nil
		for _, f := range snapshot.Files {
			got = append(got, f.Path+"="+string(f.Content))
		}
		if err == nil && slices.Equal(got, want) {
			return
		}
	}
}

// untilGone is until, for a directory that is not there.
func (w *watched) untilGone() {
	w.t.Helper()
	for {
		w.notice()
		if _, _, err := w.d.Snapshot(context.Background()); err != nil {
			return
		}
	}
}

// Nothing but events may bring these changes: there is no rescan.
func TestWatchTells(t *testing.T) {
	at := func(dir string) func(name string) string {
		return func(name string) string { return filepath.Join(dir, name) }
	}
	rows := []struct {
		name   string
		before map[string]string
		change func(t *testing.T, dir string, path func(string) string)
		want   []string
	}{{
		name:   "a file is written in place",
		before: map[string]string{"a.yaml": "1"},
		change: func(t *testing.T, dir string, _ func(string) string) {
			plant(t, dir, map[string]string{"a.yaml": "22"})
		},
		want: []string{"a.yaml=22"},
	}, {
		name:   "a file is replaced, as editors do",
		before: map[string]string{"a.yaml": "1"},
		change: func(t *testing.T, dir string, path func(string) string) {
			plant(t, dir, map[string]string{".a.swp": "2"})
			check(t, os.Rename(path(".a.swp"), path("a.yaml")))
		},
		want: []string{"a.yaml=2"},
	}, {
		name:   "a file goes",
		before: map[string]string{"a.yaml": "1", "b.yaml": "1"},
		change: func(t *testing.T, _ string, path func(string) string) { check(t, os.Remove(path("a.yaml"))) },
		want:   []string{"b.yaml=1"},
	}, {
		name:   "a file comes in new folders",
		before: map[string]string{"a.yaml": "1"},
		change: func(t *testing.T, dir string, _ func(string) string) {
			plant(t, dir, map[string]string{"x/y/z/b.yaml": "2"})
		},
		want: []string{"a.yaml=1", "x/y/z/b.yaml=2"},
	}, {
		name:   "a folder is replaced by another",
		before: map[string]string{"x/a.yaml": "1", ".y/a.yaml": "2"},
		change: func(t *testing.T, _ string, path func(string) string) {
			check(t, os.Rename(path("x"), path(".old")))
			check(t, os.Rename(path(".y"), path("x")))
		},
		want: []string{"x/a.yaml=2"},
	}, {
		name:   "a mounted ConfigMap is updated",
		before: map[string]string{"..1/a.yaml": "1", "..data": "-> ..1", "a.yaml": "-> ..data/a.yaml"},
		change: func(t *testing.T, dir string, path func(string) string) {
			plant(t, dir, map[string]string{"..2/a.yaml": "2", "..data_tmp": "-> ..2"})
			check(t, os.Rename(path("..data_tmp"), path("..data")))
			check(t, os.RemoveAll(path("..1")))
		},
		want: []string{"a.yaml=2"},
	}, {
		name:   "the target of a link is written in place",
		before: map[string]string{".store/a": "1", "a.yaml": "-> .store/a"},
		change: func(t *testing.T, dir string, _ func(string) string) {
			plant(t, dir, map[string]string{".store/a": "22"})
		},
		want: []string{"a.yaml=22"},
	}}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			dir := tree(t, row.before)
			w := watchDir(t, Dir(dir, DirOptions{Rescan: -1}))
			row.change(t, dir, at(dir))
			w.until(row.want...)
		})
	}
}

// After each change the next must still be seen: watches have to follow.
func TestWatchFollows(t *testing.T) {
	t.Run("folder by folder", func(t *testing.T) {
		dir := tree(t, map[string]string{"a.yaml": "1"})
		w := watchDir(t, Dir(dir, DirOptions{Rescan: -1}))
		check(t, os.Mkdir(filepath.Join(dir, "x"), 0o755))
		w.notice()
		plant(t, dir, map[string]string{"x/b.yaml": "1"})
		w.until("a.yaml=1", "x/b.yaml=1")
		plant(t, dir, map[string]string{"x/b.yaml": "2"})
		w.until("a.yaml=1", "x/b.yaml=2")
		check(t, os.RemoveAll(filepath.Join(dir, "x")))
		w.until("a.yaml=1")
		plant(t, dir, map[string]string{"x/b.yaml": "3"})
		w.until("a.yaml=1", "x/b.yaml=3")
		plant(t, dir, map[string]string{"x/b.yaml": "4"})
		w.until("a.yaml=1", "x/b.yaml=4")
	})
	t.Run("a folder is renamed", func(t *testing.T) {
		dir := tree(t, map[string]string{"x/a.yaml": "1"})
		w := watchDir(t, Dir(dir, DirOptions{Rescan: -1}))
		check(t, os.Rename(filepath.Join(dir, "x"), filepath.Join(dir, "y")))
		w.until("y/a.yaml=1")
		plant(t, dir, map[string]string{"y/a.yaml": "2"})
		w.until("y/a.yaml=2")
		check(t, os.Rename(filepath.Join(dir, "y"), filepath.Join(dir, "x")))
		w.until("x/a.yaml=2")
		plant(t, dir, map[string]string{"x/a.yaml": "3"})
		w.until("x/a.yaml=3")
	})
	t.Run("the directory is deleted and comes back", func(t *testing.T) {
		top := tree(t, map[string]string{"p/q/a.yaml": "1"})
		w := watchDir(t, Dir(filepath.Join(top, "p/q"), DirOptions{Rescan: -1}))
		for _, gone := range []string{"p/q", "p"} {
			check(t, os.RemoveAll(filepath.Join(top, gone)))
			w.untilGone()
			plant(t, top, map[string]string{"p/q/a.yaml": "2 " + gone})
			w.until("a.yaml=2 " + gone)
			plant(t, top, map[string]string{"p/q/a.yaml": "3 " + gone})
			w.until("a.yaml=3 " + gone)
		}
	})
	t.Run("the directory is a link that moves on", func(t *testing.T) {
		top := tree(t, map[string]string{"1/a.yaml": "1", "2/a.yaml": "2", "now": "-> 1"})
		w := watchDir(t, Dir(filepath.Join(top, "now"), DirOptions{Rescan: -1}))
		check(t, os.Symlink("2", filepath.Join(top, "next")))
		check(t, os.Rename(filepath.Join(top, "next"), filepath.Join(top, "now")))
		w.until("a.yaml=2")
		plant(t, top, map[string]string{"2/a.yaml": "3"})
		w.until("a.yaml=3")
	})
	t.Run("what the directory links to is replaced", func(t *testing.T) {
		top := tree(t, map[string]string{"store/1/a.yaml": "1", "store/2/a.yaml": "2", "etc/now": "-> ../store/1"})
		w := watchDir(t, Dir(filepath.Join(top, "etc/now"), DirOptions{Rescan: -1}))
		check(t, os.RemoveAll(filepath.Join(top, "store/1")))
		w.untilGone()
		check(t, os.Rename(filepath.Join(top, "store/2"), filepath.Join(top, "store/1")))
		w.until("a.yaml=2")
	})
}

// hand is a clock that only a test moves: each timer is offered on armed.
type hand struct {
	armed chan timer
}

type timer struct {
	wait time.Duration
	fire chan time.Time
}

// none fails if a timer of that wait has been set and not been taken.
func (h *hand) none(t *testing.T, wait time.Duration) {
	t.Helper()
	for {
		select {
		case timer := <-h.armed:
			if timer.wait == wait {
				t.Errorf("a timer of %v was set", wait)
			}
		default:
			return
		}
	}
}

func newHand() *hand { return &hand{armed: make(chan timer, 1000)} }

func (h *hand) after(wait time.Duration) <-chan time.Time {
	fire := make(chan time.Time, 1)
	h.armed <- timer{wait, fire}
	return fire
}

// next is the next timer of that wait; others are passed over.
func (h *hand) next(t *testing.T, wait time.Duration) chan<- time.Time {
	t.Helper()
	late := time.After(deadline)
	for {
		select {
		case timer := <-h.armed:
			if timer.wait == wait {
				return timer.fire
			}
		case <-late:
			t.Fatalf("no timer of %v was set", wait)
		}
	}
}

// fakeEvents are events a test sends itself; adding fails while full is set.
type fakeEvents struct {
	changes chan fsnotify.Event
	errors  chan error
	full    bool
	refuse  error
	list    []string // what is watched, for a test that follows it
	onAdd   func(path string)
}

func (f *fakeEvents) open() (*events, error) {
	if f.refuse != nil {
		return nil, f.refuse
	}
	return &events{
		changes: f.changes, errors: f.errors,
		add: func(path string) error {
			if f.full {
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

func silent(w *watched, what string) {
	w.t.Helper()
	select {
	case <-w.notices:
		w.t.Errorf("%s: got a notice, want none", what)
	default:
	}
}

func TestWatchSettles(t *testing.T) {
	dir := tree(t, map[string]string{"a.yaml": "1"})
	clock := newHand()
	fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
	const settle, rescan = 3 * time.Second, time.Minute
	d := Dir(dir, DirOptions{Settle: settle, Rescan: rescan, After: clock.after})
	d.openEvents = fake.open
	w := watchDir(t, d)
	slow := clock.next(t, rescan)
	event := fsnotify.Event{Name: filepath.Join(dir, "a.yaml"), Op: fsnotify.Write}

	fake.changes <- event
	first := clock.next(t, settle)
	late := clock.next(t, patience*settle)
	fake.changes <- event
	second := clock.next(t, settle)
	first <- time.Time{}
	fake.changes <- fsnotify.Event{Name: filepath.Join(filepath.Dir(dir), "somebody else's"), Op: fsnotify.Create}
	silent(w, "the timer that a later change replaced")
	clock.none(t, patience*settle)
	second <- time.Time{}
	w.notice()

	late <- time.Time{}
	fake.changes <- event
	silent(w, "the patience of a change that was told")
	clock.next(t, settle)
	clock.next(t, patience*settle) <- time.Time{}
	w.notice() // never quiet, told all the same

	slow <- time.Time{}
	w.notice() // nothing happened, looked all the same
	clock.next(t, rescan)

	fake.errors <- fsnotify.ErrEventOverflow
	clock.next(t, settle) <- time.Time{}
	w.notice()
}

// A folder made in another just before that one is watched is told by nobody,
// and has to be watched all the same.
func TestWatchLooksAgain(t *testing.T) {
	dir := tree(t, nil)
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
			t.Errorf("%s is not watched", folder)
		}
	}
}

// Where the directory is not there, what it would be made in is watched.
func TestWatchAnchors(t *testing.T) {
	rows := []struct {
		name  string
		files map[string]string
		path  string
		want  []string
	}{
		{"there", map[string]string{"p/": ""}, "p", []string{".", "p"}},
		{"missing", nil, "p", []string{"."}},
		{"missing with the folder above", map[string]string{"a/": ""}, "a/p/q", []string{"a"}},
		{"a link to what is there", map[string]string{"etc/p": "-> ../store/1", "store/1/": ""}, "etc/p", []string{"etc", "store", "store/1"}},
		{"a link to what is missing", map[string]string{"etc/p": "-> ../store/1", "store/": ""}, "etc/p", []string{"etc", "store"}},
		{"a link to itself", map[string]string{"etc/p": "-> p"}, "etc/p", []string{"etc"}},
		{"a file", map[string]string{"p": "x"}, "p", []string{"."}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			top := tree(t, row.files)
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

// What is no longer part of the directory is no longer watched: watches are few.
func TestWatchLetsGo(t *testing.T) {
	dir := tree(t, map[string]string{"x/a.yaml": "1", "out": "-> " + tree(t, map[string]string{"b.yaml": "1"})})
	clock := newHand()
	fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
	d := Dir(dir, DirOptions{Rescan: time.Minute, After: clock.after})
	d.openEvents = fake.open
	w := watchDir(t, d)
	fire := clock.next(t, time.Minute)
	if got, want := len(fake.list), 4; got != want {
		t.Errorf("watched: got %q, want the directory, what holds it and two folders", fake.list)
	}
	check(t, os.RemoveAll(filepath.Join(dir, "x")))
	check(t, os.Remove(filepath.Join(dir, "out")))
	fire <- time.Time{}
	w.notice()
	slices.Sort(fake.list)
	wantEqual(t, "watched", fake.list, []string{filepath.Dir(dir), dir})
}

// Without events Watch polls, and goes back to waiting once there are events.
func TestWatchFallsBack(t *testing.T) {
	rows := []struct {
		name string
		fail func(f *fakeEvents)
		mend func(f *fakeEvents)
	}{
		{"no watches left", func(f *fakeEvents) { f.full = true }, func(f *fakeEvents) { f.full = false }},
		{"no events at all", func(f *fakeEvents) { f.refuse = errors.New("too many open files") }, func(f *fakeEvents) { f.refuse = nil }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			clock := newHand()
			fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
			row.fail(fake)
			d := Dir(tree(t, nil), DirOptions{Rescan: time.Minute, After: clock.after})
			d.openEvents = fake.open
			w := watchDir(t, d)
			clock.next(t, poll) <- time.Time{}
			w.notice()
			fire := clock.next(t, poll)
			row.mend(fake)
			fire <- time.Time{}
			w.notice()
			clock.next(t, time.Minute)
		})
	}
	t.Run("the events end", func(t *testing.T) {
		clock := newHand()
		fake := &fakeEvents{changes: make(chan fsnotify.Event), errors: make(chan error)}
		d := Dir(tree(t, nil), DirOptions{Rescan: time.Minute, After: clock.after})
		d.openEvents = fake.open
		w := watchDir(t, d)
		clock.next(t, time.Minute)
		close(fake.errors)
		fire := clock.next(t, poll)
		fake.errors = make(chan error)
		fire <- time.Time{}
		w.notice()
		clock.next(t, time.Minute)
	})
}
