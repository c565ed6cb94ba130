// Package serve has the command that runs the server, and the one that shows its
// configuration.
package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/bundle"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/source"
)

const serveHelp = `serve answers requests over HTTP by the documents of a directory, and reloads
them when they change. If the documents have errors, the last good revision is
still served, and /v1/status reports the errors.

  POST /v1/decisions/access, visibility, gateway
                                         requests and decisions as in writ eval
  POST /apis/authorization.k8s.io/v1/subjectaccessreviews
       (and below /clusters/{cluster})   a Kubernetes webhook authorizer
  POST /api/{version}/ns/{namespace}/subjectAccessReviews, resourceAccessReviews
                                         the Origin reviews
  GET  /api/v1/auth/policies, /api/v1/auth/permissions, /api/v1/custom-types
  POST /api/v1/auth/cache/clear          what the caller may see, for dashboards
  POST /access/v1/evaluation             OpenID AuthZEN, and its searches
  POST /v1/data/writ/access/decision     OPA's Data API
  GET  /page/                            the web console
  GET  /healthz, /readyz, /metrics, /v1/status
  GET  /v1/openapi.json                  describes all endpoints

The default address is 127.0.0.1:8686, where every user of this machine may ask.
A listener that other machines reach requires TLS (or --insecure-listen) and
credentials of callers (or --anonymous, for decisions alone): --client-ca for
certificates; --tokens, a file that maps tokens to users and groups;
--oidc-issuer, whose signed tokens name them; or --token-review, an API server
that knows the tokens of service accounts. With credentials, every endpoint but
the probes requires them; effective policies and diagnostics require a group of
--auditors.

Assertions of the documents and of --assertions state what must hold for every
request. They are verified after a revision is active; with --require-assertions
before: a revision that breaks one, or has none, is refused.

With --state-dir the last good bundle is stored, and served after a restart if
the documents have errors.

Documents may also come from git: --policies
git+https://HOST/REPOSITORY//FOLDER?ref=main reads the tree of a commit and
polls for new commits every --every, or at once when a webhook calls POST
/v1/poke with the secret of --poke-secret. With --bundle a built bundle is
served instead, from a URL, oci://REGISTRY/REPOSITORY:TAG or a file; with --keys
it must be signed. Credentials for git servers are WRIT_GIT_USER and
WRIT_GIT_PASSWORD, or --git-credentials.

--admin-listen opens administrative endpoints, by which an operator returns to
an earlier revision (writ rollback). Revisions are kept in --state-dir, and
--operators names the groups that may ask, with credentials on every address.

--clusters is a file of clusters and their kubeconfigs. With it, a review is
denied unless its cluster is listed, and the pod of an exec, attach or
portforward is fetched if a deny policy evaluates it. Without it such a review
has no pod, and the failMode of the policy decides. The companion of a cluster
with "companion: true" is probed every ten seconds, and its state is part of
/v1/status; a revision that changes it is logged. Actions of deny policies are
logged as audit events, and also written to --audit-file and posted to
--audit-webhook.

With --envoy-listen the server answers Envoy's external authorization over gRPC
by the effective policies of gateways and routes. The proxy identifies its
gateway in the context extensions of the filter: gateway (NAMESPACE/NAME),
listener, route, rule.

--aggregation-listen opens a listener for an API server, which aggregates the
API access.writ.dev: kubectl get accessiblenamespaces lists the namespaces that
the user may reach. The users are those that the API server names in its
headers; --requestheader-from-cluster reads from the cluster which certificate
it has.

On an interrupt or SIGTERM the server becomes unready, answers the requests in
flight, and exits with status 0. On SIGHUP it reads the documents again.`

const serveExamples = `  writ serve --policies policies
  writ serve --policies policies --listen :8443 --tls-cert cert.pem --tls-key key.pem \
    --tokens tokens.csv --auditors security --state-dir /var/lib/writ
  writ serve --policies 'git+https://git.example.com/platform/policies.git//prod?ref=main' \
    --git-allowed-keys signers --state-dir /var/lib/writ
  writ serve --bundle oci://registry.example.com/policies:prod --keys keys.yaml
  writ serve --policies policies --clusters clusters.yaml --audit-file audit.jsonl
  WRIT_POLICIES=/etc/writ/policies writ serve`

