package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
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
			return nil, fmt.Errorf("open the checkout: %w", bare(err))
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
			l.refuse(name, CodeLinkLoop, "the link leads back to a folder above it", "remove the link")
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
		l.refuse(name, CodeTooLarge, fmt.Sprintf("the directory has more than %d files and folders", l.d.o.MaxEntries),
			"point writ at the folder that holds the policies")
		return nil
	}
	mode := child.Type()
	if mode&fs.ModeSymlink != 0 {
		return l.link(ctx, name, real, trail)
	}
	if !mode.IsDir() && !isDocument(name) {
		return nil
	}
	if !plain(path.Base(name)) {
		l.refuse(name, CodeFileName, fmt.Sprintf("the name %s is not printable text", strconv.QuoteToASCII(path.Base(name))), "rename it")
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
		l.refuse(name, CodeLinkLoop, "the link leads to itself", "remove the link")
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		l.refuse(name, CodeBrokenLink, "what the link points to is not there", "remove the link, or put its target in place")
		return nil
	case err != nil:
		return worldly(name, err)
	}
	if !info.IsDir() && !isDocument(name) {
		return nil
	}
	if !plain(path.Base(name)) {
		l.refuse(name, CodeFileName, fmt.Sprintf("the name %s is not printable text", strconv.QuoteToASCII(path.Base(name))), "rename it")
		return nil
	}
	target, err := filepath.EvalSymlinks(real)
	if err != nil {
		return worldly(name, err)
	}
	if l.top != "" && (!within(l.top, target) || within(filepath.Join(l.top, ".git"), target)) {
		l.refuse(name, CodeOutsideCheckout, "the link leads out of the git checkout", "copy what it points to into the repository")
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
		l.refuse(name, CodeNotRegular, "not a regular file", "remove it, or give it a name that is not a document's")
	case info.Size() > l.d.o.MaxFileBytes:
		l.refuse(name, CodeTooLarge, fmt.Sprintf("the file has %d bytes, more than the %d that are read", info.Size(), l.d.o.MaxFileBytes),
			"split it into several files")
	default:
		l.entries = append(l.entries, entry{path: name, real: real, stamp: stampOf(info)})
	}
}

// full reports whether the walk has met more than it may.
func (l *listing) full() bool { return l.seen > l.d.o.MaxEntries }

// boundTotal drops the files after the one with which all together are too many
// bytes, and says so.
func (l *listing) boundTotal() {
	var total int64
	for i, e := range l.entries {
		if total += e.size; total > l.d.o.MaxBytes {
			l.entries = l.entries[:i]
			l.refuse(e.path, CodeTooLarge, fmt.Sprintf("with this file the directory has more than the %d bytes that are read", l.d.o.MaxBytes),
				"point writ at the folder that holds the policies")
			return
		}
	}
}

func (l *listing) refuse(name string, code diag.Code, message, hint string) {
	if !plain(name) {
		// The name goes into terminals and logs.
		name = strings.Trim(strconv.QuoteToASCII(name), `"`)
	}
	l.diagnostics.Add(diag.Diagnostic{
		Position: diag.Position{File: name, Line: 1, Column: 1},
		Code:     code, Message: message, Hint: hint,
	})
}

// worldly turns an error on a listed file into one for the caller. What was
// there a moment ago and is gone means the directory is changing.
func worldly(name string, err error) error {
	if name != "" && errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	if name == "" {
		name = "the policy directory"
	}
	return fmt.Errorf("read %s: %w", name, bare(err))
}

// bare takes the absolute path out of a file error.
func bare(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func isDocument(name string) bool {
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

func plain(name string) bool {
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
