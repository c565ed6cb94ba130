package reload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator/progress"
)

// stateFile is the last good bundle, as a tarball any OPA could load.
const stateFile = "bundle.tar.gz"

// state keeps one bundle in a directory. It belongs to one reload at a time.
type state struct {
	dir   string
	saved string // revision that is on disk, as far as is known
	// unsaved is a bundle that is served and could not be written, unkept a revision
	// that is written and not yet among those to go back to, unpinned one whose pin
	// could not be: all are tried again.
	unsaved  *bundles.Bundle
	unkept   string
	unpinned string
	// uncommitted is an active commit that is not written yet.
	uncommitted string
	most        int           // revisions that are kept to go back to
	keys        *bundles.Keys // one of which must have signed what is kept; nil: no signature is needed

	create func(dir, pattern string) (file, error) // where tests have disks that fail
}

// file is what a state needs of os.File.
type file interface {
	io.WriteCloser
	Sync() error
	Name() string
}

func newState(dir string) *state {
	return &state{dir: dir, create: func(dir, pattern string) (file, error) { return os.CreateTemp(dir, pattern) }}
}

// save writes the bundle, and with nil whatever could not be written before. It
// reports whether there was anything to write. A bundle is written beside the one
// that is there and put in its place when all of it is on disk: whenever the machine
// stops, one of the two is whole.
func (s *state) save(b *bundles.Bundle) (bool, error) {
	if b != nil {
		s.unsaved = nil
		if s.saved != b.Manifest.Revision {
			s.unsaved = b
		}
	}
	tried := s.pending()
	// The commit is first: one that is newer than the bundle is an error of no consequence,
	// an older one would let an older commit return.
	if err := s.saveCommit(); err != nil {
		return true, err
	}
	if b := s.unsaved; b != nil {
		if err := s.write(b); err != nil {
			return true, fmt.Errorf("keep revision %s: %w", b.Manifest.Revision, bare(err))
		}
		s.saved, s.unsaved, s.unkept = b.Manifest.Revision, nil, b.Manifest.Revision
	}
	if s.unkept != "" {
		if err := s.keep(s.unkept); err != nil {
			return true, fmt.Errorf("keep revision %s to go back to: %w", s.unkept, bare(err))
		}
		s.unkept = ""
	}
	if s.unpinned != "" {
		return true, s.pin(s.unpinned)
	}
	return tried, nil
}

// pending reports whether there is anything that could not be written before.
func (s *state) pending() bool {
	return s.unsaved != nil || s.unkept != "" || s.unpinned != "" || s.uncommitted != ""
}

func (s *state) write(b *bundles.Bundle) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	s.sweep()
	f, err := s.create(s.dir, stateFile+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when it has been put in place
	err = b.WriteTar(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, stateFile))
	}
	if err != nil {
		return err
	}
	return syncFolder(s.dir)
}

// sweep removes what a process that was killed while writing left behind.
func (s *state) sweep() {
	for _, pattern := range []string{stateFile + ".*.tmp", keptFolder + "/*.tmp", pinFile + ".tmp", commitFile + ".tmp"} {
		left, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil {
			return
		}
		for _, path := range left {
			os.Remove(path)
		}
	}
}

// syncFolder makes a rename in the folder last.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// bare takes the machine's paths out of a file error: it is shown in the status,
// to callers who need not know them.
func bare(err error) error {
	var at *fs.PathError
	var moved *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &moved):
		return moved.Err
	}
	return err
}

// openRegular opens a file without waiting: in its place could be a pipe
// without a writer, or a device that never ends.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, errors.New("not a regular file"))
	}
	return f, nil
}

// load reads the kept bundle. Without one it is fs.ErrNotExist; a file that is
// not exactly what was written is an error that names it.
func (s *state) load() (*bundles.Bundle, error) {
	f, err := openRegular(filepath.Join(s.dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("the kept %s: %w", stateFile, bare(err))
	}
	defer f.Close()
	b, err := bundles.ReadSigned(f, s.keys)
	if err != nil {
		return nil, fmt.Errorf("the kept %s: %w", stateFile, bare(err))
	}
	return b, nil
}

// keep saves what is served now, or what could not be saved before.
func (r *Reloader) keep(ctx context.Context, b *bundles.Bundle) {
	if r.state == nil || b == nil && !r.state.pending() {
		return
	}
	var tried bool
	err := progress.Do(ctx, progress.Keep, func(context.Context) (err error) {
		tried, err = r.state.save(b)
		return err
	})
	if tried && r.stateFails(err) && err != nil { // it is tried again at every look
		r.o.Logger.Error("the last good revision is not kept for a restart", "error", err)
	}
}

// stateFails shows what is wrong with the state directory; nil: nothing is. It reports
// whether that is news.
func (r *Reloader) stateFails(err error) bool {
	r.statusMu.Lock()
	news := r.status.StateError != text(err)
	r.status.StateError = text(err)
	r.statusMu.Unlock()
	r.o.Observer.StateFails(err != nil)
	return news
}

// restore serves the kept bundle, if there is one and it is whole.
func (r *Reloader) restore(ctx context.Context) {
	if r.state == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := os.Stat(filepath.Join(r.o.StateDir, stateFile)); errors.Is(err, fs.ErrNotExist) {
		return
	}
	ctx, whole := progress.Start(ctx, progress.Restore)
	b, err := r.reviveFrom(ctx, r.state.load)
	defer func() { whole.End(err) }()
	r.stateFails(err)
	now := r.o.Now()
	r.statusMu.Lock()
	if err == nil {
		r.shows(b, now)
		r.status.Ready, r.status.Degraded, r.status.Source = true, true, fromState
	}
	r.statusMu.Unlock()
	if err != nil {
		r.o.Logger.Error("the kept revision is refused", "error", err)
		return
	}
	r.state.saved = b.Manifest.Revision
	r.o.Observer.Degraded(true)
	r.o.Observer.Serves(b.Manifest.Revision)
	r.o.Logger.Warn("serving the revision kept before the restart", "revision", b.Manifest.Revision)
}

// reviveFrom reads a kept bundle and activates it.
func (r *Reloader) reviveFrom(ctx context.Context, read func() (*bundles.Bundle, error)) (b *bundles.Bundle, err error) {
	err = progress.Do(ctx, progress.Read, func(context.Context) error {
		b, err = read()
		return err
	})
	if err == nil {
		describe(progress.FromContext(ctx), b)
		err = r.revive(ctx, b)
	}
	return b, err
}

// revive activates a kept bundle as carefully as a new one.
func (r *Reloader) revive(ctx context.Context, b *bundles.Bundle) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic while activating the kept %s: %v", stateFile, cause)
		}
	}()
	return r.activate(ctx, b)
}
