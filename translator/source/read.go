package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/internal/progress"
)

// cachedFile is a file that was read before.
type cachedFile struct {
	stamp  stamp
	readAt time.Time
	file   File
}

const (
	// A file written less than racyWindow before it was read is read again: a second write
	// could have the same stamp.
	racyWindow = 2 * time.Second
	// Every file is read again after maxCacheAge: a clock that was set back, or a file
	// system that does not keep its times, must not hide a change forever.
	maxCacheAge = 5 * time.Minute
)

// isValid reports whether the cached content stands for the file that now has stamp s.
func (c cachedFile) isValid(s stamp, now time.Time) bool {
	lastWrite := time.Unix(0, max(c.stamp.written, c.stamp.changed))
	return c.stamp == s && c.readAt.Sub(lastWrite) > racyWindow && now.Sub(c.readAt) < maxCacheAge
}

// readAll reads the listed files in parallel and returns them sorted by path.
func (d *Directory) readAll(ctx context.Context, l *listing) ([]File, error) {
	d.mu.Lock()
	old := d.cache
	d.mu.Unlock()

	now := d.o.Now()
	read := make([]cachedFile, len(l.entries))
	rejected := make([]*Rejection, len(l.entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i, e := range l.entries {
		if c, ok := old[e.path]; ok && c.isValid(e.stamp, now) {
			read[i] = c
			continue
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var r *room
			if e.size > plainBytes { // a text of its own is made of the content
				r = takeRoom()
				defer r.leave()
			}
			content, err := d.read(l, e, r)
			if errors.Is(err, fs.ErrPermission) {
				rejected[i] = unreadable(errors.Unwrap(err))
				return nil
			}
			if err != nil {
				return err
			}
			progress.FromContext(ctx).Count(1, "files read")
			file := old[e.path].file
			if file.Path == "" || file.Hash != sha256.Sum256(content) {
				file = NewFile(e.path, content)
			}
			read[i] = cachedFile{stamp: e.stamp, readAt: now, file: file}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	readable := read[:0]
	for i, r := range rejected {
		if r != nil {
			l.reject(l.entries[i].path, r)
			continue
		}
		readable = append(readable, read[i])
	}
	return d.replaceCache(readable), nil
}

// replaceCache makes read the cache and returns its files sorted by path.
func (d *Directory) replaceCache(read []cachedFile) []File {
	files := make([]File, len(read))
	cache := make(map[string]cachedFile, len(read))
	for i, c := range read {
		files[i] = c.file
		cache[c.file.Path] = c
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	d.mu.Lock()
	d.cache = cache
	d.mu.Unlock()
	return files
}

// read reads one file into room, or into memory of its own if room is nil. It returns errChanged if the
// file is not the one that was listed.
func (d *Directory) read(l *listing, e entry, r *room) ([]byte, error) {
	if d.onRead != nil {
		d.onRead(e.path)
	}
	f, err := l.open(e.real)
	if err != nil {
		return nil, listedError(e.path, err)
	}
	defer f.Close()
	if err := e.checkUnchanged(f); err != nil {
		return nil, err
	}
	// One byte more than listed, to detect a file that grew.
	content := r.of(int(e.size) + 1)
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", e.path, TrimPath(err))
	}
	if int64(n) != e.size {
		return nil, errChanged
	}
	// The second listing detects changes made while reading, for all files at once.
	return content[:n:n], nil
}

func (e entry) checkUnchanged(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", e.path, TrimPath(err))
	}
	if stampOf(info) != e.stamp || !info.Mode().IsRegular() {
		return errChanged
	}
	return nil
}

// open opens a file without blocking: since the listing, the file can have become a pipe,
// or a folder in its path a link out of the checkout.
func (l *listing) open(real string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if l.fence == nil {
		return os.OpenFile(real, flags, 0)
	}
	inside, err := filepath.Rel(l.top, real)
	if err != nil {
		return nil, err
	}
	f, err := l.fence.OpenFile(inside, flags, 0)
	var system syscall.Errno
	if err != nil && !errors.As(err, &system) {
		return nil, errChanged // outside of the checkout; the next listing rejects the link
	}
	return f, err
}
