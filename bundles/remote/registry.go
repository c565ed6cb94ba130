package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/rest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/internal/redirect"
)

// registryOrigin is a tag or digest of an OCI repository. The bundle is the layer that
// OPA reads.
type registryOrigin struct {
	repository *remote.Repository
	reference  string
	stall      time.Duration
}

// layerType is the media type of a bundle.
const layerType = ocispec.MediaTypeImageLayerGzip

// answerTimeout is how long a registry may take to begin an answer.
const answerTimeout = 30 * time.Second

func newRegistryOrigin(reference string, s *service, o Options) (*registryOrigin, error) {
	repository, err := openRepository(reference, s, o.Credentials, o.PlainHTTP)
	if err != nil {
		return nil, err
	}
	return &registryOrigin{repository, repository.Reference.Reference, o.Stall}, nil
}

// openRepository parses REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST.
func openRepository(reference string, s *service, c Credentials, plain bool) (*remote.Repository, error) {
	parsed, err := registry.ParseReference(reference)
	if err != nil || parsed.Reference == "" {
		return nil, errors.New("a bundle in a registry is named oci://REGISTRY/REPOSITORY:TAG or oci://REGISTRY/REPOSITORY@DIGEST")
	}
	client, err := registryClient(s, c)
	if err != nil {
		return nil, err
	}
	if s != nil {
		u, err := url.Parse(s.url)
		plain = plain || err == nil && u.Scheme == "http"
	}
	return &remote.Repository{Client: client, Reference: parsed, PlainHTTP: plain}, nil
}

// registryClient authenticates by the service or, without one, by credentials.
func registryClient(s *service, c Credentials) (*auth.Client, error) {
	client := &auth.Client{Cache: auth.NewCache()}
	if s == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = answerTimeout
		client.Client = &http.Client{Transport: progress.Transport(transport), CheckRedirect: redirect.Follow("Accept", "Range")}
		client.Credential = c.find
		return client, nil
	}
	plugin, config, err := s.authentication()
	if err != nil {
		return nil, err
	}
	plain, err := plugin.NewClient(*config)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	client.Client = &http.Client{
		Transport: preparing{plugin, progress.Transport(plain.Transport), at}, Timeout: plain.Timeout, CheckRedirect: checkRedirect(config),
	}
	return client, nil
}

// preparing lets OPA's plugin authenticate requests that have no Authorization header
// yet: tokens that the registry issued are kept. A redirect to another server than the
// service is not authenticated.
type preparing struct {
	plugin  rest.HTTPAuthPlugin
	next    http.RoundTripper
	service *url.URL
}

func (p preparing) RoundTrip(request *http.Request) (*http.Response, error) {
	isRedirected := request.Response != nil && !redirect.SameServer(request.URL, p.service)
	if request.Header.Get("Authorization") == "" && !isRedirected {
		request = request.Clone(request.Context())
		if err := p.plugin.Prepare(request); err != nil {
			return nil, err
		}
	}
	return p.next.RoundTrip(request)
}

func (r *registryOrigin) every() time.Duration { return defaultEvery }

func (r *registryOrigin) fetch(ctx context.Context, known string) (*arrival, error) {
	top, layer, err := r.find(ctx, known)
	if tag := top.Digest.String(); err == nil && tag == known {
		return &arrival{tag: tag}, nil
	}
	if err != nil {
		return nil, withoutURL(err)
	}
	if layer.Size > maxPacked {
		return nil, errTooMuch
	}
	body, err := r.repository.Blobs().Fetch(ctx, layer)
	if err != nil {
		return nil, withoutURL(err)
	}
	promised := content.NewVerifyReader(body, layer)
	return &arrival{
		tag:    top.Digest.String(),
		body:   readCloser{promised, body},
		verify: promised.Verify,
	}, nil
}

// find returns what the reference names, and the bundle's layer unless that is known.
func (r *registryOrigin) find(ctx context.Context, known string) (top, layer ocispec.Descriptor, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.stall, errTooLong)
	defer cancel()
	left := maxManifests
	if top, err = r.repository.Resolve(ctx, r.reference); err == nil && top.Digest.String() != known {
		layer, err = r.layer(ctx, top, 0, &left)
	}
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		err = errTooLong
	}
	return top, layer, err
}

type readCloser struct {
	io.Reader
	io.Closer
}

// Bounds on manifests of a registry.
const (
	maxManifest = 4 << 20
	maxDepth    = 4
	// maxManifests bounds how many manifests are read until one has a bundle.
	maxManifests = 64
)

var errManifests = fmt.Errorf("the reference names more than %d manifests without a bundle", maxManifests)

var indexTypes = []string{ocispec.MediaTypeImageIndex, "application/vnd.docker.distribution.manifest.list.v2+json"}

// layer returns the bundle's layer of a manifest, or of the first manifest in an index
// that has one. It reads at most left manifests, which it counts.
func (r *registryOrigin) layer(ctx context.Context, at ocispec.Descriptor, depth int, left *int) (ocispec.Descriptor, error) {
	none := fmt.Errorf("manifest %s has no layer of type %s", at.Digest, layerType)
	if at.Size > maxManifest || depth > maxDepth {
		return ocispec.Descriptor{}, fmt.Errorf("manifest %s is too large or too deep", at.Digest)
	}
	if *left--; *left < 0 {
		return ocispec.Descriptor{}, errManifests
	}
	encoded, err := content.FetchAll(ctx, r.repository, at)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	if slices.Contains(indexTypes, at.MediaType) {
		var index ocispec.Index
		if err := json.Unmarshal(encoded, &index); err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("manifest %s: %w", at.Digest, err)
		}
		for _, entry := range index.Manifests {
			layer, err := r.layer(ctx, entry, depth+1, left)
			if err == nil || errors.Is(err, errManifests) || ctx.Err() != nil {
				return layer, err
			}
		}
		return ocispec.Descriptor{}, none
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(encoded, &manifest); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("manifest %s: %w", at.Digest, err)
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType == layerType {
			return layer, nil
		}
	}
	return ocispec.Descriptor{}, none
}
