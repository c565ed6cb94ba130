package git

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/source"
)

// reference is what a reference names.
type reference struct {
	name plumbing.ReferenceName // empty for a commit that was asked for by its hash
	hash plumbing.Hash
}

// origin is a repository documents come from.
type origin interface {
	// resolve finds what ref names; empty is HEAD.
	resolve(ctx context.Context, ref string) (reference, error)
	// objects are those of the reference, until they are closed.
	objects(ctx context.Context, ref reference) (objects objectStore, closer func(), err error)
}

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
	remote := &remoteOrigin{url: u.String(), o: &r.o}
	if remote.web, err = r.transport(); err != nil {
		return nil, err
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
	o    *Options
	web  *http.Transport
}

func (o *remoteOrigin) resolve(ctx context.Context, ref string) (reference, error) {
	if plumbing.IsHash(ref) {
		return reference{hash: plumbing.NewHash(ref)}, nil
	}
	g := newGuard(ctx, o.o)
	defer g.close()
	session, err := o.session(g)
	if err != nil {
		return reference{}, o.reason(g, err)
	}
	defer session.Close()
	offered, err := session.AdvertisedReferencesContext(g.ctx)
	if err != nil {
		return reference{}, fmt.Errorf("ask for the references: %w", o.reason(g, err))
	}
	all, err := offered.AllReferences()
	if err != nil {
		return reference{}, err
	}
	find := func(name plumbing.ReferenceName) *plumbing.Reference { return all[name] }
	return named(find, ref, slices.Collect(maps.Keys(all)))
}

// session speaks to the server, watched over by a guard.
func (o *remoteOrigin) session(g *guard) (transport.UploadPackSession, error) {
	at, err := transport.NewEndpoint(o.url)
	if err != nil {
		return nil, errors.New("the location is no URL")
	}
	speaker, err := client.NewClient(at)
	if err != nil {
		return nil, err
	}
	if at.Protocol == "ssh" {
		at.Proxy.URL = guardedDialing(2 * o.o.Stall) // the guard, which tells why, comes first
	} else {
		speaker = githttp.NewClient(&http.Client{Transport: &guardedWeb{next: o.web, guard: g}})
	}
	return speaker.NewUploadPackSession(at, o.auth)
}

func (o *remoteOrigin) objects(ctx context.Context, ref reference) (objectStore, func(), error) {
	g := newGuard(ctx, o.o)
	defer g.close()
	packed, err := o.fetch(g, ref.hash)
	if err != nil {
		return nil, nil, fmt.Errorf("fetch commit %s: %w", ref.hash, o.reason(g, err))
	}
	p, err := openPack(ctx, packed, o.o)
	if err != nil {
		packed.Close()
		return nil, nil, fmt.Errorf("fetch commit %s: %w", ref.hash, err)
	}
	return p, func() { packed.Close() }, nil
}

