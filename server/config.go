package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/cluster"
	"github.com/writ-policy/writ/server/envoy"
)

// Config is everything a server can be told. Begin with Defaults: a zero value
// is no working configuration.
type Config struct {
	// Policies is the policy directory.
	Policies string
	// Listen is the address, HOST:PORT.
	Listen string
	// EnvoyListen is the address of the gRPC door for Envoy's external
	// authorization, HOST:PORT; empty: there is none. It speaks TLS where Listen
	// does. EnvoyIdentity is the namespace of dynamic metadata that tells who was
	// authenticated.
	EnvoyListen   string
	EnvoyIdentity string
	// StateDir is where the last good bundle is kept; empty keeps none.
	StateDir string
	// Master is the master namespace; empty means "master".
	Master string
	// AllowEmpty serves a directory without a single policy document.
	AllowEmpty bool

	// Tokens is the file of callers' tokens; empty: nobody is authenticated.
	Tokens string
	// TLSCert and TLSKey are PEM files; both empty: plain HTTP. ClientCA, a PEM
	// file too, makes a client certificate of those authorities necessary. All
	// three are read again when they change.
	TLSCert  string
	TLSKey   string
	ClientCA string

	// Clusters is the file of clusters, read again when it changes; empty: reviews
	// may be of any cluster, and no pod is ever read.
	Clusters string
	// FetchTimeout bounds what is read from a cluster for one review, and
	// MaxFetches for how many reviews a cluster is read at a time.
	FetchTimeout time.Duration
	MaxFetches   int
	// SessionKey and EscalationKey are the keys of a review's extra that hold its
	// session and escalation.
	SessionKey    string
	EscalationKey string

	// AuditFile is where audit events are appended, and AuditWebhook the URL they
	// are posted to; empty: nowhere. The log has them always.
	AuditFile    string
	AuditWebhook string

	// CacheEntries is how many decisions are kept; zero keeps none. CacheBytes
	// is about how much memory they may take.
	CacheEntries int
	CacheBytes   int

	// VisibilityCacheEntries is how many authorizations of the visibility point are
	// kept, and VisibilityCacheTTL how long; zero entries keep none.
	VisibilityCacheEntries int
	VisibilityCacheTTL     time.Duration

	// MaxBody is the largest body, in bytes, and MaxInFlight the number of
	// requests that are answered at a time; what is beyond is refused.
	MaxBody     int64
	MaxInFlight int

	// RequestTimeout bounds a request from its body to its answer, and
	// EvaluationTimeout each evaluation in it.
	RequestTimeout    time.Duration
	EvaluationTimeout time.Duration
	// ReadHeaderTimeout, ReadTimeout, WriteTimeout and IdleTimeout bound what a
	// connection may take its time with.
	ReadHeaderTimeout time.Duration
	ReadTimeout       time.Duration
	WriteTimeout      time.Duration
	IdleTimeout       time.Duration
	// Drain is how long a server that is told to stop goes on answering while it
	// says that it is not ready, and Grace how long it then waits for requests in
	// flight.
	Drain time.Duration
	Grace time.Duration

	// Settle is how long the documents must stay unchanged before they are read,
	// Rescan how often they are looked at without any event.
	Settle time.Duration
	Rescan time.Duration

	// Version is that of writ, for the status and the bundles.
	Version string
	// Listening is called once with the address in use; nil is not. It must not
	// wait for anything.
	Listening func(net.Addr)
	// EnvoyListening is the same for the address of the door for Envoy.
	EnvoyListening func(net.Addr)
	// Logger hears what happens; nil: nobody does.
	Logger *slog.Logger
	// Now is the clock of decisions; nil means time.Now.
	Now func() time.Time
}

// DefaultListen is the address unless another is set: this machine only.
const DefaultListen = "127.0.0.1:8686"

// Defaults is a Config that lacks nothing but the policy directory.
func Defaults() Config {
	return Config{
		Listen:             DefaultListen,
		EnvoyIdentity:      envoy.DefaultIdentity,
		FetchTimeout:       cluster.DefaultTimeout,
		MaxFetches:         cluster.DefaultPlaces,
		SessionKey:         api.DefaultSessionKey,
		EscalationKey:      api.DefaultEscalationKey,
		CacheEntries:       cache.DefaultEntries,
		CacheBytes:         cache.DefaultBytes,
		VisibilityCacheTTL: cache.DefaultTTL,
		MaxBody:            1 << 20,
		MaxInFlight:        512,
		RequestTimeout:     10 * time.Second,
		EvaluationTimeout:  2 * time.Second,
		ReadHeaderTimeout:  5 * time.Second,
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       20 * time.Second,
		IdleTimeout:        2 * time.Minute,
		Drain:              time.Second,
		Grace:              20 * time.Second,
		Settle:             200 * time.Millisecond,
	}
}

// Validate says what of c cannot work together. Files are not opened.
func (c *Config) Validate() error {
	var errs []error
	if c.Policies == "" {
		errs = append(errs, errors.New("no policy directory is given"))
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("listen address %q: %w", c.Listen, err))
	}
	if _, _, err := net.SplitHostPort(c.EnvoyListen); c.EnvoyListen != "" && err != nil {
		errs = append(errs, fmt.Errorf("listen address %q for Envoy: %w", c.EnvoyListen, err))
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		errs = append(errs, errors.New("a TLS certificate and its key are given together or not at all"))
	}
	if c.ClientCA != "" && c.TLSCert == "" {
		errs = append(errs, errors.New("a client CA needs a TLS certificate and key"))
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"the largest body", c.MaxBody}, {"the number of requests in flight", int64(c.MaxInFlight)},
		{"the request timeout", int64(c.RequestTimeout)}, {"the evaluation timeout", int64(c.EvaluationTimeout)},
		{"the header timeout", int64(c.ReadHeaderTimeout)}, {"the read timeout", int64(c.ReadTimeout)},
		{"the time to keep authorizations", int64(c.VisibilityCacheTTL)},
		{"the fetch timeout", int64(c.FetchTimeout)}, {"the number of fetches", int64(c.MaxFetches)},
		{"the write timeout", int64(c.WriteTimeout)}, {"the idle timeout", int64(c.IdleTimeout)},
	} {
		if bound.value <= 0 {
			errs = append(errs, fmt.Errorf("%s must be above zero", bound.name))
		}
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"the number of cached decisions", int64(c.CacheEntries)}, {"the memory of the cache", int64(c.CacheBytes)},
		{"the number of cached authorizations", int64(c.VisibilityCacheEntries)},
		{"the drain time", int64(c.Drain)}, {"the grace period", int64(c.Grace)}, {"the settle time", int64(c.Settle)},
	} {
		if bound.value < 0 {
			errs = append(errs, fmt.Errorf("%s must not be below zero", bound.name))
		}
	}
	if c.SessionKey == "" || c.EscalationKey == "" || c.SessionKey == c.EscalationKey {
		errs = append(errs, errors.New("the keys of session and escalation must be two, and not empty"))
	}
	if c.WriteTimeout <= c.RequestTimeout {
		errs = append(errs, errors.New("the write timeout must be above the request timeout, or answers are cut off"))
	}
	return errors.Join(errs...)
}
