package source

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/translator/diag"
)

// errWhole reports that what has changed cannot be read alone: the directory must be listed.
var errWhole = errors.New("the whole directory must be read")

// maxSeen bounds the files that are read without a listing. Of more, a listing is as fast.
const maxSeen = 1000

// seen is what a watch has seen since the last reading of a directory. The watch writes it,
// snapshots take it. The zero value is a directory that is not watched.
type seen struct {
	mu sync.Mutex // held to read and write the fields below
	changes
}

// changes are the changes of a directory that a watch has seen.
type changes struct {
	// folders are those in which the watch sees every change. Nil: it may miss some.
	folders map[string]struct{}
	// pass returns once the watch has seen every change that was made before the call.
	pass func(context.Context) error
	// files are the real paths of regular files that were changed, added or removed, and
	// isAll states that anything may have changed.
	files map[string]struct{}
	isAll bool
}

// watched states in which folders every change is seen from now on, nil for none.
func (s *seen) watched(folders map[string]struct{}, pass func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isAll = s.isAll || s.folders == nil || folders == nil
	s.folders, s.pass = folders, pass
}

// add notes a changed file.
func (s *seen) add(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isAll = s.isAll || len(s.files) >= maxSeen; s.isAll {
		return
	}
	if s.files == nil {
		s.files = map[string]struct{}{}
	}
	s.files[file] = struct{}{}
}

// addAll notes that anything may have changed.
func (s *seen) addAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isAll = true
}

// take returns the changes since it was last called. They are the caller's to read.
func (s *seen) take() changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.changes
	s.files, s.isAll = nil, false
	return taken
}

// putBack notes changes that were taken and not read.
func (s *seen) putBack(c changes) {
	if c.isAll {
		s.addAll()
	}
	for file := range c.files {
		s.add(file)
	}
}

// wholeReading is what a reading of a whole directory found: what is not among the changes since
// then is as it was.
type wholeReading struct {
	root, top   string
	files       []File // sorted by path, not to be changed
	total       int64  // bytes of all files
	origin      Origin
	diagnostics diag.List
	// ignored are the folders that patterns leave out.
	ignored map[string]struct{}
}

// keep makes a reading of the whole directory the one that later changes are read onto. A
// directory with links is always read whole: a link has more names than events report.
func (d *Directory) keep(l *listing, files []File, c changes) {
	d.whole = nil
	if l.hasLinks || l.diagnostics.HasErrors() {
		return
	}
	for folder := range l.folders {
		if _, ok := c.folders[folder]; !ok {
			return
		}
	}
	d.whole = &wholeReading{
		root: l.root, top: l.top, files: files, origin: l.origin, diagnostics: l.diagnostics,
		ignored: l.ignoredFolders, total: int64(Size(files)),
	}
}

// readChanged reads files that have changed onto the last reading of the whole directory. It
// returns errWhole if that is not enough, and errChanged if files have changed meanwhile.
//
// The result is the directory at one moment: that in which pass is called. What had changed
// before the last reading is in it; what has changed since is among the changes, or is seen
// before pass returns and makes the attempt fail.
func (d *Directory) readChanged(ctx context.Context, c changes) (Snapshot, diag.List, error) {
	whole := d.whole
	if whole == nil || c.isAll || c.folders == nil {
		return Snapshot{}, nil, errWhole
	}
	root, top, err := d.resolve()
	if err != nil || root != whole.root || top != whole.top {
		return Snapshot{}, nil, errWhole
	}
	l := &listing{d: d, root: root, top: top}
	defer l.close()
	if err := l.openFence(); err != nil {
		return Snapshot{}, nil, errWhole
	}
	next := *whole
	entries, err := next.read(l, slices.Sorted(maps.Keys(c.files)))
	if err != nil {
		return Snapshot{}, nil, err
	}
	if err := c.pass(ctx); err != nil {
		return Snapshot{}, nil, errWhole
	}
	if !d.seen.isQuiet() || slices.ContainsFunc(entries, entry.hasChanged) {
		return Snapshot{}, nil, errChanged
	}
	d.whole = &next
	return d.snapshotOf(next.files, next.origin), slices.Clone(next.diagnostics), nil
}

// isQuiet reports whether the watch has seen nothing since changes were taken.
func (s *seen) isQuiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.isAll && len(s.files) == 0 && s.folders != nil
}

// read reads changed files, and returns what it read.
func (w *wholeReading) read(l *listing, changed []string) (entries []entry, err error) {
	w.files = slices.Clone(w.files)
	for _, real := range changed {
		name, err := filepath.Rel(w.root, real)
		if err != nil {
			return nil, errWhole
		}
		name = filepath.ToSlash(name)
		at, isKnown := w.find(name)
		switch {
		case isKnown:
		case IsDocument(name) || IsMisnamed(name) || w.isFolder(name):
			return nil, errWhole // what is to be read is for a listing to find
		default:
			continue
		}
		info, err := os.Lstat(real)
		if err != nil || !info.Mode().IsRegular() || info.Size() > l.d.o.Limits.MaxFileBytes {
			return nil, errWhole
		}
		e := entry{path: name, real: real, stamp: stampOf(info)}
		content, err := l.d.read(l, e, nil)
		switch {
		case errors.Is(err, errChanged):
			return nil, err
		case err != nil:
			return nil, errWhole
		}
		w.total += int64(len(content) - w.files[at].Content.Len())
		w.files[at] = NewFile(name, content)
		entries = append(entries, e)
	}
	if w.total > l.d.o.Limits.MaxBytes {
		return nil, errWhole
	}
	return entries, nil
}

// find returns where the file of a path is, or would be.
func (w *wholeReading) find(path string) (at int, isKnown bool) {
	return slices.BinarySearchFunc(w.files, path, func(f File, path string) int { return strings.Compare(f.Path, path) })
}

// isFolder reports whether a path was that of a folder that is left out, or has files. The watch
// does not know: it may have found the folder removed before the event of that comes.
func (w *wholeReading) isFolder(path string) bool {
	if _, isIgnored := w.ignored[path]; isIgnored {
		return true
	}
	at, _ := w.find(path + "/")
	return at < len(w.files) && strings.HasPrefix(w.files[at].Path, path+"/")
}

// hasChanged reports whether a file is not the one that was read.
func (e entry) hasChanged() bool {
	info, err := os.Lstat(e.real)
	return err != nil || stampOf(info) != e.stamp
}
