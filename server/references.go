package server

import (
	"context"
	"errors"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/git"
)

// snapshotOf reads the documents of a source at a reference of its repository.
type snapshotOf func(ctx context.Context, name string) (source.Snapshot, diag.List, error)

// reference returns what reads the references of the repository of a source, nil if its
// documents are not in one.
func (s *Server) reference(location string) snapshotOf {
	if repository := s.sources.repositories[location]; repository != nil {
		return repository.SnapshotOf
	}
	dir, ok := s.sources.directories[location]
	if !ok {
		return nil
	}
	checkout, err := git.OpenCheckout(dir)
	if err != nil {
		return nil
	}
	return func(ctx context.Context, name string) (source.Snapshot, diag.List, error) {
		commit, err := checkout.Lookup(name)
		if err != nil {
			return source.Snapshot{}, nil, err
		}
		folder, err := checkout.Folder(dir)
		if err != nil {
			return source.Snapshot{}, nil, err
		}
		return checkout.Snapshot(ctx, commit, folder, s.config.NoIgnore)
	}
}

// repositories lists the sources whose documents are in a repository.
func (s *Server) repositories() []console.Repository {
	var out []console.Repository
	if s.sources.documents == nil {
		return nil
	}
	for _, m := range s.sources.documents.Status() {
		if s.reference(m.Location) != nil {
			out = append(out, console.Repository{Source: m.Name, Location: m.Location})
		}
	}
	return out
}

// readReference reads the documents of a source at a reference, with the paths that they
// have beside those of other sources. Its error is for the caller.
func (s *Server) readReference(ctx context.Context, location, name string) (source.Snapshot, diag.List, error) {
	var none source.Snapshot
	read := s.reference(location)
	if read == nil {
		return none, nil, &console.Error{Reason: console.Invalid, Field: "ref", Message: "the documents are not in a git repository any more"}
	}
	snapshot, list, err := read(ctx, name)
	switch {
	case errors.Is(err, git.ErrBadName), errors.Is(err, git.ErrBadRevision),
		errors.Is(err, git.ErrNoFolder), errors.Is(err, git.ErrNotFolder):
		return none, nil, &console.Error{Reason: console.Invalid, Field: "ref", Message: "the git reference: " + err.Error()}
	case err != nil:
		return none, nil, console.Errorf(console.Busy, "the git reference cannot be read: %v", err)
	}
	snapshot, list = s.sources.documents.Named(location, snapshot, list)
	return snapshot, list, nil
}
