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

	"github.com/writ-policy/writ/translator/settings"
)

// pollInterval is how often Watch notifies while file system events are unavailable.
const pollInterval = 2 * time.Second

// maxSettles bounds, in settle times, how long Watch waits for a directory that does not
// become quiet.
const maxSettles = 10

// Watch calls notify once after it has started to watch, whenever the directory may have
// changed and has become quiet, and after each rescan interval. It does not report what
// changed: the caller takes a snapshot and compares. Watch observes folders, not files,
// because editors and sync tools replace files and links. If the system has no watches left,
// Watch polls. It returns nil when ctx is done; notify must not block.
func (d *Directory) Watch(ctx context.Context, notify func()) error {
	w := &watch{d: d, open: d.openEvents, log: d.o.Logger}
	if w.open == nil {
		w.open = openFSNotify
	}
	defer w.close()
	w.update(ctx)
	notify()

	rescan := w.rescanTimer()
	var quiet, deadline <-chan time.Time
	settled := func() {
		quiet, deadline = nil, nil
		// Files that have changed alone leave the folders as they are.
		if w.mayMove || w.distrusted != "" || w.isPolling {
			w.mayMove = false
			w.update(ctx)
		}
		notify()
	}
	for {
		changed := false
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.changes:
			changed = ok && w.note(event)
			if !ok {
				rescan = w.closeLost()
			}
		case err, ok := <-w.errors:
			if !ok {
				rescan = w.closeLost()
				break
			}
			// Usually an overflow: events were lost, so anything may have changed.
			changed = true
			w.noteAll()
			w.log.Warn("watching the policy directory", "error", err)
		case <-quiet:
			settled()
		case <-deadline:
			settled()
		case <-rescan:
			w.noteAll()
			settled()
			rescan = w.rescanTimer()
		}
		switch {
		case !changed:
		case d.o.Settle == 0:
			settled()
		default:
			quiet = d.o.After(d.o.Settle)
			if deadline == nil {
				deadline = d.o.After(maxSettles * d.o.Settle)
			}
		}
	}
}

// events is the part of an fsnotify.Watcher that a watch needs.
type events struct {
	changes  <-chan fsnotify.Event
	errors   <-chan error
	add      func(path string) error
	remove   func(path string) error
	watched  func() []string
	close    func() error
	mark     *mark // nil if it cannot be made, for the reason unmarked
	unmarked error
}

func openFSNotify() (*events, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	out := &events{changes: w.Events, errors: w.Errors, add: w.Add, remove: w.Remove, watched: w.WatchList, close: w.Close}
	if out.mark, out.unmarked = newMark(); out.unmarked == nil {
		out.unmarked = w.Add(out.mark.dir)
	}
	return out, nil
}

// watch is the state of one Watch. It belongs to one goroutine.
type watch struct {
	d    *Directory
	open func() (*events, error)
	log  *slog.Logger

	// Nil while events are unavailable; a receive from the nil channels blocks.
	*events
	changes <-chan fsnotify.Event
	errors  <-chan error
	// folders are the folders of the directory: every event in them is relevant.
	folders map[string]struct{}
	// anchors are the paths of the directory itself and of the links that lead to it. Other
	// events in the folders that contain them are irrelevant.
	anchors map[string]struct{}
	// targets are all paths to watch.
	targets map[string]struct{}
	// isPolling is set while some folder cannot be watched.
	isPolling bool
	// mayMove is set while the folders may differ from those that update found.
	mayMove bool
	// distrusted is why not every change is seen; empty if each is.
	distrusted string
}

func (w *watch) close() {
	w.d.seen.watched(nil, nil)
	if w.events != nil {
		w.events.close()
		w.events.mark.remove()
	}
	w.events, w.changes, w.errors = nil, nil, nil
}

// closeLost closes a watcher whose events have ended and returns the next rescan timer,
// which polls until update opens a new watcher.
func (w *watch) closeLost() <-chan time.Time {
	w.close()
	w.startPolling("file system events ended: polling the policy directory", nil)
	return w.rescanTimer()
}

// rescanTimer returns nil, which never fires, if rescans are disabled.
func (w *watch) rescanTimer() <-chan time.Time {
	interval := w.d.o.Rescan
	if w.isPolling && (interval < 0 || interval > pollInterval) {
		interval = pollInterval
	}
	if interval < 0 {
		return nil
	}
	return w.d.o.After(interval)
}

// note notes what an event may have changed, and reports whether it concerns the directory.
func (w *watch) note(event fsnotify.Event) bool {
	switch {
	case w.mark.note(event) || !w.isRelevant(event.Name):
		return false
	case w.isContent(event.Name):
		w.d.seen.add(event.Name)
	default:
		w.noteAll()
	}
	return true
}

// noteAll notes that anything may have changed, folders too.
func (w *watch) noteAll() {
	w.mayMove = true
	w.d.seen.addAll()
}

// isContent reports whether an event on a path can have changed no more than the content of a
// file there: not which folders there are, and not what is read in them.
func (w *watch) isContent(name string) bool {
	switch filepath.Base(name) {
	case IgnoreFile, settings.Path, ".git":
		return false
	}
	_, isFolder := w.folders[name]
	_, isAnchor := w.anchors[name]
	_, isTarget := w.targets[name]
	if isFolder || isAnchor || isTarget {
		return false
	}
	info, err := os.Lstat(name)
	return err == nil && info.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist)
}

// isRelevant reports whether an event on the path name concerns the directory.
func (w *watch) isRelevant(name string) bool {
	_, inside := w.folders[filepath.Dir(name)]
	_, itself := w.anchors[name]
	_, watched := w.targets[name] // removed, or moved away
	return inside || itself || watched
}

// startPolling logs the reason once, until events are available again.
func (w *watch) startPolling(message string, err error) {
	if !w.isPolling {
		w.log.Warn(message, "error", err)
	}
	w.isPolling = true
	w.d.seen.watched(nil, nil)
}
