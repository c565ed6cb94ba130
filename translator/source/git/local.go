package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/writ-policy/writ/translator/source"
)

// localRemote is a repository in the local file system, read in place.
type localRemote struct{ path string }

func (l localRemote) open() (localStorage, error) {
	storage, err := openLocal(l.path)
	if err != nil {
		return storage, fmt.Errorf("open the repository: %w", err)
	}
	return storage, nil
}

func (l localRemote) resolve(_ context.Context, ref string) (plumbing.Hash, error) {
	if plumbing.IsHash(ref) {
		return plumbing.NewHash(ref), nil
	}
	storage, err := l.open()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return storage.find(ref)
}

// find returns the hash that ref names. It reads only the references that ref can name: a
// broken other reference or a leftover lock must not matter.
func (s localStorage) find(ref string) (plumbing.Hash, error) {
	var readErr error
	var known []plumbing.ReferenceName
	if list, err := s.IterReferences(); err == nil {
		_ = list.ForEach(func(r *plumbing.Reference) error { known = append(known, r.Name()); return nil })
	}
	hash, err := findReference(func(name plumbing.ReferenceName) *plumbing.Reference {
		r, err := s.Reference(name)
		if err != nil {
			if !errors.Is(err, plumbing.ErrReferenceNotFound) && !errors.Is(err, dotgit.ErrIsDir) && readErr == nil {
				readErr = fmt.Errorf("reference %q: %w", name, source.TrimPath(err))
			}
			return nil
		}
		return r
	}, ref, known)
	if readErr != nil {
		return plumbing.ZeroHash, readErr
	}
	return hash, err
}

func (l localRemote) objects(context.Context, plumbing.Hash) (objectStore, func(), error) {
	storage, err := l.open()
	if err != nil {
		return nil, nil, err
	}
	return checkedObjects{storage, storage.EncodedObject}, func() {}, nil
}

// history returns all objects: they are here.
func (l localRemote) history(ctx context.Context, hash, _ plumbing.Hash) (objectStore, func(), error) {
	return l.objects(ctx, hash)
}
