package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/server/api/kubernetes"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/cluster"
	"github.com/writ-policy/writ/server/envoy"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/source/git"
)

// Config is the configuration of a server. Start from Defaults: the zero value is not
// valid.
type Config struct {
	// Policies are policy directories, or locations in git repositories in the form of
	// source.ParseLocation. Their union is one revision.
	Policies []string
	// Bundle is the location of a built bundle, instead of documents: a URL, a registry
	// or a file, as in remote.Options. BundleConfig is a file with OPA's configuration
	// of services, and BundleKeys a file of keys, one of which must have signed the
	// bundle. PlainHTTP allows a registry without TLS.
	Bundle       string
	BundleConfig string
	BundleKeys   string
	Registry     remote.Credentials
	PlainHTTP    bool
	// Every is the interval of polling a repository or a source of bundles; zero means a
	// default. PokeSecret is the file of the secret for POST /v1/poke; if it is empty,
	// the endpoint does not exist.
	Every      time.Duration
	PokeSecret string
	// Git has the credentials for git servers, GitCA is a PEM file of authorities to
	// trust for them, and GitKeys a file of keys, one of which must have signed a
	// commit, and none of GitRevokedKeys. GitMaxFetch bounds a commit in bytes; zero
	// means a default.
	Git            git.Credentials
	GitCA          string
	GitKeys        string
	GitRevokedKeys string
	// GitMinCommit is the full hash of a commit that the first one to be activated must be
	// or descend from, with GitKeys; later ones must descend from the last active one.
	// Empty means any.
	GitMinCommit string
	GitMaxFetch  int64
	// Listen is the address, HOST:PORT.
	Listen string
	// EnvoyListen is the address of the gRPC listener for Envoy's external
	// authorization, HOST:PORT; empty means none. It uses TLS if Listen does.
	// RequireRoute denies requests at the gateway point, on every listener, that name no
	// route.
	RequireRoute bool
	// EnvoyIdentity is the namespace of dynamic metadata that contains the identity.
	EnvoyListen   string
	EnvoyIdentity string
	// EnvoyConnections is the maximum number of connections of that listener, and
	// EnvoyReceiveBytes the memory for messages that are being received.
	EnvoyConnections  int
	EnvoyReceiveBytes int
	// StateDir is the directory of the last good bundles; empty means none are stored.
	// Kept is the number of revisions available for rollback; zero means a default.
	StateDir string
	Kept     int
	// AdminListen is the address of the administrative endpoints, HOST:PORT; empty means
	// none. Operators are the groups that may ask there, with credentials.
	AdminListen string
	Operators   []string
	// MetricsListen is the address of /metrics and of the probes, HOST:PORT; empty means
	// that /metrics is at Listen. The probes are at Listen in both cases.
	MetricsListen string
	// Settings take precedence over those of the policy directories.
	Settings settings.Settings
	// NoIgnore reads the files that patterns of the policy directories leave out.
	NoIgnore bool
	// AllowEmpty accepts a directory without a single policy document.
	AllowEmpty bool

	// Tokens is the file of callers' tokens; empty means that there are none.
	Tokens string
	// OIDC is the OpenID Connect issuer of callers' tokens.
	OIDC auth.IssuerOptions
	// TokenReview is a kubeconfig of the API server that knows callers' tokens, or
	// in-cluster; empty means that there is none. A token must be issued for one
	// of TokenReviewAudiences; without any, for the API server.
	TokenReview          string
	TokenReviewAudiences []string
	// TLSCert and TLSKey are PEM files; empty means plain HTTP. ClientCA is a PEM file of
	// authorities, whose client certificates authenticate callers. All three are reloaded
	// when they change. RequireClientCert refuses a client without a certificate at the
	// handshake, probes included.
	TLSCert           string
	TLSKey            string
	ClientCA          string
	RequireClientCert bool

	// A listener that other machines reach requires TLS and callers' credentials.
	// InsecureListen allows it without TLS, and Anonymous without credentials, for
	// decisions alone.
	InsecureListen bool
	Anonymous      bool
	// Auditors are the groups that may see documents, diagnostics and effective policies.
	Auditors []string
	// AllowedHosts are names, beside addresses and localhost, that a loopback listener
	// answers for.
	AllowedHosts []string

	// PublicURL is the scheme and host of the server as its callers know it, for metadata;
	// empty means those of each request.
	PublicURL string

	// Clusters is the file of clusters, reloaded when it changes. Empty means that
	// reviews may name any cluster, and that no pod is fetched.
	Clusters string
	// FetchTimeout bounds fetching from a cluster for one review. MaxFetches bounds the
	// concurrent fetches from one cluster.
	FetchTimeout time.Duration
	MaxFetches   int
	// SessionKey and EscalationKey are the keys in spec.extra of a review that contain
	// the session and the escalation.
	SessionKey    string
	EscalationKey string

	// AuditFile is a file to which audit events are appended, AuditWebhook a URL to
	// which they are posted; empty means none. They are always logged.
	AuditFile    string
	AuditWebhook string

	// CacheEntries is the maximum number of cached decisions; zero disables the cache.
	// CacheBytes is approximately the memory that they may use.
	CacheEntries int
	CacheBytes   int

	// VisibilityCacheEntries is the maximum number of cached authorizations of the
	// visibility point, and VisibilityCacheTTL how long they are cached; zero entries
	// disables the cache.
	VisibilityCacheEntries int
	VisibilityCacheTTL     time.Duration

	// MaxBody is the largest request body in bytes, and MaxInFlight the maximum number
	// of concurrent requests. Requests beyond them are rejected.
	MaxBody     int64
	MaxInFlight int
	// MaxValues is the maximum number of JSON values of one request, and
	// MaxValuesInUse that of all requests together.
	MaxValues      int
	MaxValuesInUse int64
	// MaxStreamBytes bounds what a stream of items keeps for aggregations, and
	// MaxStreamBytesInUse what all streams together keep.
	MaxStreamBytes      int
	MaxStreamBytesInUse int64
	// MaxConnections is the maximum number of connections of callers.
	MaxConnections int

	// RequestTimeout bounds a request, including reading its body. EvaluationTimeout
	// bounds each evaluation.
	RequestTimeout    time.Duration
	EvaluationTimeout time.Duration
	// ReadHeaderTimeout, ReadTimeout, WriteTimeout and IdleTimeout are those of
	// http.Server.
	ReadHeaderTimeout time.Duration
	ReadTimeout       time.Duration
	WriteTimeout      time.Duration
	IdleTimeout       time.Duration
	// Drain is how long a stopping server is unready but still answers new requests.
	// Grace is how long it then waits for requests in flight.
	Drain time.Duration
	Grace time.Duration

	// Settle is how long the documents must stay unchanged before they are read. Rescan
	// is the interval of scans without file events; zero means a default.
	Settle time.Duration
	Rescan time.Duration

	// Version is the version of writ, for the status and for bundles.
	Version string
	// Listening, if not nil, is called once with the address in use. It must not block.
	Listening func(net.Addr)
	// EnvoyListening is the same for the listener for Envoy.
	EnvoyListening func(net.Addr)
	// AdminListening is the same for the listener of the administrative endpoints.
	AdminListening func(net.Addr)
	// MetricsListening is the same for the listener of metrics.
	MetricsListening func(net.Addr)
	// Logger receives log records; nil discards them.
	Logger *slog.Logger
	// Now is the clock of decisions; nil means time.Now.
	Now func() time.Time
}

