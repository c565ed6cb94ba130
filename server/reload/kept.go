package reload

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/bundles"
)

// Names in the state directory, in addition to stateFile.
const (
	keptFolder = "revisions"
	keptSuffix = ".tar.gz"
	pinFile    = "pinned"
)

// defaultKept is how many revisions a state directory keeps to go back to.
const defaultKept = 10

// Kept is a stored revision, the target of a rollback.
type Kept struct {
	Revision string    `json:"revision"`
	Since    time.Time `json:"since"` // when it was last activated or first stored
	Commit   string    `json:"commit,omitempty"`
	Sequence int64     `json:"sequence,omitempty"`
	// Active reports whether it is the active revision, Pinned whether no newer
	// revision is activated.
	Active bool `json:"active,omitempty"`
	Pinned bool `json:"pinned,omitempty"`
}

// ErrNotKept is the error of a rollback to a revision that is not stored.
var ErrNotKept = errors.New("no such revision is kept")

// ErrNoState is the error of rollback functions without a state directory.
var ErrNoState = errors.New("revisions are kept in a state directory, and none is configured")

// revisionForm matches revisions; other text must not be used in file names.
var revisionForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s *state) keptPath(revision string) string {
	return filepath.Join(s.dir, keptFolder, revision+keptSuffix)
}

// keep links the bundle that was just written into the folder of revisions and removes
// the oldest ones. A link needs no second copy on disk.
func (s *state) keep(revision string) error {
	folder := filepath.Join(s.dir, keptFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	path := s.keptPath(revision)
	temporary := path + ".tmp"
	os.Remove(temporary)
	if err := linkOrCopy(filepath.Join(s.dir, stateFile), temporary); err != nil {
		os.Remove(temporary) // incomplete if the disk is full
		return err
	}
	now := time.Now()
	if err := os.Chtimes(temporary, now, now); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	os.Remove(temporary) // a rename to a link of the same file does nothing
	return s.forget()
}

// linkOrCopy links a file, or copies it if the file system does not support links.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeFile(to, content)
}

// forget removes the oldest revisions beyond s.most, except the pinned one; none while it
// cannot be read which one that is.
func (s *state) forget() error {
	names, err := s.keptNames()
	if err != nil {
		return err
	}
	pinned, err := s.pinned()
	if err != nil {
		return err
	}
	var failed []error
	for _, kept := range names[min(len(names), s.most):] {
		if kept.Revision != pinned && kept.Revision != s.unpinned {
			failed = append(failed, os.Remove(s.keptPath(kept.Revision)))
		}
	}
	return errors.Join(failed...)
}

// keptNames lists the revisions on disk by file name, newest first, without reading the
// files.
func (s *state) keptNames() ([]Kept, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, keptFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	var kept []Kept
	for _, entry := range entries {
		revision, ok := strings.CutSuffix(entry.Name(), keptSuffix)
		info, err := entry.Info()
		if !ok || err != nil || !revisionForm.MatchString(revision) || !info.Mode().IsRegular() {
			continue
		}
		kept = append(kept, Kept{Revision: revision, Since: info.ModTime()})
	}
	slices.SortFunc(kept, func(a, b Kept) int {
		return cmp.Or(b.Since.Compare(a.Since), strings.Compare(a.Revision, b.Revision))
	})
	return kept, nil
}

// open reads a stored revision. It returns ErrNotKept if the revision is not stored.
func (s *state) open(revision string) (*bundles.Bundle, error) {
	if !revisionForm.MatchString(revision) {
		return nil, ErrNotKept
	}
	b, err := s.read(s.keptPath(revision))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotKept
	case err != nil:
		return nil, fmt.Errorf("revision %s: %w", revision, err)
	case b.Manifest.Revision != revision:
		return nil, fmt.Errorf("revision %s: the file holds revision %s", revision, b.Manifest.Revision)
	}
	return b, nil
}

// manifest reads the manifest of a stored bundle.
func (s *state) manifest(path string) (bundles.Manifest, error) {
	f, err := openRegular(path)
	if err != nil {
		return bundles.Manifest{}, withoutPath(err)
	}
	defer f.Close()
	return bundles.ReadManifest(f)
}

// pinned reads which revision is pinned; empty if none is.
func (s *state) pinned() (string, error) {
	revision, exists, err := s.readText(pinFile)
	if err == nil && exists && !revisionForm.MatchString(revision) {
		err = errors.New("not a revision ID")
	}
	if err != nil {
		return "", fmt.Errorf("read pin file: %w", err)
	}
	return revision, nil
}

// pin stores which revision is pinned, for restarts; empty removes the pin. If writing
// fails, save tries again.
func (s *state) pin(revision string) error {
	err := s.writePin(revision)
	if s.unpinned = ""; err != nil {
		s.unpinned = revision
	}
	return err
}

func (s *state) writePin(revision string) error {
	if revision != "" {
		if err := s.replace(pinFile, revision); err != nil {
			return fmt.Errorf("pin %s: %w", revision, withoutPath(err))
		}
		return nil
	}
	if err := s.prepare(); err != nil {
		return fmt.Errorf("remove pin file: %w", withoutPath(err))
	}
	if err := os.Remove(filepath.Join(s.dir, pinFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove pin file: %w", withoutPath(err))
	}
	return syncFolder(s.dir)
}

// replace replaces a file of one line, or leaves it as it is. A crash leaves one of both.
func (s *state) replace(name, line string) error {
	if err := s.prepare(); err != nil {
		return err
	}
	path := filepath.Join(s.dir, name)
	temporary := path + ".tmp"
	if err := writeFile(temporary, []byte(line+"\n")); err != nil {
		os.Remove(temporary)
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return syncFolder(s.dir)
}

func writeFile(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return finish(f, err)
}

// finish brings a file that was written to the disk and closes it. It returns the first error.
func finish(f file, err error) error {
	if err == nil {
		err = f.Sync()
	}
	return cmp.Or(err, f.Close())
}
