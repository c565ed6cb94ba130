package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/writ-policy/writ/server/api/kubernetes"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/cluster"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/envoy"
	"github.com/writ-policy/writ/server/proofs"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// Config is the configuration of a server. Start from Defaults: the zero value is not
// valid.
type Config struct {
	// Policies are policy directories, or locations in git repositories in the form of
	// source.ParseLocation. Their union is one revision.
	Policies []string
	Bundle   BundleConfig
	Git      GitConfig
	// Every is the interval of polling a repository or a source of bundles; zero means a
	// default. PokeSecret is the file of the secret for POST /v1/poke; if it is empty,
	// the endpoint does not exist.
	Every      time.Duration
	PokeSecret string
	// Settle is how long the documents must stay unchanged before they are read. Rescan
	// is the interval of scans without file events; zero means a default.
	Settle time.Duration
	Rescan time.Duration
	// Settings take precedence over those of the policy directories.
	Settings settings.Settings
	// NoIgnore reads the files that patterns of the policy directories leave out.
	NoIgnore bool
	// AllowEmpty accepts a directory without a single policy document.
	AllowEmpty bool
	// StateDir is the directory of the last good bundles; empty means none are stored.
	// Kept is the number of revisions available for rollback; zero means a default.
	StateDir string
	Kept     int

	// Listen is the address of callers, HOST:PORT.
	Listen string
	// PublicURL is the scheme and host of the server as its callers know it, for metadata;
	// empty means those of each request.
	PublicURL string
	Envoy     EnvoyConfig
	// Admin is the listener of the administrative endpoints.
	Admin ListenerConfig
	// Metrics is the listener of /metrics and of the probes. Without it /metrics is at
	// Listen. The probes are at Listen in both cases.
	Metrics ListenerConfig
	Page    PageConfig
	// Aggregation is the listener of an aggregated API.
	Aggregation AggregationConfig
	// PageLog is how many decisions are kept in memory for the page.
	PageLog int
	TLS     TLSConfig
	Callers CallersConfig

	// RequireRoute denies requests at the gateway point, on every listener, that name no
	// route.
	RequireRoute bool
	// DecideBy is engine.DecideByOPA to have OPA evaluate the Rego of the bundle at all
	// points, or engine.DecideByCompiled.
	DecideBy string
	Clusters ClustersConfig
	Audit    AuditConfig
	Cache    CacheConfig

	Assertions AssertionsConfig
	Limits     LimitsConfig
	Timeouts   TimeoutsConfig

	// Version is the version of writ, for the status and for bundles.
	Version string
	// ReadAgain has a signal whenever the documents are to be read again; nil has none.
	ReadAgain <-chan os.Signal
	// Listening, if not nil, is called once with the address in use. It must not block.
	Listening func(net.Addr)
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
		Listen: defaultListen,
		Settle: 200 * time.Millisecond,
		Page:   PageConfig{Mode: PageAuto},
		Aggregation: AggregationConfig{
			UsernameHeaders: []string{"X-Remote-User"}, GroupHeaders: []string{"X-Remote-Group"}, ExtraHeaderPrefixes: []string{"X-Remote-Extra-"},
		},
		DecideBy:   engine.DecideByCompiled,
		PageLog:    1000,
		Callers:    CallersConfig{OIDC: auth.IssuerOptions{UsernameClaim: "sub", GroupsClaim: "groups", Refresh: time.Minute}},
		Envoy:      EnvoyConfig{Identity: envoy.DefaultIdentity, Connections: envoy.DefaultMaxConnections, ReceiveBytes: envoy.DefaultReceiveBytes},
		Assertions: AssertionsConfig{Timeout: proofs.DefaultTimeout},
		Cache:      CacheConfig{Entries: cache.DefaultEntries, Bytes: cache.DefaultBytes, VisibilityEntries: cache.DefaultEntries, VisibilityTTL: cache.DefaultTTL},
		Clusters: ClustersConfig{
			FetchTimeout: cluster.DefaultTimeout, MaxFetches: cluster.DefaultPlaces,
			SessionKey: kubernetes.DefaultSessionKey, EscalationKey: kubernetes.DefaultEscalationKey, ProbeNamespace: "writ",
		},
		Limits: LimitsConfig{
			MaxBody: 1 << 20, MaxAnswer: 8 << 20, MaxInFlight: 512, MaxValues: 20_000, MaxValuesInUse: 400_000, MaxConnections: 16_384,
			MaxStreamBytes: 96 << 20, MaxStreamBytesInUse: 128 << 20,
		},
		Timeouts: TimeoutsConfig{
			Request: 10 * time.Second, Evaluation: 2 * time.Second,
			ReadHeader: 5 * time.Second, Read: 10 * time.Second, Write: 20 * time.Second, Idle: 2 * time.Minute,
			Drain: time.Second, Grace: 20 * time.Second,
		},
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
	case len(c.Policies) == 0 && c.Bundle.Location == "":
		errs = append(errs, errors.New("a policy directory or a bundle is required"))
	case len(c.Policies) > 0 && c.Bundle.Location != "":
		errs = append(errs, errors.New("a policy directory and a bundle are mutually exclusive"))
	}
	// Keys that nothing uses are an error: the operator relies on them.
	if c.Bundle.Keys != "" && c.Bundle.Location == "" {
		errs = append(errs, errors.New("keys of bundles require a bundle: they would verify nothing"))
	}
	if c.Git.Keys != "" && c.repositories() == 0 {
		errs = append(errs, errors.New("keys of commits require a git repository: they would verify nothing"))
	}
	if c.Git.Keys != "" && c.repositories() > 1 {
		// The base that a commit must descend from is that of one repository.
		errs = append(errs, errors.New("keys of commits require that there is only one git repository"))
	}
	if c.Git.RevokedKeys != "" && c.Git.Keys == "" {
		errs = append(errs, errors.New("revoked keys of commits require allowed keys: they would verify nothing"))
	}
	if c.Git.MinCommit != "" && c.Git.Keys == "" {
		errs = append(errs, errors.New("a minimum commit requires allowed keys: it would verify nothing"))
	}
	if c.Git.MinCommit != "" && !reload.IsCommit(c.Git.MinCommit) {
		errs = append(errs, fmt.Errorf("minimum commit %q: %w", c.Git.MinCommit, reload.ErrNotCommit))
	}
	if !isOrigin(c.PublicURL) {
		errs = append(errs, fmt.Errorf("public URL %q: must be https://HOST or https://HOST:PORT", c.PublicURL))
	}
	errs = append(errs, c.checkListeners()...)
	errs = append(errs, c.checkAggregation()...)
	errs = append(errs, c.checkBounds()...)
	if c.Clusters.SessionKey == "" || c.Clusters.EscalationKey == "" || c.Clusters.SessionKey == c.Clusters.EscalationKey {
		errs = append(errs, errors.New("the keys of session and escalation must be different and not empty"))
	}
	if c.PageLog < 0 || c.PageLog > maxPageLog {
		errs = append(errs, fmt.Errorf("the decisions of the page must be from 0 to %d", maxPageLog))
	}
	if c.Timeouts.Write <= c.Timeouts.Request {
		errs = append(errs, errors.New("the write timeout must be greater than the request timeout, or responses are truncated"))
	}
	return errors.Join(errs...)
}

