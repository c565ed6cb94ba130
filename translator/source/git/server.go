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

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/writ-policy/writ/internal/progress"
)

// serverRemote is a repository on a server, reached over HTTP or SSH.
type serverRemote struct {
	url  string
	auth transport.AuthMethod
	o    *Options
	http *http.Transport
}

func (s *serverRemote) resolve(ctx context.Context, ref string) (plumbing.Hash, error) {
	if plumbing.IsHash(ref) {
		return plumbing.NewHash(ref), nil
	}
	l := newTransferLimiter(ctx, s.o)
	defer l.close()
	session, err := s.openSession(l)
	if err != nil {
		return plumbing.ZeroHash, s.describe(l, err)
	}
	defer session.Close()
	advertised, err := session.AdvertisedReferencesContext(l.ctx)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("list references: %w", s.describe(l, err))
	}
	all, err := advertised.AllReferences()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	lookup := func(name plumbing.ReferenceName) *plumbing.Reference { return all[name] }
	return findReference(lookup, ref, slices.Collect(maps.Keys(all)))
}

// openSession opens a session whose transfers l limits.
func (s *serverRemote) openSession(l *transferLimiter) (transport.UploadPackSession, error) {
	endpoint, err := transport.NewEndpoint(s.url)
	if err != nil {
		return nil, errInvalidURL
	}
	protocol, err := client.NewClient(endpoint)
	if err != nil {
		return nil, err
	}
	if endpoint.Protocol == "ssh" {
		// Twice Stall, so that the limiter ends a stalled transfer first: it records the reason.
		endpoint.Proxy.URL = stallProxyURL(2 * s.o.Stall)
	} else {
		protocol = githttp.NewClient(&http.Client{Transport: progress.Transport(&limitedRoundTripper{next: s.http, limiter: l})})
	}
	return protocol.NewUploadPackSession(endpoint, s.auth)
}

// objects fetches one commit without its history and returns its objects, and a function that
// releases them. It returns an error if the fetch fails or the pack is invalid.
func (s *serverRemote) objects(ctx context.Context, hash plumbing.Hash) (objectStore, func(), error) {
	return s.fetch(ctx, "commit", hash, func(request *packp.UploadPackRequest, supports func(capability.Capability) bool) {
		if supports(capability.Shallow) {
			request.Depth = packp.DepthCommits(1)
		}
	})
}

// history fetches the commits that base does not have. The server computes them, so a commit
// before base has none, and a server that does not know base sends the whole history.
func (s *serverRemote) history(ctx context.Context, hash, base plumbing.Hash) (objectStore, func(), error) {
	return s.fetch(ctx, "history of commit", hash, func(request *packp.UploadPackRequest, supports func(capability.Capability) bool) {
		request.Haves = []plumbing.Hash{base}
		if supports(capability.Filter) && request.Capabilities.Set(capability.Filter) == nil {
			request.Filter = packp.FilterTreeDepth(0) // commits, without their trees
		}
	})
}

// setRequest completes a request by what the server supports.
type setRequest func(request *packp.UploadPackRequest, supports func(capability.Capability) bool)

// fetch returns the objects of a request for a hash. The subject names them in errors.
func (s *serverRemote) fetch(ctx context.Context, subject string, hash plumbing.Hash, set setRequest) (objectStore, func(), error) {
	l := newTransferLimiter(ctx, s.o)
	defer l.close()
	file, err := s.fetchPack(l, hash, set)
	if err != nil {
		return nil, nil, fmt.Errorf("fetch %s %s: %w", subject, hash, s.describe(l, err))
	}
	objects, err := openPack(ctx, file, s.o)
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("fetch %s %s: %w", subject, hash, err)
	}
	return objects, func() { file.Close() }, nil
}

// fetchPack sends a request for a hash and returns a file with the pack.
func (s *serverRemote) fetchPack(l *transferLimiter, hash plumbing.Hash, set setRequest) (billy.File, error) {
	session, err := s.openSession(l)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	advertised, err := session.AdvertisedReferencesContext(l.ctx)
	if err != nil {
		return nil, err
	}
	if !canFetch(advertised, hash) {
		return nil, errors.New("no reference names the commit, and the server serves only commits of references")
	}
	request, err := newRequest(advertised, hash)
	if err != nil {
		return nil, err
	}
	set(request, advertised.Capabilities.Supports)
	response, err := session.UploadPack(l.ctx, request)
	if err != nil {
		return nil, err
	}
	body := l.limit(response, s.o.MaxFetch, "the commit")
	body.span = progress.FromContext(l.ctx) // the HTTP body below does not count, to count once
	defer body.Close()
	return storePack(s.o.Dir, demultiplex(request.Capabilities, body))
}

func newRequest(advertised *packp.AdvRefs, hash plumbing.Hash) (*packp.UploadPackRequest, error) {
	request := packp.NewUploadPackRequestFromCapabilities(advertised.Capabilities)
	request.Wants = []plumbing.Hash{hash}
	// A thin pack refers to objects that the client has; this one has none.
	request.Capabilities.Delete(capability.ThinPack)
	for _, c := range []capability.Capability{capability.Shallow, capability.NoProgress} {
		if advertised.Capabilities.Supports(c) {
			if err := request.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	return request, nil
}

// canFetch reports whether the server serves the commit: either a reference names it, or
// the server serves other commits too.
func canFetch(advertised *packp.AdvRefs, hash plumbing.Hash) bool {
	if advertised.Capabilities.Supports(capability.AllowReachableSHA1InWant) || advertised.Capabilities.Supports(capability.AllowTipSHA1InWant) {
		return true
	}
	if advertised.Head != nil && *advertised.Head == hash {
		return true
	}
	for _, tip := range advertised.References {
		if tip == hash {
			return true
		}
	}
	return false
}

// demultiplex separates the pack from progress messages of the server.
func demultiplex(capabilities *capability.List, r io.Reader) io.Reader {
	switch {
	case capabilities.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case capabilities.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

// describe returns the cause of a failed transfer in terms of the configuration. The text
// of the server is left out: it may be a page of HTML.
func (s *serverRemote) describe(l *transferLimiter, err error) error {
	err = l.cause(err)
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, transport.ErrAuthenticationRequired) && s.auth == nil:
		return errors.New("the server requires credentials, and none are configured for it")
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return errors.New("the server rejected the credentials")
	case errors.Is(err, transport.ErrRepositoryNotFound) && s.auth == nil:
		return errors.New("repository not found, or not visible without credentials")
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return errors.New("repository not found, or not visible with these credentials")
	case errors.As(err, &authority):
		return errors.New("the server's certificate is signed by an unknown authority")
	}
	return err
}

// withoutURL removes the URL from a transport error, because it may contain a password.
func withoutURL(err error) error {
	if unexpected, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		err = unexpected.Err
	}
	if status, ok := errors.AsType[*githttp.Err](err); ok {
		return fmt.Errorf("the server returned %d %s", status.StatusCode(), http.StatusText(status.StatusCode()))
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}