// New returns the command serve.
func New(s cli.Streams) *cobra.Command {
	c := server.Defaults()
	var flags documents.Flags
	logs := logOptions{level: "info", form: "text"}
	var registry bundle.RemoteFlags
	cmd := &cobra.Command{
		Use:     "serve --policies DIR [--listen ADDR] [--state-dir DIR] [--tokens FILE]",
		Short:   "Answer requests over HTTP, reloading documents when they change",
		Long:    serveHelp,
		Example: serveExamples,
		Args:    cli.NoArguments,

		Annotations: map[string]string{cli.Drains: "true"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (len(c.Policies) == 0) == (c.Bundle.Location == "") {
				return cli.Usagef(cmd, "exactly one of --policies and --bundle is required")
			}
			c.Bundle.Config, c.Bundle.Registry, c.Bundle.PlainHTTP = registry.Config, registry.Credentials(), registry.PlainHTTP
			c.Git.User, c.Git.Password = os.Getenv(cli.EnvironmentPrefix+"GIT_USER"), os.Getenv(cli.EnvironmentPrefix+"GIT_PASSWORD")
			var err error
			if c.Settings, err = flags.Settings(); err != nil {
				return err
			}
			if c.Bundle.Location != "" {
				if err := flags.CheckBundle(c.Bundle.Location); err != nil {
					return err
				}
			}
			c.AllowEmpty, c.NoIgnore = flags.AllowEmpty, flags.NoIgnore
			if !cmd.Flags().Changed("log-level") {
				logs.readEnvironment()
			}
			c.Logger = logs.logger(s.Progress)
			s.Progress.LogTo(c.Logger)
			limitMemory(c.Logger)
			return serve(cmd.Context(), c)
		},
	}
	serveFlags(cmd, &c, &logs)
	sourceFlags(cmd, &c)
	flags.Add(cmd)
	registry.Add(cmd)
	return cmd
}

