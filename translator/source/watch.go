package source

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// poll is how often Watch notifies while the file system's events cannot be had:
// no watches left, or none at all.
const poll = 2 * time.Second

// patience is how many settle times a directory that never becomes quiet is
// waited for.
const patience = 10

// Watch calls notify once when it has begun to watch, whenever the directory may
// have changed and has become quiet, and every rescan time in any case. It says
// that something may have changed, never what: the caller takes a snapshot and
// compares. Directories are watched, not files, since editors and syncers replace
// files and links. Watch returns nil when ctx is done; notify must not block.
//
// Without events, because the system has no more to give, Watch polls.
func (d *Directory) Watch(ctx context.Context, notify func()) error {
	w := &watch{d: d, open: d.openEvents, log: d.o.Logger}
	if w.open == nil {
		w.open = inotify
	}
	defer w.close()
	w.follow(ctx)
	notify()

	rescan := w.rescan()
	var quiet, late <-chan time.Time
	settled := func() {
		quiet, late = nil, nil
		w.follow(ctx)
		notify()
	}
	for {
		changed := false
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.changes:
			changed = ok && w.concerns(event.Name)
			if !ok {
				rescan = w.lost()
			}
		case err, ok := <-w.errors:
			if !ok {
				rescan = w.lost()
				break
			}
			// Overflow above all: events were lost, so anything may have changed.
			changed = true
			w.log.Warn("watching the policy directory", "error", err)
		case <-quiet:
			settled()
		case <-late:
			settled()
		case <-rescan:
			settled()
			rescan = w.rescan()
		}
		switch {
		case !changed:
		case d.o.Settle == 0:
			settled()
		default:
			quiet = d.o.After(d.o.Settle)
			if late == nil {
				late = d.o.After(patience * d.o.Settle)
			}
		}
	}
}

// events is what a watch needs of fsnotify.
type events struct {
	changes <-chan fsnotify.Event
	errors  <-chan error
	add     func(path string) error
	remove  func(path string) error
	watched func() []string
	close   func() error
}

func inotify() (*events, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &events{changes: w.Events, errors: w.Errors, add: w.Add, remove: w.Remove, watched: w.WatchList, close: w.Close}, nil
}

// watch is the state of one Watch. It belongs to one goroutine.
type watch struct {
	d    *Directory
	open func() (*events, error)
	log  *slog.Logger

	// Of the events, nil while there are none: then their channels are silent.
	*events
	changes <-chan fsnotify.Event
	errors  <-chan error
	// folders are watched for whatever happens in them, anchors are the names
	// the directory itself goes by, in folders that are otherwise not ours.
	folders map[string]struct{}
	anchors map[string]struct{}
	// wanted are all paths that are to be watched.
	wanted map[string]struct{}
	// deaf says that some folder is not watched, so only polling tells.
	deaf bool
}

func (w *watch) close() {
	if w.events != nil {
		w.events.close()
	}
	w.events, w.changes, w.errors = nil, nil, nil
}

// lost gives up events that have ended. The next follow opens others, and until
// then the returned timer polls.
func (w *watch) lost() <-chan time.Time {
	w.close()
	w.fell("file system events ended: polling the policy directory", nil)
	return w.rescan()
}

func (w *watch) rescan() <-chan time.Time {
	interval := w.d.o.Rescan
	if w.deaf && (interval < 0 || interval > poll) {
		interval = poll
	}
	if interval < 0 {
		return nil
	}
	return w.d.o.After(interval)
}

// concerns reports whether an event of this name is about the directory.
func (w *watch) concerns(name string) bool {
	_, inside := w.folders[filepath.Dir(name)]
	_, itself := w.anchors[name]
	_, watched := w.wanted[name] // gone, or moved away
	return inside || itself || watched
}

// follow sets a watch on every folder of the directory as it is now, and on
// those that hold the directory itself and the links it is reached by.
//
// A folder that is made in another before the watch of that one stands is told
// by nobody. So it looks again until there is nothing new: then whatever is made
// later is told, and whatever was made before is in the snapshot that comes after.
func (w *watch) follow(ctx context.Context) {
	if w.events == nil {
		opened, err := w.open()
		if err != nil {
			w.fell("no file system events: polling the policy directory", err)
			return
		}
		w.events, w.changes, w.errors = opened, opened.changes, opened.errors
	}
	var failed error
	standing := map[string]struct{}{}
	for range attempts {
		w.want(ctx)
		// First let go: a folder that was renamed is one watch under two names.
		for _, path := range w.watched() {
			if _, ok := w.wanted[path]; !ok {
				w.remove(path) // it may be gone already
			}
		}
		before := len(standing)
		for path := range w.wanted {
			if _, ok := standing[path]; ok {
				continue
			}
			standing[path] = struct{}{}
			// Also where there was a watch: the folder may be another of that name.
			// One that went away meanwhile is told of by the folder above it.
			if err := w.add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
		if len(standing) == before {
			break
		}
	}
	if failed != nil {
		w.fell("some folders cannot be watched: polling the policy directory", failed)
		return
	}
	w.deaf = false
}

// want finds every path to watch, as things are now.
func (w *watch) want(ctx context.Context) {
	w.anchors, w.wanted = map[string]struct{}{}, map[string]struct{}{}
	if path, err := filepath.Abs(w.d.path); err == nil {
		w.anchorAll(path)
	}
	w.look(ctx)
}

// maxLinks is how many links a path may lead through; the system's is the same.
const maxLinks = 40

// anchorAll anchors path and what it links to, whether or not that is there.
func (w *watch) anchorAll(path string) {
	for range maxLinks {
		w.anchor(path)
		target, err := os.Readlink(path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = filepath.Clean(target)
	}
}

// look wants every folder of the directory watched. Where the directory cannot
// be walked, the folders known from before are what is left of it.
func (w *watch) look(ctx context.Context) {
	l, err := w.d.walk(ctx, true)
	for n := 1; errors.Is(err, errChanged) && n < attempts && pause(ctx, time.Millisecond<<n) == nil; n++ {
		l, err = w.d.walk(ctx, true)
	}
	if err != nil {
		w.log.Debug("looking for folders to watch", "error", err)
	} else {
		l.close()
		w.folders = l.folders
	}
	for folder := range w.folders {
		if isFolder(folder) {
			w.wanted[folder] = struct{}{}
		}
	}
}

// anchor wants the folder that holds path watched; if that is not there either,
// the nearest one above that is, for the name on the way to path.
func (w *watch) anchor(path string) {
	for {
		parent := filepath.Dir(path)
		w.anchors[path] = struct{}{}
		if parent == path {
			return
		}
		if isFolder(parent) {
			w.wanted[parent] = struct{}{}
			return
		}
		path = parent
	}
}

// fell says once that events cannot be relied on.
func (w *watch) fell(message string, err error) {
	if !w.deaf {
		w.log.Warn(message, "error", err)
	}
	w.deaf = true
}
