package source

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// update watches every folder that the directory has now, and the folders that contain the
// directory itself and the links that lead to it.
//
// No event reports a folder that is created in another one before that one is watched. So
// update lists the folders again until it finds no new one: what is created later raises an
// event, and what was created before is in the snapshot that follows.
func (w *watch) update(ctx context.Context) {
	if w.events == nil {
		opened, err := w.open()
		if err != nil {
			w.startPolling("file system events are unavailable: polling the policy directory", err)
			return
		}
		w.events, w.changes, w.errors = opened, opened.changes, opened.errors
	}
	var failed error
	added := map[string]struct{}{}
	for range maxAttempts {
		w.findTargets(ctx)
		// Remove first: a renamed folder is one watch under two names.
		for _, path := range w.watched() {
			if _, ok := w.targets[path]; !ok && (w.mark == nil || path != w.mark.dir) {
				w.remove(path) // fails if the folder no longer exists
			}
		}
		before := len(added)
		for path := range w.targets {
			if _, ok := added[path]; ok {
				continue
			}
			added[path] = struct{}{}
			// Also if the path is watched already: it may be a new folder of the same name.
			// For a folder that has been removed since, the folder above raises an event.
			if err := w.add(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
		if len(added) == before {
			break
		}
	}
	if failed != nil {
		w.startPolling("some folders cannot be watched: polling the policy directory", failed)
		return
	}
	w.isPolling = false
	w.trust()
}

// trust lets snapshots read what events report alone, if these report every change.
func (w *watch) trust() {
	reason := w.unmarked
	if w.mark == nil && reason == nil {
		reason = errors.New("the order of events is not known")
	}
	if w.d.o.Rescan < 0 {
		reason = errors.New("rescans are disabled")
	}
	for folder := range w.folders {
		if reason == nil {
			reason = distrust(folder)
		}
	}
	if reason == nil {
		w.distrusted = ""
		w.d.seen.watched(maps.Clone(w.targets), w.mark.pass)
		return
	}
	w.d.seen.watched(nil, nil)
	if w.distrusted != reason.Error() {
		w.distrusted = reason.Error()
		w.log.Info("each change lists the whole policy directory", "reason", reason)
	}
}

// findTargets recomputes the paths to watch.
func (w *watch) findTargets(ctx context.Context) {
	w.anchors, w.targets = map[string]struct{}{}, map[string]struct{}{}
	if path, err := filepath.Abs(w.d.path); err == nil {
		w.addAnchors(path)
	}
	w.addFolders(ctx)
}

// maxLinks bounds the links in one path; Linux has the same limit.
const maxLinks = 40

// addAnchors adds path and the targets of the links it leads through, also if they do not
// exist.
func (w *watch) addAnchors(path string) {
	for range maxLinks {
		w.addAnchor(path)
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

// addFolders adds every folder of the directory. If the directory cannot be walked, it adds
// those folders of the previous walk that still exist.
func (w *watch) addFolders(ctx context.Context) {
	var l *listing
	err := whileChanged(ctx, func() (err error) {
		l, err = w.d.walk(ctx, true)
		return err
	})
	if err != nil {
		w.log.Debug("finding folders to watch", "error", err)
	} else {
		l.close()
		w.folders = l.folders
	}
	for folder := range w.folders {
		if isFolder(folder) {
			w.targets[folder] = struct{}{}
		}
	}
}

// addAnchor adds the folder that contains path. If it does not exist, addAnchor adds the
// nearest existing one above, to observe that the next name of the path is created.
func (w *watch) addAnchor(path string) {
	for {
		parent := filepath.Dir(path)
		w.anchors[path] = struct{}{}
		if parent == path {
			return
		}
		if isFolder(parent) {
			w.targets[parent] = struct{}{}
			return
		}
		path = parent
	}
}
