package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source/ignore"
)

// entry is one file to read.
type entry struct {
	path string // as documents are reported, relative to the policy directory
	real string // absolute, with all links followed
	stamp
}

// listing is the result of one walk over the directory.
type listing struct {
	d       *Directory
	root    string
	top     string   // of the git checkout; empty outside of one
	fence   *os.Root // opened at top, so that the kernel refuses to open files outside of it
	entries []entry
	// controls are the files that state what is read; origin has what they state.
	controls []control
	origin   Origin
	// folders are the real paths of every folder walked and of every folder that holds the
	// target of a link: the folders to watch.
	folders map[string]struct{}
	// foldersOnly skips files, for a watch.
	foldersOnly bool
	seen        int
	ignored     int
	hasLinks    bool
	// ignoredFolders are the folders among what is ignored.
	ignoredFolders map[string]struct{}
	diagnostics    diag.List
}

func (l *listing) close() {
	if l.fence != nil {
		l.fence.Close()
	}
}

// openFence opens the top of the checkout.
func (l *listing) openFence() (err error) {
	if l.top == "" {
		return nil
	}
	if l.fence, err = os.OpenRoot(l.top); err != nil {
		return fmt.Errorf("open the checkout: %w", TrimPath(err))
	}
	return nil
}

// list walks the directory and opens no file.
func (d *Directory) list(ctx context.Context) (*listing, error) {
	if d.onList != nil {
		d.onList()
	}
	return d.walk(ctx, false)
}

// walk lists the directory and the folders below it, without files if foldersOnly is set.
func (d *Directory) walk(ctx context.Context, foldersOnly bool) (*listing, error) {
	root, top, err := d.resolve()
	if err != nil {
		return nil, err
	}
	l := &listing{d: d, root: root, top: top, folders: map[string]struct{}{}, ignoredFolders: map[string]struct{}{}, foldersOnly: foldersOnly}
	if err := l.openFence(); err != nil {
		return nil, err
	}
	if err := l.addFolder(ctx, "", root, nil, ignore.Rules{}); err != nil {
		l.close()
		return nil, err
	}
	l.origin.Ignored = l.ignored
	l.boundTotal()
	return l, nil
}

// addFolder lists the folder at real, whose path in the policy directory is name. The trail
// holds the folders above it.
func (l *listing) addFolder(ctx context.Context, name, real string, trail []fs.FileInfo, rules ignore.Rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return listedError(name, err)
	}
	for _, above := range trail {
		if os.SameFile(above, info) {
			l.reject(name, FolderLoop)
			return nil
		}
	}
	// A copy, because sibling folders share the trail up to here.
	trail = append(slices.Clip(trail), info)
	l.folders[real] = struct{}{}
	children, err := os.ReadDir(real)
	if err != nil {
		return listedError(name, err)
	}
	if rules, err = l.addControls(name, real, children, rules); err != nil {
		return err
	}
	if !l.foldersOnly {
		children = statAll(children)
	}
	for _, child := range children {
		if strings.HasPrefix(child.Name(), ".") {
			continue
		}
		if err := l.addChild(ctx, path.Join(name, child.Name()), filepath.Join(real, child.Name()), child, trail, rules); err != nil {
			return err
		}
		if l.isFull() {
			return nil
		}
	}
	return nil
}

func (l *listing) addChild(ctx context.Context, name, real string, child fs.DirEntry, trail []fs.FileInfo, rules ignore.Rules) error {
	l.seen++
	if l.isFull() {
		l.reject(name, TooManyEntries(l.d.o.Limits.MaxEntries))
		return nil
	}
	mode := child.Type()
	if mode&fs.ModeSymlink != 0 {
		l.hasLinks = true
		return l.addLink(ctx, name, real, trail, rules)
	}
	if !mode.IsDir() && !IsDocument(name) {
		l.warnMisnamed(rules, name)
		return nil
	}
	if l.ignores(rules, name, mode.IsDir()) {
		return nil
	}
	if !IsPrintable(path.Base(name)) {
		l.reject(name, UnprintableName(name))
		return nil
	}
	if mode.IsDir() {
		return l.addFolder(ctx, name, real, trail, rules)
	}
	if l.foldersOnly {
		return nil
	}
	info, err := child.Info()
	if err != nil {
		return listedError(name, err)
	}
	l.addFile(name, real, info)
	return nil
}

// warnMisnamed warns of a file that is not read because of the case of its name, unless patterns
// leave it out.
func (l *listing) warnMisnamed(rules ignore.Rules, name string) {
	if IsMisnamed(name) && !l.foldersOnly && !l.ignores(rules, name, false) {
		l.diagnostics.Add(Misnamed(name))
	}
}

func (l *listing) addFile(name, real string, info fs.FileInfo) {
	switch {
	case !info.Mode().IsRegular():
		// Opening a pipe waits for its writer; opening a device can have any effect.
		l.reject(name, NotRegular)
	case info.Size() > l.d.o.Limits.MaxFileBytes:
		l.reject(name, FileTooLarge(info.Size(), l.d.o.Limits.MaxFileBytes))
	default:
		l.entries = append(l.entries, entry{path: name, real: real, stamp: stampOf(info)})
	}
}

// isFull reports whether the walk has found more entries than the limit.
func (l *listing) isFull() bool { return l.seen > l.d.o.Limits.MaxEntries }

// boundTotal rejects the first file with which all files together exceed MaxBytes, and
// drops it and the files after it.
func (l *listing) boundTotal() {
	var total int64
	for i, e := range l.entries {
		if total += e.size; total > l.d.o.Limits.MaxBytes {
			l.entries = l.entries[:i]
			l.reject(e.path, TotalTooLarge(l.d.o.Limits.MaxBytes))
			return
		}
	}
}

func (l *listing) reject(name string, r *Rejection) { l.diagnostics.Add(r.At(name)) }
