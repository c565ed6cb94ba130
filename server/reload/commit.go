package reload

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/writ-policy/writ/bundles"
)

// commitFile is the commit of the last active documents.
const commitFile = "commit"

// commitForm is the form of a commit, which a source of documents may have.
var commitForm = regexp.MustCompile(`^[0-9a-f]{40}$`)

// ErrNotCommit reports a text that is not the full hash of a commit.
var ErrNotCommit = errors.New("must be the full hash of a commit, 40 hexadecimal digits in lower case")

// IsCommit reports whether text is the full hash of a commit.
func IsCommit(text string) bool { return commitForm.MatchString(text) }

// LastCommit returns the commit of the last active documents, also of those before a restart
// and of a rollback, or the one that was accepted since; empty if no commit is known. It returns
// an error if the state directory has one that cannot be read. It may be called while a
// reload is in progress.
func (r *Reloader) LastCommit() (string, error) {
	if commit := r.commit.Load(); commit != nil {
		return *commit, nil
	}
	if r.state == nil {
		return "", nil
	}
	commit, err := r.state.readCommit()
	if err == nil && commit != "" {
		r.commit.CompareAndSwap(nil, &commit)
	}
	return commit, err
}

// Accept makes a commit the last active one, so that it and its descendants may be read, and
// reads the documents. It returns ErrNotCommit if the text is not a commit, and an error if
// it cannot be written to the state directory, which changes nothing, or if the documents
// cannot be activated.
func (r *Reloader) Accept(ctx context.Context, commit string) error {
	if !IsCommit(commit) {
		return ErrNotCommit
	}
	r.mu.Lock()
	var err error
	if r.state != nil {
		err = r.state.writeCommit(commit)
	}
	if err == nil {
		r.commit.Store(&commit)
		r.o.Logger.Warn("commit accepted", "commit", commit)
	}
	r.mu.Unlock()
	switch {
	case err != nil:
		return err
	case r.o.Source == nil:
		return nil
	}
	return r.Reload(ctx)
}

// activeCommit records that documents of a commit are active. r.mu is held. A commit that is read
// again does not replace one that was accepted meanwhile.
func (r *Reloader) activeCommit(commit string) {
	if r.pinned == "" && commit != r.readCommit {
		r.readCommit = commit
		r.setCommit(commit)
	}
}

// rolledBack records the commit of a revision that is active by a rollback. r.mu is held.
func (r *Reloader) rolledBack(b *bundles.Bundle) error {
	r.readCommit = ""
	r.setCommit(b.Manifest.Metadata.Commit)
	return r.state.saveCommit()
}

func (r *Reloader) setCommit(commit string) {
	if r.o.Source == nil || !IsCommit(commit) {
		return
	}
	r.commit.Store(&commit)
	if r.state != nil {
		r.state.uncommitted = commit
	}
}

// readCommit returns the stored commit, empty if none is stored.
func (s *state) readCommit() (string, error) {
	commit, exists, err := s.readText(commitFile)
	if err == nil && exists && !IsCommit(commit) {
		err = ErrNotCommit
	}
	if err != nil {
		return "", fmt.Errorf("read the last active commit: %w", err)
	}
	return commit, nil
}

// saveCommit writes the commit that is not written yet, if there is one.
func (s *state) saveCommit() error {
	if s.uncommitted == "" {
		return nil
	}
	return s.writeCommit(s.uncommitted)
}

func (s *state) writeCommit(commit string) error {
	if err := s.replace(commitFile, commit); err != nil {
		return fmt.Errorf("write the active commit: %w", withoutPath(err))
	}
	s.uncommitted = ""
	return nil
}
