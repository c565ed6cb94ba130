package remote

import (
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
	DefaultEvery     = 30 * time.Second
	DefaultFileEvery = 2 * time.Second
	DefaultWait      = 30 * time.Second
	DefaultStall     = 30 * time.Second
	DefaultTimeout   = 10 * time.Minute
)

// Options say where a bundle is and how it is asked for. Either Location or a Config
// that names a bundle is needed; the rest may be zero.
type Options struct {
	// Location is https://HOST/PATH, http://HOST/PATH, oci://REGISTRY/REPOSITORY:TAG,
	// file:///PATH, or the path of a tarball or a folder.
	Location string
	// Config is OPA's configuration of services: how to authenticate.
	Config *Config
	// Keys, if set, must have signed every bundle. Verifying is called before one is
	// verified, so that keys may be read again.
	Keys      *bundles.Keys
	Verifying func()
	// Credentials are those for a registry that Config says nothing of.
	Credentials Credentials
	// PlainHTTP allows a registry without TLS.
	PlainHTTP bool
	// Every is how often the source is asked, give or take a tenth so that many
	// replicas do not ask at once. It is also as long as a failure is waited out at
	// most. Zero is DefaultEvery, for files DefaultFileEvery.
	Every time.Duration
	// Wait is how long a server that can may hold an answer back until there is a new
	// bundle. Zero is DefaultWait, negative asks for no such thing.
	Wait time.Duration
	// Stall is how long a transfer may stand still, Timeout how long one fetch may
	// take in all beyond Wait.
	Stall, Timeout time.Duration
	// Failed is told of every fetch that brought nothing, unless it was deliver that
	// refused it; nil: the log is.
	Failed func(error)
	// Current is told of every fetch that found the bundle that was taken last to be
	// the newest still.
	Current func()
	Logger  *slog.Logger
	// After and Now are the clock; nil: the machine's.
	After func(time.Duration) <-chan time.Time
	Now   func() time.Time
}

// origin is where a bundle is fetched from.
type origin interface {
	// fetch asks for the bundle unless it is still the one that had the tag known. Its
	// errors hold no secrets.
	fetch(ctx context.Context, known string) (*arrival, error)
	// every is how often to ask where nobody said.
	every() time.Duration
}

// arrival is the answer of an origin.
type arrival struct {
	// tag names this bundle among those of the origin; empty where it does not say.
	tag string
	// body is a tarball, folder a folder; without either the bundle is the known one.
	body   io.ReadCloser
	folder string
	// verify, if set, tells after the body's end whether it was the one promised.
	verify func() error
	// held says that the origin holds its answers until there is something new.
	held bool
}

func (o Options) defaults() Options {
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if o.Stall <= 0 {
		o.Stall = DefaultStall
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.Current == nil {
		o.Current = func() {}
	}
	if o.Verifying == nil {
		o.Verifying = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
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

// origin finds out what kind of place the location is, and its name for logs.
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
			return nil, "", errors.New("the location is no URL") // the error would quote it, and what may be a password
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
