package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/diag"
)

// entry is one file to read: the path people know it by and the file behind it,
// with all links followed.
type entry struct {
	path string
	real string
	stamp
}

// listing is one walk over the directory.
type listing struct {
	d       *Directory
	root    string
	top     string   // of the git checkout, empty outside of one
	fence   *os.Root // opened at top: the kernel keeps opening inside of it
	entries []entry
	// folders are the real paths of every folder walked and of every folder
	// that holds the target of a link: what has to be watched.
	folders map[string]struct{}
	// shallow leaves the files out, as a watch wants.
	shallow     bool
	seen        int
	diagnostics diag.List
}

func (l *listing) close() {
	if l.fence != nil {
		l.fence.Close()
	}
}

// list walks the directory and opens no file.
func (d *Directory) list(ctx context.Context) (*listing, error) { return d.walk(ctx, false) }

func (d *Directory) walk(ctx context.Context, shallow bool) (*listing, error) {
	root, top, err := d.resolve()
	if err != nil {
		return nil, err
	}
	l := &listing{d: d, root: root, top: top, folders: map[string]struct{}{}, shallow: shallow}
	if top != "" {
		if l.fence, err = os.OpenRoot(top); err != nil {
			return nil, fmt.Errorf("open the checkout: %w", TrimPath(err))
		}
	}
	if err := l.folder(ctx, "", root, nil); err != nil {
		l.close()
		return nil, err
	}
	l.boundTotal()
	return l, nil
}

// folder lists one folder, known as name, standing at real. The trail holds the
// folders above it.
func (l *listing) folder(ctx context.Context, name, real string, trail []fs.FileInfo) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return worldly(name, err)
	}
	for _, above := range trail {
		if os.SameFile(above, info) {
			l.reject(name, FolderLoop)
			return nil
		}
	}
	// A copy: the sibling folders share the trail up to here.
	trail = append(trail[:len(trail):len(trail)], info)
	l.folders[real] = struct{}{}
	children, err := os.ReadDir(real)
	if err != nil {
		return worldly(name, err)
	}
	for _, child := range children {
		if strings.HasPrefix(child.Name(), ".") {
			continue
		}
		if err := l.child(ctx, path.Join(name, child.Name()), filepath.Join(real, child.Name()), child, trail); err != nil {
			return err
		}
		if l.full() {
			return nil
		}
	}
	return nil
}

func (l *listing) child(ctx context.Context, name, real string, child fs.DirEntry, trail []fs.FileInfo) error {
	l.seen++
	if l.full() {
		l.reject(name, TooManyEntries(l.d.o.Limits.MaxEntries))
		return nil
	}
	mode := child.Type()
	if mode&fs.ModeSymlink != 0 {
		return l.link(ctx, name, real, trail)
	}
	if !mode.IsDir() && !IsDocument(name) {
		return nil
	}
	if !IsPrintable(path.Base(name)) {
		l.reject(name, Unprintable(name))
		return nil
	}
	if mode.IsDir() {
		return l.folder(ctx, name, real, trail)
	}
	if l.shallow {
		return nil
	}
	info, err := child.Info()
	if err != nil {
		return worldly(name, err)
	}
	l.file(name, real, info)
	return nil
}

// link follows a link to its end, but not out of the checkout: who may write to
// the repository must not choose what else of the machine is read.
func (l *listing) link(ctx context.Context, name, real string, trail []fs.FileInfo) error {
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, syscall.ELOOP):
		l.reject(name, LinkLoop)
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		l.reject(name, BrokenLink)
		return nil
	case err != nil:
		return worldly(name, err)
	}
	if !info.IsDir() && !IsDocument(name) {
		return nil
	}
	if !IsPrintable(path.Base(name)) {
		l.reject(name, Unprintable(name))
		return nil
	}
	target, err := filepath.EvalSymlinks(real)
	if err != nil {
		return worldly(name, err)
	}
	if l.top != "" && (!within(l.top, target) || within(filepath.Join(l.top, ".git"), target)) {
		l.reject(name, OutsideCheckout)
		return nil
	}
	if info.IsDir() {
		return l.folder(ctx, name, target, trail)
	}
	l.folders[filepath.Dir(target)] = struct{}{}
	if info, err = os.Lstat(target); err != nil {
		return worldly(name, err)
	}
	l.file(name, target, info)
	return nil
}

func (l *listing) file(name, real string, info fs.FileInfo) {
	switch {
	case !info.Mode().IsRegular():
		// Opening a pipe would wait for its writer, a device might do anything.
		l.reject(name, NotRegular)
	case info.Size() > l.d.o.Limits.MaxFileBytes:
		l.reject(name, FileTooLarge(info.Size(), l.d.o.Limits.MaxFileBytes))
	default:
		l.entries = append(l.entries, entry{path: name, real: real, stamp: stampOf(info)})
	}
}

// full reports whether the walk has met more than it may.
func (l *listing) full() bool { return l.seen > l.d.o.Limits.MaxEntries }

// boundTotal drops the files after the one with which all together are too many
// bytes, and says so.
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

// worldly turns an error on a listed file into one for the caller. What was
// there a moment ago and is gone means the directory is changing.
func worldly(name string, err error) error {
	if name != "" && errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	if name == "" {
		name = "the policy directory"
	}
	return fmt.Errorf("read %s: %w", name, TrimPath(err))
}

// TrimPath takes the absolute path out of a file error.
func TrimPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func IsDocument(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json", ".rego":
		return true
	}
	return false
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func IsPrintable(name string) bool {
	if !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
