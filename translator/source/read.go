package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/translator/progress"
)

// cached is a file as it was read at a time.
type cached struct {
	stamp stamp
	at    time.Time
	file  File
}

// A cached file is used again while its stamp is the same, unless it was written
// so shortly before it was read that a second write could bear the same stamp.
// And not for ever: a clock that was set, or a file system that does not keep
// its times, must not hide a change for good.
const (
	racy  = 2 * time.Second
	stale = 5 * time.Minute
)

func (c cached) good(s stamp, now time.Time) bool {
	last := time.Unix(0, max(c.stamp.written, c.stamp.changed))
	return c.stamp == s && c.at.Sub(last) > racy && now.Sub(c.at) < stale
}

// readAll reads the listed files, on all cores, sorted by path.
func (d *Directory) readAll(ctx context.Context, l *listing) ([]File, error) {
	d.mu.Lock()
	old := d.cache
	d.mu.Unlock()

	now := d.o.Now()
	read := make([]cached, len(l.entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i, e := range l.entries {
		if c, ok := old[e.path]; ok && c.good(e.stamp, now) {
			read[i] = c
			continue
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			content, err := d.read(l, e)
			if err != nil {
				return err
			}
			progress.FromContext(ctx).Count(1, "files read")
			read[i] = cached{stamp: e.stamp, at: now, file: File{Path: e.path, Content: content, Hash: sha256.Sum256(content)}}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return d.keep(read), nil
}

func (d *Directory) keep(read []cached) []File {
	files := make([]File, len(read))
	cache := make(map[string]cached, len(read))
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

// read reads one file, which must be the one that was listed.
func (d *Directory) read(l *listing, e entry) ([]byte, error) {
	if d.onRead != nil {
		d.onRead(e.path)
	}
	f, err := l.open(e.real)
	if err != nil {
		return nil, worldly(e.path, err)
	}
	defer f.Close()
	if err := e.unchanged(f); err != nil {
		return nil, err
	}
	// One byte more than listed, so that a file that grew is seen to have grown.
	content := make([]byte, e.size+1)
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", e.path, TrimPath(err))
	}
	if int64(n) != e.size {
		return nil, errChanged
	}
	// Whether it changed meanwhile the second listing tells, for all files at once.
	return content[:n:n], nil
}

func (e entry) unchanged(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", e.path, TrimPath(err))
	}
	if stampOf(info) != e.stamp || !info.Mode().IsRegular() {
		return errChanged
	}
	return nil
}

// open opens a file without waiting: between listing and opening, a regular file
// can have become a pipe, or a folder on the way to it a link out of the
// checkout.
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
		return nil, errChanged // out of the checkout; the next listing says so
	}
	return f, err
}