func serveFlags(cmd *cobra.Command, c *server.Config, logs *logOptions) {
	f := cmd.Flags()
	f.StringArrayVar(&c.Policies, "policies", nil, "policy `directory` to serve, git+URL//FOLDER?ref=REF, or kube:CONTEXT; repeatable")
	f.StringVar(&c.Listen, "listen", c.Listen, "`address` to listen on")
	f.StringVar(&c.Envoy.Listen, "envoy-listen", "", "`address` of the gRPC listener for Envoy's external authorization; empty: none")
	f.StringVar(&c.Envoy.Identity, "envoy-identity", c.Envoy.Identity, "`namespace` of the proxy's dynamic metadata that contains the authenticated identity")
	f.IntVar(&c.Envoy.Connections, "envoy-max-connections", c.Envoy.Connections, "`number` of connections of proxies; more are closed")
	f.IntVar(&c.Envoy.ReceiveBytes, "envoy-receive-bytes", c.Envoy.ReceiveBytes, "memory for checks that are being received, in `bytes`")
	f.BoolVar(&c.RequireRoute, "require-route", false, "deny requests at the point gateway that name no route")
	cli.ChoiceFlag(cmd, &c.DecideBy, "decide-by", "`what` decides: "+engine.DecideByCompiled+" forms of the bundle's Rego where they are known, or "+engine.DecideByOPA+" alone", engine.DecideByCompiled, engine.DecideByOPA)
	f.StringVar(&c.StateDir, "state-dir", "", "`directory` in which the last good bundle is stored")
	f.StringVar(&c.TLS.Cert, "tls-cert", "", "PEM `file` of the server's certificate; enables HTTPS")
	f.StringVar(&c.TLS.Key, "tls-key", "", "PEM `file` of the certificate's key")
	cli.ChoiceFlag(cmd, &c.Page.Mode, "page", "`mode` of the web console: auto (on loopback without client certificates), on (elsewhere it requires TLS and credentials) or off", server.PageAuto, server.PageOn, server.PageOff)
	f.StringVar(&c.Page.Listen, "page-listen", "", "`address` of a listener for the web console and its endpoints, which are not at --listen then; elsewhere than on loopback it requires TLS and credentials")
	f.IntVar(&c.PageLog, "page-log", c.PageLog, "`number` of decisions kept in memory for the log of the web console; 0 keeps none")
	callerFlags(cmd, c)
	aggregationFlags(cmd, &c.Aggregation)
	f.StringVar(&c.Clusters.File, "clusters", "", "`file` of the clusters of reviews, reloaded when it changes")
	f.DurationVar(&c.Clusters.FetchTimeout, "fetch-timeout", c.Clusters.FetchTimeout, "longest `time` to fetch a pod and the labels of its namespace")
	f.IntVar(&c.Clusters.MaxFetches, "max-fetches", c.Clusters.MaxFetches, "`number` of concurrent fetches from one cluster")
	f.StringVar(&c.Clusters.ProbeNamespace, "companion-probe-namespace", c.Clusters.ProbeNamespace, "namespace, by its `name`, in which the probe of a companion would be created")
	f.StringVar(&c.Clusters.SessionKey, "session-key", c.Clusters.SessionKey, "`key` in spec.extra of a review that contains the session")
	f.StringVar(&c.Clusters.EscalationKey, "escalation-key", c.Clusters.EscalationKey, "`key` in spec.extra of a review that contains the escalation")
	f.BoolVar(&c.Assertions.Required, "require-assertions", false, "serve a revision only if it has assertions and none fails")
	f.DurationVar(&c.Assertions.Timeout, "verify-timeout", c.Assertions.Timeout, "longest `time` for verifying a revision before it is served")
	f.StringArrayVar(&c.Assertions.Files, "assertions", nil, "`file` or folder with assertions, beside those of the documents; read again when it changes; repeatable")
	f.StringVar(&c.Audit.File, "audit-file", "", "`file` to which audit events are appended, as JSON lines")
	f.StringVar(&c.Audit.DecisionLog, "decision-log", "", "`file` to which decisions are appended in OPA's format, as JSON lines")
	f.StringVar(&c.Audit.DecisionLogConfig, "decision-log-config", "", "`file` with services and decision_logs of an OPA configuration; the Rego beside it masks and drops")
	f.StringVar(&c.Audit.Webhook, "audit-webhook", "", "`URL` to which audit events are posted, as JSON lines")
	f.IntVar(&c.Cache.Entries, "cache-entries", c.Cache.Entries, "`number` of decisions to cache; 0 disables the cache")
	f.IntVar(&c.Cache.Bytes, "cache-bytes", c.Cache.Bytes, "approximate memory for cached decisions in `bytes`")
	f.IntVar(&c.Cache.VisibilityEntries, "visibility-cache-entries", c.Cache.VisibilityEntries, "`number` of authorizations to cache at the point visibility; 0 disables the cache")
	f.DurationVar(&c.Cache.VisibilityTTL, "visibility-cache-ttl", c.Cache.VisibilityTTL, "longest `time` to cache such an authorization")
	f.IntVar(&c.Limits.MaxAnswer, "max-answer", c.Limits.MaxAnswer, "largest list, and answer to who-can and what-can, in `bytes`")
	f.Int64Var(&c.Limits.MaxBody, "max-body", c.Limits.MaxBody, "largest request body in `bytes`")
	f.IntVar(&c.Limits.MaxValues, "max-values", c.Limits.MaxValues, "`number` of JSON values in a request")
	f.Int64Var(&c.Limits.MaxValuesInUse, "max-values-in-use", c.Limits.MaxValuesInUse, "`number` of JSON values in all requests together; requests beyond it are rejected")
	f.IntVar(&c.Limits.MaxStreamBytes, "max-stream-bytes", c.Limits.MaxStreamBytes, "memory that a stream of items keeps for aggregations, in `bytes`")
	f.Int64Var(&c.Limits.MaxStreamBytesInUse, "max-stream-bytes-in-use", c.Limits.MaxStreamBytesInUse, "memory that all streams together keep, in `bytes`")
	f.IntVar(&c.Limits.MaxConnections, "max-connections", c.Limits.MaxConnections, "`number` of connections; more are closed")
	f.IntVar(&c.Limits.MaxInFlight, "max-in-flight", c.Limits.MaxInFlight, "`number` of concurrent requests; more are rejected")
	f.DurationVar(&c.Timeouts.Request, "request-timeout", c.Timeouts.Request, "longest `time` for a request")
	f.DurationVar(&c.Timeouts.Evaluation, "evaluation-timeout", c.Timeouts.Evaluation, "longest `time` for an evaluation; after it the request is denied")
	f.DurationVar(&c.Timeouts.Drain, "drain", c.Timeouts.Drain, "`time` to keep answering after becoming unready on shutdown")
	f.DurationVar(&c.Timeouts.Grace, "grace", c.Timeouts.Grace, "longest `time` to wait for requests in flight on shutdown")
	f.DurationVar(&c.Limits.MaxAge, "max-age", 0, "longest `time` for which lists are answered by a revision that its source has not confirmed (0: any)")
	f.DurationVar(&c.Settle, "settle", c.Settle, "`time` without changes before the documents are read")
	f.DurationVar(&c.Rescan, "rescan", c.Rescan, "`interval` of scans for changes without file events (0: the default)")
	cli.ChoiceFlag(cmd, &logs.level, "log-level", "lowest `level` that is logged: debug, info, warn or error; without it, that of the variable LOG_LEVEL", "debug", "info", "warn", "error")
	cli.ChoiceFlag(cmd, &logs.form, "log-format", "`format` of the log: text or json", "text", "json")
}

