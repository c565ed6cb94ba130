package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/cluster"
	"github.com/writ-policy/writ/server/envoy"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/git"
)

// Config is everything a server can be told. Begin with Defaults: a zero value
// is no working configuration.
type Config struct {
	// Policies is the policy directory, or a place in a git repository as
	// source.ParseLocation reads it.
	Policies string
	// Bundle is where built bundles come from, in place of documents: a URL, a
	// registry or a file, as remote.Options has it. BundleConfig is OPA's
	// configuration of services, BundleKeys the keys one of which must have signed;
	// both are files. PlainHTTP allows a registry without TLS.
	Bundle       string
	BundleConfig string
	BundleKeys   string
	Registry     remote.Credentials
	PlainHTTP    bool
	// Every is how often a repository or a source of bundles is asked; zero is a
	// default. PokeSecret is the file of the secret that who pokes has to know; empty:
	// nobody can.
	Every      time.Duration
	PokeSecret string
	// Git is what to authenticate with at git servers, GitCA a PEM file of
	// authorities to trust there, GitKeys a file of keys one of which must have signed
	// a commit. GitMaxFetch bounds a commit in bytes; zero is a default.
	Git         git.Credentials
	GitCA       string
	GitKeys     string
	GitMaxFetch int64
	// Listen is the address, HOST:PORT.
	Listen string
	// EnvoyListen is the address of the gRPC door for Envoy's external
	// authorization, HOST:PORT; empty: there is none. It speaks TLS where Listen
	// does. EnvoyIdentity is the namespace of dynamic metadata that tells who was
	// authenticated.
	EnvoyListen   string
	EnvoyIdentity string
	// StateDir is where the last good bundles are kept; empty keeps none. Kept is how
	// many of them can be gone back to; zero is a default.
	StateDir string
	Kept     int
	// AdminListen is the address of the doors that change what is served, HOST:PORT;
	// empty: there are none. AdminTokens is the file of those who may.
	AdminListen string
	AdminTokens string
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
	// AdminListening is the same for the address of the operators' doors.
	AdminListening func(net.Addr)
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

func (c *Config) followsGit() bool {
	location, err := source.ParseLocation(c.Policies)
	return c.Policies != "" && (err != nil || location.Git != nil) // what is wrong with it is told where it is read
}

// Validate says what of c cannot work together. Files are not opened.
func (c *Config) Validate() error {
	var errs []error
	switch {
	case c.Policies == "" && c.Bundle == "":
		errs = append(errs, errors.New("neither a policy directory nor a bundle is given"))
	case c.Policies != "" && c.Bundle != "":
		errs = append(errs, errors.New("give a policy directory or a bundle, not both"))
	}
	// Who gives keys relies on them.
	if c.BundleKeys != "" && c.Bundle == "" {
		errs = append(errs, errors.New("keys of bundles are given, and no bundle is served: nothing would be verified by them"))
	}
	if c.GitKeys != "" && !c.followsGit() {
		errs = append(errs, errors.New("keys of commits are given, and no git repository is served: nothing would be verified by them"))
	}
	if _, _, err := net.SplitHostPort(c.AdminListen); c.AdminListen != "" && err != nil {
		errs = append(errs, fmt.Errorf("listen address %q for operators: %w", c.AdminListen, err))
	}
	if (c.AdminListen == "") != (c.AdminTokens == "") {
		errs = append(errs, errors.New("the listen address for operators and the file of their tokens are given together or not at all"))
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("listen address %q: want HOST:PORT, such as 127.0.0.1:8686, or :8686 for all addresses", c.Listen))
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
		{"the largest commit", c.GitMaxFetch},
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
