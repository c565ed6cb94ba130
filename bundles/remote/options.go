package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/writ-policy/writ/bundles"
)

// The defaults of Options.
const (
	defaultEvery     = 30 * time.Second
	defaultFileEvery = 2 * time.Second
	defaultWait      = 30 * time.Second
	defaultStall     = 30 * time.Second
	defaultTimeout   = 10 * time.Minute
)

// Options state where a bundle is and how it is fetched. Location, or a Config that
// names a bundle, is required; the rest may be zero.
type Options struct {
	// Location is https://HOST/PATH, http://HOST/PATH, oci://REGISTRY/REPOSITORY:TAG,
	// file:///PATH, or the path of a tarball or a folder.
	Location string
	// Config is OPA's configuration of services: how to authenticate.
	Config *Config
	// Keys, if set, must include the key that signed a bundle. Verifying is called
	// before each verification, so that keys can be read again.
	Keys      *bundles.Keys
	Verifying func()
	// Credentials are used for a registry that is not a service of Config.
	Credentials Credentials
	// PlainHTTP allows a registry without TLS.
	PlainHTTP bool
	// Every is the polling interval. It varies by a tenth either way, so that
	// replicas do not poll at once. It also bounds the backoff after failures. Zero
	// is defaultEvery, for files defaultFileEvery.
	Every time.Duration
	// Wait is how long a server that supports long polling may hold its answer. Zero
	// is defaultWait; a negative value turns long polling off.
	Wait time.Duration
	// Stall is how long a transfer may take for 16 KiB, and the manifests of a registry in
	// total; Timeout how long one fetch may take in total, not counting Wait.
	Stall, Timeout time.Duration
	// Failed is called with the error of each failed fetch, but not with an error of
	// deliver. Nil logs the error.
	Failed func(error)
	// Current is called after each fetch that finds the last delivered bundle
	// unchanged.
	Current func()
	Logger  *slog.Logger
	// After and Now are the clock; nil is the system's.
	After func(time.Duration) <-chan time.Time
	Now   func() time.Time
}

// origin is where a bundle is fetched from.
type origin interface {
	// fetch requests the bundle unless its tag is still known. Its errors contain no
	// secrets.
	fetch(ctx context.Context, known string) (*arrival, error)
	// every is the default polling interval.
	every() time.Duration
}

// arrival is the answer of an origin.
type arrival struct {
	// tag identifies this bundle at the origin; empty if the origin gives none.
	tag string
	// body is a tarball, folder the path of a folder. If both are empty, the bundle
	// has not changed.
	body   io.ReadCloser
	folder string
	// verify, if set, checks after the end of the body that it has the announced
	// digest.
	verify func() error
	// held reports whether the origin holds its answers until there is a new bundle.
	held bool
}

func (o Options) defaults() Options {
	o.Wait = cmp.Or(o.Wait, defaultWait)
	o.Stall = cmp.Or(max(o.Stall, 0), defaultStall)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	if o.Current == nil {
		o.Current = func() {}
	}
	if o.Verifying == nil {
		o.Verifying = func() {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Failed == nil {
		log := o.Logger
		o.Failed = func(err error) { log.Warn("no bundle", "error", err) }
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// origin returns the origin of the location, and the location as logs show it.
func (o Options) origin() (origin, string, error) {
	service, location, err := o.Config.resolve(o.Location)
	if err != nil {
		return nil, "", err
	}
	scheme, rest, ok := strings.Cut(location, "://")
	if !ok {
		return &fileOrigin{path: location}, location, nil
	}
	switch scheme {
	case "oci":
		origin, err := newRegistryOrigin(rest, service, o)
		return origin, location, err
	case "file":
		u, err := url.Parse(location)
		if err != nil || u.Host != "" || u.Path == "" {
			return nil, "", errors.New("a file's location is file:///PATH")
		}
		return &fileOrigin{path: u.Path}, location, nil
	case "https", "http":
		u, err := url.Parse(location)
		if err != nil || u.Host == "" {
			return nil, "", errors.New("the location is not a URL") // the error would quote it, and what may be a password
		}
		if u.User != nil {
			return nil, "", errors.New("user and password do not belong into a location; give OPA's configuration of a service")
		}
		shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String() // a signed query is a secret
		origin, err := newHTTPOrigin(location, service, o)
		return origin, shown, err
	}
	return nil, "", fmt.Errorf("a bundle comes from https, http, oci or a file, not %q", scheme)
}

// maxPacked bounds what is transferred of a bundle.
const maxPacked = 1 << 30