// fetch asks for one commit without its history, and is the pack that comes, in a
// file.
func (o *remoteOrigin) fetch(g *guard, hash plumbing.Hash) (billy.File, error) {
	session, err := o.session(g)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	offered, err := session.AdvertisedReferencesContext(g.ctx)
	if err != nil {
		return nil, err
	}
	if !offers(offered, hash) {
		return nil, errors.New("no reference names it, and the server gives no other commits")
	}
	request := packp.NewUploadPackRequestFromCapabilities(offered.Capabilities)
	request.Wants = []plumbing.Hash{hash}
	if offered.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
	}
	// What is asked for builds on nothing that is here.
	request.Capabilities.Delete(capability.ThinPack)
	for _, c := range []capability.Capability{capability.Shallow, capability.NoProgress} {
		if offered.Capabilities.Supports(c) {
			if err := request.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	answer, err := session.UploadPack(g.ctx, request)
	if err != nil {
		return nil, err
	}
	watched := g.watch(answer, o.o.MaxFetch, "the commit")
	watched.under = progress.FromContext(g.ctx) // here, and not of the HTTP around it too
	defer watched.Close()
	return storePack(o.o, unbanded(request.Capabilities, watched))
}

// offers reports whether a server gives a commit.
func offers(offered *packp.AdvRefs, hash plumbing.Hash) bool {
	if offered.Capabilities.Supports(capability.AllowReachableSHA1InWant) || offered.Capabilities.Supports(capability.AllowTipSHA1InWant) {
		return true
	}
	if offered.Head != nil && *offered.Head == hash {
		return true
	}
	for _, tip := range offered.References {
		if tip == hash {
			return true
		}
	}
	return false
}

// unbanded takes the pack out of what else a server says.
func unbanded(capabilities *capability.List, r io.Reader) io.Reader {
	switch {
	case capabilities.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case capabilities.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

// localOrigin is a repository on this machine, read where it is.
type localOrigin struct{ path string }

func (o localOrigin) open() (*filesystem.Storage, error) {
	repository, err := gogit.PlainOpenWithOptions(o.path, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", source.TrimPath(err))
	}
	opened, ok := repository.Storer.(*filesystem.Storage)
	if !ok {
		return nil, errors.New("not a repository in files")
	}
	// What is large is not taken into memory before its size is known.
	return filesystem.NewStorageWithOptions(opened.Filesystem(), cache.NewObjectLRUDefault(),
		filesystem.Options{LargeObjectThreshold: 1 << 20}), nil
}

// resolve looks at no other reference than the one it is about: what another one
// has become of, and a lock that was left, is none of its business.
func (o localOrigin) resolve(_ context.Context, ref string) (reference, error) {
	if plumbing.IsHash(ref) {
		return reference{hash: plumbing.NewHash(ref)}, nil
	}
	storage, err := o.open()
	if err != nil {
		return reference{}, err
	}
	var wrong error
	var known []plumbing.ReferenceName
	if list, err := storage.IterReferences(); err == nil {
		_ = list.ForEach(func(r *plumbing.Reference) error { known = append(known, r.Name()); return nil })
	}
	found, err := named(func(name plumbing.ReferenceName) *plumbing.Reference {
		r, err := storage.Reference(name)
		if err != nil {
			if !errors.Is(err, plumbing.ErrReferenceNotFound) && wrong == nil {
				wrong = fmt.Errorf("reference %q: %w", name, source.TrimPath(err))
			}
			return nil
		}
		return r
	}, ref, known)
	if wrong != nil {
		return reference{}, wrong
	}
	return found, err
}

func (o localOrigin) objects(context.Context, reference) (objectStore, func(), error) {
	storage, err := o.open()
	if err != nil {
		return nil, nil, err
	}
	return checkedObjects{storage, storage.EncodedObject}, func() {}, nil
}

// named finds a reference as git does: a full name, then a tag, then a branch. Where
// there is none, one of those known may have been meant.
func named(find func(plumbing.ReferenceName) *plumbing.Reference, ref string, known []plumbing.ReferenceName) (reference, error) {
	names := []string{"refs/" + ref, "refs/tags/" + ref, "refs/heads/" + ref}
	switch {
	case ref == "":
		names = []string{"HEAD"}
	case strings.HasPrefix(ref, "refs/") || ref == "HEAD":
		names = append([]string{ref}, names...)
	}
	for _, name := range names {
		const most = 5 // of references to references
		r := find(plumbing.ReferenceName(name))
		for range most {
			if r == nil || r.Type() == plumbing.HashReference {
				break
			}
			r = find(r.Target())
		}
		if r != nil && r.Type() == plumbing.HashReference {
			if r.Hash().IsZero() {
				return reference{}, fmt.Errorf("the reference %q names no commit", name)
			}
			return reference{r.Name(), r.Hash()}, nil
		}
	}
	if ref == "" {
		return reference{}, errors.New("the repository has no HEAD")
	}
	return reference{}, fmt.Errorf("the repository has no reference %q%s", ref, nearRef(known, ref))
}

// nearRef says what was probably meant.
func nearRef(known []plumbing.ReferenceName, ref string) string {
	var names []string
	for _, name := range known {
		if name.IsBranch() || name.IsTag() {
			names = append(names, name.Short())
		}
	}
	slices.Sort(names)
	if near := diag.Suggest(ref, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// reason says what ended a transfer, in words for whoever has configured the
// repository. What the server itself has to say is left out: it may be a page of HTML.
func (o *remoteOrigin) reason(g *guard, err error) error {
	err = g.reason(err)
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
	return err
}

// withoutURL takes the address out of a transport error: it is said already, and
// what libraries print of one can have a password in it.
func withoutURL(err error) error {
	var wrapped *plumbing.UnexpectedError
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var refused *githttp.Err
	if errors.As(err, &refused) {
		return fmt.Errorf("the server answers %d %s", refused.StatusCode(), http.StatusText(refused.StatusCode()))
	}
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
