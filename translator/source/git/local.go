package git

import (
	"context"
	"errors"
	"fmt"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/writ-policy/writ/translator/source"
)

// localRemote is a repository in the local file system, read in place.
type localRemote struct{ path string }

func (l localRemote) open() (*filesystem.Storage, error) {
	repository, err := gogit.PlainOpenWithOptions(l.path, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", source.TrimPath(err))
	}
	opened, ok := repository.Storer.(*filesystem.Storage)
	if !ok {
		return nil, errors.New("the repository must be stored in files")
	}
	// Larger objects are streamed, so that their size is known before they fill memory.
	return filesystem.NewStorageWithOptions(opened.Filesystem(), cache.NewObjectLRUDefault(),
		filesystem.Options{LargeObjectThreshold: 1 << 20}), nil
}

// resolve reads only the references that ref can name: a broken other reference or a
// leftover lock must not matter.
func (l localRemote) resolve(_ context.Context, ref string) (plumbing.Hash, error) {
	if plumbing.IsHash(ref) {
		return plumbing.NewHash(ref), nil
	}
	storage, err := l.open()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var readErr error
	var known []plumbing.ReferenceName
	if list, err := storage.IterReferences(); err == nil {
		_ = list.ForEach(func(r *plumbing.Reference) error { known = append(known, r.Name()); return nil })
	}
	hash, err := findReference(func(name plumbing.ReferenceName) *plumbing.Reference {
		r, err := storage.Reference(name)
		if err != nil {
			if !errors.Is(err, plumbing.ErrReferenceNotFound) && readErr == nil {
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
