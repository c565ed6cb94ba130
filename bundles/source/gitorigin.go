package source

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/writ-policy/writ/bundles/phase"
	"github.com/writ-policy/writ/translator/diag"
)

// objectStore is where commits, trees and blobs are read from.
type objectStore = storer.EncodedObjectStorer

// reference is what a reference names.
type reference struct {
	name plumbing.ReferenceName // empty for a commit that was asked for by its hash
	hash plumbing.Hash
}

// origin is a repository documents come from.
type origin interface {
	// resolve finds what ref names; empty is HEAD.
	resolve(ctx context.Context, ref string) (reference, error)
	// objects are those of the reference, brought into folder if they are elsewhere.
	objects(ctx context.Context, folder string, ref reference) (objectStore, error)
}

// fetchedRef is the name that what was fetched gets here.
const fetchedRef = "refs/writ/fetched"

func (r *Repository) origin() (origin, error) {
	u, err := url.Parse(r.o.Location.URL)
	if err != nil {
		return nil, errors.New("the location is no URL")
	}
	if u.Scheme == "file" {
		return localOrigin{u.Path}, nil
	}
	if u.Scheme == "ssh" && u.User == nil {
		u.User = url.User("git")
		if r.o.Location.User != "" {
			u.User = url.User(r.o.Location.User)
		}
	}
	remote := &remoteOrigin{url: u.String()}
	if r.o.CABundle != nil {
		if remote.ca, err = r.o.CABundle(); err != nil {
			return nil, err
		}
	}
	if r.o.Credentials != nil {
		if remote.auth, err = r.o.Credentials(r.o.Location); err != nil {
			return nil, fmt.Errorf("find credentials: %w", err)
		}
	}
	return remote, nil
}

// remoteOrigin is a repository behind a server.
type remoteOrigin struct {
	url  string
	auth transport.AuthMethod
	ca   []byte
}

func (o *remoteOrigin) resolve(ctx context.Context, ref string) (reference, error) {
	if plumbing.IsHash(ref) {
		return reference{hash: plumbing.NewHash(ref)}, nil
	}
	remote := gogit.NewRemote(memory.NewStorage(), &config.RemoteConfig{Name: "origin", URLs: []string{o.url}})
	list, err := remote.ListContext(ctx, &gogit.ListOptions{Auth: o.auth, CABundle: o.ca})
	if err != nil {
		return reference{}, o.plain(err)
	}
	return named(list, ref)
}

func (o *remoteOrigin) objects(ctx context.Context, folder string, ref reference) (objectStore, error) {
	storage := &countedStorage{
		filesystem.NewStorage(osfs.New(folder, osfs.WithBoundOS()), cache.NewObjectLRUDefault()), phase.From(ctx),
	}
	remote := gogit.NewRemote(storage, &config.RemoteConfig{Name: "origin", URLs: []string{o.url}})
	wanted := ref.name.String()
	if ref.name == "" {
		wanted = ref.hash.String()
	}
	err := remote.FetchContext(ctx, &gogit.FetchOptions{
		RefSpecs: []config.RefSpec{config.RefSpec("+" + wanted + ":" + fetchedRef)},
		Depth:    1, Tags: gogit.NoTags, Auth: o.auth, CABundle: o.ca,
	})
	if err != nil && !errors.Is(err, gogit.NoErrAlreadyUpToDate) {
		return nil, o.plain(err)
	}
	// Between looking and fetching the reference may have moved; what came then is
	// another commit than the one that was to be read.
	if got, err := storage.Reference(fetchedRef); err != nil || got.Hash() != ref.hash {
		return nil, errors.New("the reference moved while it was fetched")
	}
	return storage, nil
}

// countedStorage counts what is fetched into it. What a server says of its progress
// is not asked for: its words would be shown to whoever looks at a terminal.
type countedStorage struct {
	*filesystem.Storage
	under *phase.Phase
}

func (s *countedStorage) PackfileWriter() (io.WriteCloser, error) {
	w, err := s.Storage.PackfileWriter()
	return &countedPack{w, s.under}, err
}

type countedPack struct {
	io.WriteCloser
	under *phase.Phase
}

func (p *countedPack) Write(content []byte) (int, error) {
	n, err := p.WriteCloser.Write(content)
	p.under.Count(int64(n), "bytes")
	return n, err
}

// localOrigin is a repository on this machine, read where it is.
type localOrigin struct{ path string }

func (o localOrigin) open() (*gogit.Repository, error) {
	repository, err := gogit.PlainOpenWithOptions(o.path, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil {
		return nil, bare(err)
	}
	return repository, nil
}

func (o localOrigin) resolve(_ context.Context, ref string) (reference, error) {
	if plumbing.IsHash(ref) {
		return reference{hash: plumbing.NewHash(ref)}, nil
	}
	repository, err := o.open()
	if err != nil {
		return reference{}, err
	}
	all, err := repository.References()
	if err != nil {
		return reference{}, err
	}
	var list []*plumbing.Reference
	if err := all.ForEach(func(r *plumbing.Reference) error { list = append(list, r); return nil }); err != nil {
		return reference{}, err
	}
	return named(list, ref)
}

func (o localOrigin) objects(context.Context, string, reference) (objectStore, error) {
	repository, err := o.open()
	if err != nil {
		return nil, err
	}
	return repository.Storer, nil
}

// named finds a reference in a list as git does: a full name, then a tag, then a
// branch.
func named(list []*plumbing.Reference, ref string) (reference, error) {
	names := []string{ref, "refs/" + ref, "refs/tags/" + ref, "refs/heads/" + ref}
	if ref == "" {
		names = []string{"HEAD"}
	}
	byName := make(map[plumbing.ReferenceName]*plumbing.Reference, len(list))
	for _, r := range list {
		byName[r.Name()] = r
	}
	for _, name := range names {
		const most = 5 // of references to references
		r := byName[plumbing.ReferenceName(name)]
		for range most {
			if r == nil || r.Type() == plumbing.HashReference {
				break
			}
			r = byName[r.Target()]
		}
		if r != nil && r.Type() == plumbing.HashReference {
			return reference{r.Name(), r.Hash()}, nil
		}
	}
	if ref == "" {
		return reference{}, errors.New("the repository has no HEAD")
	}
	return reference{}, fmt.Errorf("the repository has no reference %q%s", ref, nearRef(list, ref))
}

// nearRef says what was probably meant.
func nearRef(list []*plumbing.Reference, ref string) string {
	var known []string
	for _, r := range list {
		if r.Name().IsBranch() || r.Name().IsTag() {
			known = append(known, r.Name().Short())
		}
	}
	slices.Sort(known)
	if near := diag.Suggest(ref, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// plain says what a server's answer means for whoever has configured the repository.
// What the server itself has to say is left out: it may be a page of HTML.
func (o *remoteOrigin) plain(err error) error {
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, transport.ErrAuthenticationRequired) && o.auth == nil:
		return errors.New("the server wants credentials, and there are none for it")
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return errors.New("the server refuses the credentials")
	case errors.Is(err, transport.ErrRepositoryNotFound) && o.auth == nil:
		return errors.New("there is no such repository, or none that can be seen without credentials")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return errors.New("there is no such repository, or none that can be seen by these credentials")
	case errors.As(err, &authority):
		return errors.New("the server's certificate is of an authority that is not trusted here")
	}
	return withoutURL(err)
}

// withoutURL takes the address out of a transport error: it is said already, and
// what libraries print of one can have a password in it.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", strings.ToLower(at.Op), at.Err)
	}
	return err
}