// defaultListen is the default address, which is reachable on this machine only.
const defaultListen = "127.0.0.1:8686"

// Defaults returns a Config that is valid once Policies or Bundle is set.
func Defaults() Config {
	return Config{
		Listen:             defaultListen,
		OIDC:               auth.IssuerOptions{UsernameClaim: "sub", GroupsClaim: "groups", Refresh: time.Minute},
		EnvoyIdentity:      envoy.DefaultIdentity,
		EnvoyConnections:   envoy.DefaultMaxConnections,
		EnvoyReceiveBytes:  envoy.DefaultReceiveBytes,
		FetchTimeout:       cluster.DefaultTimeout,
		MaxFetches:         cluster.DefaultPlaces,
		SessionKey:         kubernetes.DefaultSessionKey,
		EscalationKey:      kubernetes.DefaultEscalationKey,
		CacheEntries:       cache.DefaultEntries,
		CacheBytes:         cache.DefaultBytes,
		VisibilityCacheTTL: cache.DefaultTTL,
		MaxBody:            1 << 20,
		MaxInFlight:        512,
		MaxValues:          20_000,
		MaxValuesInUse:     400_000,
		MaxConnections:     16_384,

		MaxStreamBytes:      96 << 20,
		MaxStreamBytesInUse: 128 << 20,

		RequestTimeout:    10 * time.Second,
		EvaluationTimeout: 2 * time.Second,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      20 * time.Second,
		IdleTimeout:       2 * time.Minute,
		Drain:             time.Second,
		Grace:             20 * time.Second,
		Settle:            200 * time.Millisecond,
	}
}