// sourceFlags adds the flags about the sources of documents and bundles, and about
// revisions that are kept.
func sourceFlags(cmd *cobra.Command, c *server.Config) {
	f := cmd.Flags()
	f.StringVar(&c.Bundle.Location, "bundle", "", "built bundle to serve: a `URL`, oci://REGISTRY/REPOSITORY:TAG, or a file")
	f.StringVar(&c.Bundle.Keys, "keys", "", "YAML `file` of keys, one of which must have signed the bundle; reloaded when it changes")
	f.DurationVar(&c.Every, "every", 0, "`interval` of polling a repository or a source of bundles (0: the default)")
	f.StringVar(&c.PokeSecret, "poke-secret", "", "`file` of the secret for POST /v1/poke, which polls at once")
	f.StringVar(&c.Git.File, "git-credentials", "", "`file` of lines https://USER:PASSWORD@HOST for git servers")
	f.StringVar(&c.Git.SSHKey, "git-ssh-key", "", "private key `file` for git over SSH")
	f.StringVar(&c.Git.KnownHosts, "git-known-hosts", "", "known_hosts `file` of SSH servers")
	f.StringVar(&c.Git.CA, "git-ca", "", "PEM `file` of authorities to trust for git servers")
	f.StringVar(&c.Git.Keys, "git-allowed-keys", "", "`file` of SSH and PGP keys, such as allowed_signers, one of which must have signed a commit")
	f.StringVar(&c.Git.RevokedKeys, "git-revoked-keys", "", "`file` of SSH keys, none of which may have signed a commit")
	f.StringVar(&c.Git.MinCommit, "git-min-commit", "", "with --git-allowed-keys, the `COMMIT` that the first one must descend from")
	f.Int64Var(&c.Git.MaxFetch, "git-max-fetch", 0, "largest commit to fetch in `bytes`, transferred and unpacked (0: the default)")
	f.IntVar(&c.Kept, "kept-revisions", 0, "`number` of revisions kept in the state directory (0: the default)")
	f.StringVar(&c.Admin.Listen, "admin-listen", "", "`address` of the administrative endpoints, such as 127.0.0.1:8687")
	f.StringVar(&c.Metrics.Listen, "metrics-listen", "", "`address` of /metrics, which is not at --listen then, and of the probes")
}

