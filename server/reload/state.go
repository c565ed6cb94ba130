package reload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/writ-policy/writ/bundles"
)

// stateFile is the last good bundle, as a tarball that a stock OPA can load.
const stateFile = "bundle.tar.gz"

// state stores bundles in the state directory. It is not safe for concurrent use.
type state struct {
	dir   string
	saved string // the revision on disk; empty if unknown
	// Writes that failed and are tried again: unsaved is the active bundle, unkept a
	// revision that is not yet linked for a rollback, unpinned one whose pin is missing.
	unsaved  *bundles.Bundle
	unkept   string
	unpinned string
	// uncommitted is an active commit that is not written yet.
	uncommitted string
	// highest is the sequence number of the newest bundle, and numbered the one that is written.
	highest, numbered int64
	lock              *os.File      // held while it is open; nil until something is written
	most              int           // revisions that are kept to go back to
	keys              *bundles.Keys // one of which must have signed what is kept; nil: no signature is needed

	create func(dir, pattern string) (file, error) // replaced in tests
}

// file is the part of os.File that state uses.
type file interface {
	io.WriteCloser
	Sync() error
	Name() string
}

func newState(dir string) *state {
	return &state{dir: dir, create: func(dir, pattern string) (file, error) { return os.CreateTemp(dir, pattern) }}
}

// save writes the bundle; with nil, it repeats writes that failed before. It reports
// whether there was anything to write, and returns an error if writing fails. A bundle
// is written to a temporary file that replaces the stored one when it is complete on
// disk, so that a crash leaves one complete bundle.
func (s *state) save(b *bundles.Bundle) (bool, error) {
	if b != nil {
		s.unsaved = nil
		if s.saved != b.Manifest.Revision {
			s.unsaved = b
		}
	}
	tried := s.hasPending()
	// The commit is first: one that is newer than the bundle is an error of no consequence,
	// an older one would let an older commit return.
	if err := s.saveCommit(); err != nil {
		return true, err
	}
	if err := s.saveSequence(); err != nil { // first for the same reason
		return true, err
	}
	if b := s.unsaved; b != nil {
		if err := s.write(b); err != nil {
			return true, fmt.Errorf("keep revision %s: %w", b.Manifest.Revision, withoutPath(err))
		}
		s.saved, s.unsaved, s.unkept = b.Manifest.Revision, nil, b.Manifest.Revision
	}
	if s.unkept != "" {
		if err := s.keep(s.unkept); err != nil {
			return true, fmt.Errorf("keep revision %s to go back to: %w", s.unkept, withoutPath(err))
		}
		s.unkept = ""
	}
	if s.unpinned != "" {
		return true, s.pin(s.unpinned)
	}
	return tried, nil
}

// hasPending reports whether writes have failed and must be repeated.
func (s *state) hasPending() bool {
	return s.unsaved != nil || s.unkept != "" || s.unpinned != "" || s.uncommitted != "" || s.highest != s.numbered
}

func (s *state) write(b *bundles.Bundle) error {
	if err := s.prepare(); err != nil {
		return err
	}
	s.sweep()
	f, err := s.create(s.dir, stateFile+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // does nothing after the rename
	if err := finish(f, b.WriteTar(f)); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(s.dir, stateFile)); err != nil {
		return err
	}
	return syncFolder(s.dir)
}

// sweep removes temporary files of a process that was killed.
func (s *state) sweep() {
	for _, pattern := range []string{stateFile + ".*.tmp", keptFolder + "/*.tmp", pinFile + ".tmp", commitFile + ".tmp", sequenceFile + ".tmp"} {
		left, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil {
			return
		}
		for _, path := range left {
			os.Remove(path)
		}
	}
}

// syncFolder makes a rename in the folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// withoutPath removes paths from a file error, which the status shows to clients.
func withoutPath(err error) error {
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

// openRegular opens a regular file. It returns an error for other files, such as a pipe
// without a writer or an endless device, without blocking on them.
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

// load reads the stored bundle. It returns fs.ErrNotExist if none is stored, and an error
// that names the file if its content is not a valid bundle.
func (s *state) load() (*bundles.Bundle, error) {
	b, err := s.read(filepath.Join(s.dir, stateFile))
	if err != nil {
		return nil, fmt.Errorf("the kept %s: %w", stateFile, err)
	}
	return b, nil
}

// read reads a bundle. Its error has no path.
func (s *state) read(path string) (*bundles.Bundle, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	b, err := bundles.ReadSigned(f, s.keys)
	return b, withoutPath(err)
}

// readText reads a file of one line, and reports whether the file exists.
func (s *state) readText(name string) (text string, exists bool, err error) {
	content, err := os.ReadFile(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // writing reports the latter
		return "", false, nil
	}
	return strings.TrimSpace(string(content)), err == nil, withoutPath(err)
}