// repositories counts the sources that are git repositories.
func (c *Config) repositories() (n int) {
	for _, text := range c.Policies {
		if location, err := source.ParseLocation(text); err != nil || location.Git != nil { // openSources reports the error
			n++
		}
	}
	return n
}

// Validate returns an error for each setting that is missing, out of range or in
// conflict with another one. It does not open files.
func (c *Config) Validate() error {
	var errs []error
	switch {
	case len(c.Policies) == 0 && c.Bundle == "":
		errs = append(errs, errors.New("a policy directory or a bundle is required"))
	case len(c.Policies) > 0 && c.Bundle != "":
		errs = append(errs, errors.New("a policy directory and a bundle are mutually exclusive"))
	}
	// Keys that nothing uses are an error: the operator relies on them.
	if c.BundleKeys != "" && c.Bundle == "" {
		errs = append(errs, errors.New("keys of bundles require a bundle: they would verify nothing"))
	}
	if c.GitKeys != "" && c.repositories() == 0 {
		errs = append(errs, errors.New("keys of commits require a git repository: they would verify nothing"))
	}
	if c.GitKeys != "" && c.repositories() > 1 {
		// The base that a commit must descend from is that of one repository.
		errs = append(errs, errors.New("keys of commits require that there is only one git repository"))
	}
	if c.GitRevokedKeys != "" && c.GitKeys == "" {
		errs = append(errs, errors.New("revoked keys of commits require allowed keys: they would verify nothing"))
	}
	if c.GitMinCommit != "" && c.GitKeys == "" {
		errs = append(errs, errors.New("a minimum commit requires allowed keys: it would verify nothing"))
	}
	if c.GitMinCommit != "" && !reload.IsCommit(c.GitMinCommit) {
		errs = append(errs, fmt.Errorf("minimum commit %q: %w", c.GitMinCommit, reload.ErrNotCommit))
	}
	if !isOrigin(c.PublicURL) {
		errs = append(errs, fmt.Errorf("public URL %q: must be https://HOST or https://HOST:PORT", c.PublicURL))
	}
	errs = append(errs, c.checkListeners()...)
	errs = append(errs, c.checkBounds()...)
	if c.SessionKey == "" || c.EscalationKey == "" || c.SessionKey == c.EscalationKey {
		errs = append(errs, errors.New("the keys of session and escalation must be different and not empty"))
	}
	if c.WriteTimeout <= c.RequestTimeout {
		errs = append(errs, errors.New("the write timeout must be greater than the request timeout, or responses are truncated"))
	}
	return errors.Join(errs...)
}

// isOrigin reports whether text is empty or an https URL of a host alone.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Host != "" && text == "https://"+u.Host
}

// checkBounds returns an error for each number that is out of range.
func (c *Config) checkBounds() []error {
	var errs []error
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"the largest body", c.MaxBody}, {"the number of requests in flight", int64(c.MaxInFlight)},
		{"the number of values of a request", int64(c.MaxValues)}, {"the number of values in use", c.MaxValuesInUse},
		{"the memory of a stream", int64(c.MaxStreamBytes)}, {"the memory of streams", c.MaxStreamBytesInUse},
		{"the number of connections", int64(c.MaxConnections)},
		{"the number of connections of proxies", int64(c.EnvoyConnections)}, {"the memory for receiving checks", int64(c.EnvoyReceiveBytes)},
		{"the request timeout", int64(c.RequestTimeout)}, {"the evaluation timeout", int64(c.EvaluationTimeout)},
		{"the header timeout", int64(c.ReadHeaderTimeout)}, {"the read timeout", int64(c.ReadTimeout)},
		{"the time to keep authorizations", int64(c.VisibilityCacheTTL)},
		{"the fetch timeout", int64(c.FetchTimeout)}, {"the number of fetches", int64(c.MaxFetches)},
		{"the write timeout", int64(c.WriteTimeout)}, {"the idle timeout", int64(c.IdleTimeout)},
	} {
		if bound.value <= 0 {
			errs = append(errs, fmt.Errorf("%s must be positive", bound.name))
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
			errs = append(errs, fmt.Errorf("%s must not be negative", bound.name))
		}
	}
	return errs
}