// callerFlags adds the flags about who may ask.
func callerFlags(cmd *cobra.Command, c *server.Config) {
	f := cmd.Flags()
	f.StringVar(&c.Callers.Tokens, "tokens", "", "`file` of callers' tokens, reloaded when it changes")
	f.StringVar(&c.Callers.OIDC.URL, "oidc-issuer", "", "`URL` of the OpenID Connect issuer of callers' tokens")
	f.StringVar(&c.Callers.OIDC.Audience, "oidc-audience", "", "`name` that the issuer's tokens must be issued for")
	f.StringVar(&c.Callers.OIDC.UsernameClaim, "oidc-username-claim", c.Callers.OIDC.UsernameClaim, "`claim` of the issuer's tokens that contains the user")
	f.StringVar(&c.Callers.OIDC.UsernamePrefix, "oidc-username-prefix", "", "`text` before the users of the issuer")
	f.StringVar(&c.Callers.OIDC.GroupsClaim, "oidc-groups-claim", c.Callers.OIDC.GroupsClaim, "`claim` of the issuer's tokens that contains the groups; empty: none")
	f.StringVar(&c.Callers.OIDC.GroupsPrefix, "oidc-groups-prefix", "", "`text` before the groups of the issuer")
	f.StringVar(&c.Callers.OIDC.CA, "oidc-ca", "", "PEM `file` of authorities to trust for the issuer; empty: those of the system")
	f.DurationVar(&c.Callers.OIDC.Refresh, "oidc-refresh", c.Callers.OIDC.Refresh, "`interval` of reading the issuer's keys, after which a withdrawn key is refused")
	f.StringVar(&c.Callers.TokenReview, "token-review", "", "kubeconfig `file` of the API server that reviews callers' tokens, or in-cluster")
	f.StringSliceVar(&c.Callers.TokenReviewAudiences, "token-review-audience", nil, "`name` for one of which a reviewed token must be issued; repeatable; without it: the API server")
	f.StringVar(&c.TLS.ClientCA, "client-ca", "", "PEM `file` of the authorities that sign callers' certificates: the common name is the user, the organizations are the groups")
	f.BoolVar(&c.TLS.RequireClientCert, "require-client-cert", false, "refuse clients without a certificate at the handshake, probes included")
	f.BoolVar(&c.Callers.InsecureListen, "insecure-listen", false, "allow listeners without TLS that other machines reach")
	f.BoolVar(&c.Callers.Anonymous, "anonymous", false, "answer callers without credentials, with decisions alone")
	f.StringSliceVar(&c.Callers.Auditors, "auditors", nil, "`group` that may see documents, diagnostics, effective policies and lists; repeatable")
	f.StringSliceVar(&c.Callers.Operators, "operators", nil, "`group` that may change the active revision, at --admin-listen; repeatable")
	f.StringVar(&c.PublicURL, "public-url", "", "https `URL` of the server, without a path, in AuthZEN's metadata (default: that of each request)")
	f.StringSliceVar(&c.Callers.AllowedHosts, "allowed-host", nil, "`name` that a listener on loopback answers for, and the page on every listener, beside addresses and localhost; repeatable")
}

// aggregationFlags adds the flags of the listener that an API server aggregates.
func aggregationFlags(cmd *cobra.Command, a *server.AggregationConfig) {
	f := cmd.Flags()
	f.StringVar(&a.Listen, "aggregation-listen", "", "`address` of the aggregated API access.writ.dev, with the certificate of --tls-cert; empty: none")
	f.BoolVar(&a.FromCluster, "requestheader-from-cluster", false, "read the other --requestheader settings from the cluster, as its API server publishes them")
	f.StringVar(&a.ClientCA, "requestheader-client-ca", "", "PEM `file` of the authorities that sign the certificate of the API server at --aggregation-listen")
	f.StringSliceVar(&a.AllowedNames, "requestheader-allowed-names", nil, "common `name` that such a certificate may have; repeatable; without it: any")
	f.StringSliceVar(&a.UsernameHeaders, "requestheader-username-headers", a.UsernameHeaders, "`header` in which the API server names the user; repeatable")
	f.StringSliceVar(&a.GroupHeaders, "requestheader-group-headers", a.GroupHeaders, "`header` in which it names the groups; repeatable")
	f.StringSliceVar(&a.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", a.ExtraHeaderPrefixes, "`prefix` of headers with the extra of the user; repeatable")
}

// logOptions are the level and format of the log.
type logOptions struct{ level, form string }

// readEnvironment reads the level of LOG_LEVEL, which other programs read too: a value that
// is not a level is theirs.
func (l *logOptions) readEnvironment() {
	switch level := strings.ToLower(os.Getenv("LOG_LEVEL")); level {
	case "debug", "info", "warn", "error":
		l.level = level
	}
}

func (l logOptions) logger(w io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		panic(err) // the flag accepts only levels
	}
	o.Level = level
	if l.form == "json" {
		o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindDuration {
				a.Value = slog.Float64Value(a.Value.Duration().Seconds())
			}
			return a
		}
		return slog.New(slog.NewJSONHandler(plainWriter{w}, &o))
	}
	return slog.New(slog.NewTextHandler(w, &o))
}

// plainWriter escapes characters that act on a terminal in lines of JSON.
type plainWriter struct{ to io.Writer }

func (w plainWriter) Write(line []byte) (int, error) {
	if _, err := w.to.Write(jsontext.EscapeControls(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func serve(ctx context.Context, c server.Config) error {
	// With a state directory there may be a stored bundle to serve, even if the
	// documents are gone.
	for _, text := range c.Policies {
		location, err := source.ParseLocation(text)
		if err != nil {
			return fmt.Errorf("--policies: %w", err)
		}
		if err := documents.CheckDirectory(location.Dir); err != nil && c.StateDir == "" && location.Git == nil && location.Kube == nil {
			return err
		}
	}
	c.Version = cli.Version()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	c.ReadAgain = hangups
	s, err := server.New(c)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}