// maxPageLog bounds Config.PageLog: a decision takes about two kilobytes.
const maxPageLog = 100_000

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
		{"the largest body", c.Limits.MaxBody}, {"the largest answer", int64(c.Limits.MaxAnswer)}, {"the number of requests in flight", int64(c.Limits.MaxInFlight)},
		{"the number of values of a request", int64(c.Limits.MaxValues)}, {"the number of values in use", c.Limits.MaxValuesInUse},
		{"the memory of a stream", int64(c.Limits.MaxStreamBytes)}, {"the memory of streams", c.Limits.MaxStreamBytesInUse},
		{"the number of connections", int64(c.Limits.MaxConnections)},
		{"the number of connections of proxies", int64(c.Envoy.Connections)}, {"the memory for receiving checks", int64(c.Envoy.ReceiveBytes)},
		{"the time of a proof", int64(c.Assertions.Timeout)}, {"the request timeout", int64(c.Timeouts.Request)}, {"the evaluation timeout", int64(c.Timeouts.Evaluation)},
		{"the header timeout", int64(c.Timeouts.ReadHeader)}, {"the read timeout", int64(c.Timeouts.Read)},
		{"the time to keep authorizations", int64(c.Cache.VisibilityTTL)},
		{"the fetch timeout", int64(c.Clusters.FetchTimeout)}, {"the number of fetches", int64(c.Clusters.MaxFetches)},
		{"the write timeout", int64(c.Timeouts.Write)}, {"the idle timeout", int64(c.Timeouts.Idle)},
	} {
		if bound.value <= 0 {
			errs = append(errs, fmt.Errorf("%s must be positive", bound.name))
		}
	}
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"the number of cached decisions", int64(c.Cache.Entries)}, {"the memory of the cache", int64(c.Cache.Bytes)},
		{"the number of cached authorizations", int64(c.Cache.VisibilityEntries)},
		{"the largest commit", c.Git.MaxFetch},
		{"the drain time", int64(c.Timeouts.Drain)}, {"the grace period", int64(c.Timeouts.Grace)}, {"the settle time", int64(c.Settle)},
		{"the age of revisions", int64(c.Limits.MaxAge)},
	} {
		if bound.value < 0 {
			errs = append(errs, fmt.Errorf("%s must not be negative", bound.name))
		}
	}
	return errs
}
