package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/server"
	"github.com/writ-policy/writ/translator/source"
)

const serveHelp = `serve answers over HTTP by the documents of a directory, and reads them again when
they change. What does not compile changes no answer: the last good revision is
served on, and /v1/status says why.

  POST /v1/decisions/access, visibility, gateway
                                         request and decision as in writ eval
  POST /apis/authorization.k8s.io/v1/subjectaccessreviews
       (and below /clusters/{cluster})   a Kubernetes webhook authorizer
  POST /api/{version}/ns/{namespace}/subjectAccessReviews, resourceAccessReviews
                                         the Origin reviews
  GET  /api/v1/auth/policies, /api/v1/auth/permissions, /api/v1/custom-types
  POST /api/v1/auth/cache/clear          what the caller may see, and why
  GET  /healthz, /readyz, /metrics, /v1/status

It listens on this machine only unless --listen says otherwise. Questions about
the caller himself need --tokens, a file of tokens and whose they are. With
--state-dir the last good bundle outlives a restart with broken documents.

Documents may also come from git: --policies git+https://HOST/REPOSITORY//FOLDER?ref=main
reads a commit's tree, asks again every --every, and at once when a webhook pokes
POST /v1/poke with the secret of --poke-secret. With --bundle a built bundle is
served instead, from a URL, oci://REGISTRY/REPOSITORY:TAG or a file; with --keys it
has to be signed. WRIT_GIT_USER and WRIT_GIT_PASSWORD, or --git-credentials, are for
git servers.

--admin-listen opens the doors by which an operator goes back to an earlier revision
(writ rollback): revisions are kept in --state-dir, and --admin-tokens says who may.

With --clusters, a file of clusters and how to reach them, a review is denied
unless its cluster is listed, and the pod behind exec, attach and portforward is
read where a deny policy judges it. Without, such a review has no pod, and the
policy's failMode decides. What deny policies did is in the log as audit events,
and with --audit-file and --audit-webhook elsewhere too.

With --envoy-listen it answers Envoy's external authorization over gRPC by the
effective policies of gateways and routes. The proxy says which gateway it is in
the filter's context extensions: gateway (NAMESPACE/NAME), listener, route, rule.

On an interrupt or SIGTERM the server says that it is not ready, answers what it
has begun, and ends with exit status 0.`

const serveExamples = `  writ serve --policies policies
  writ serve --policies policies --listen :8443 --tls-cert cert.pem --tls-key key.pem \
    --tokens tokens.csv --state-dir /var/lib/writ
  writ serve --policies 'git+https://git.example.com/platform/policies.git//prod?ref=main' \
    --git-allowed-keys signers --state-dir /var/lib/writ
  writ serve --bundle oci://registry.example.com/policies:prod --keys keys.yaml
  writ serve --policies policies --clusters clusters.yaml --audit-file audit.jsonl
  WRIT_POLICIES=/etc/writ/policies writ serve`

func newServe(s streams) *cobra.Command {
	c := server.Defaults()
	c.Master = "master"
	logs := logOptions{level: "info", form: "text"}
	var registry remoteFlags
	cmd := &cobra.Command{
		Use:     "serve --policies DIR [--listen ADDR] [--state-dir DIR] [--tokens FILE]",
		Short:   "Answer over HTTP, reloading the documents when they change",
		Long:    serveHelp,
		Example: serveExamples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (c.Policies == "") == (c.Bundle == "") {
				return usagef(cmd, "give one of --policies, the documents to serve, and --bundle, a built bundle")
			}
			c.BundleConfig, c.Registry, c.PlainHTTP = registry.config, registry.credentials(), registry.plainHTTP
			c.Git.User, c.Git.Password = os.Getenv(environmentPrefix+"GIT_USER"), os.Getenv(environmentPrefix+"GIT_PASSWORD")
			c.Logger = logs.logger(s.told)
			s.told.logs(c.Logger)
			return serve(cmd.Context(), c)
		},
	}
	serveFlags(cmd, &c, &logs)
	sourceFlags(cmd, &c)
	registry.add(cmd)
	return cmd
}

func serveFlags(cmd *cobra.Command, c *server.Config, logs *logOptions) {
	f := cmd.Flags()
	f.StringVar(&c.Policies, "policies", "", "policy `directory` to serve, or git+URL//FOLDER?ref=REF")
	f.StringVar(&c.Listen, "listen", c.Listen, "`address` to listen on")
	f.StringVar(&c.EnvoyListen, "envoy-listen", "", "`address` of the gRPC door for Envoy's external authorization; empty: none")
	f.StringVar(&c.EnvoyIdentity, "envoy-identity", c.EnvoyIdentity, "`namespace` of the proxy's dynamic metadata that tells who was authenticated")
	f.StringVar(&c.StateDir, "state-dir", "", "`directory` where the last good bundle is kept")
	f.StringVar(&c.Master, "master-namespace", c.Master, "`namespace` whose Origin roles and bindings reach every namespace")
	f.BoolVar(&c.AllowEmpty, "allow-empty", false, "accept a directory without a single policy document")
	f.StringVar(&c.Tokens, "tokens", "", "`file` of callers' tokens, read again when it changes")
	f.StringVar(&c.TLSCert, "tls-cert", "", "PEM `file` of the server's certificate; HTTPS only then")
	f.StringVar(&c.TLSKey, "tls-key", "", "PEM `file` of its key")
	f.StringVar(&c.ClientCA, "client-ca", "", "PEM `file` of authorities, one of which must have signed a caller's certificate")
	f.StringVar(&c.Clusters, "clusters", "", "`file` of the clusters that reviews may be of, read again when it changes")
	f.DurationVar(&c.FetchTimeout, "fetch-timeout", c.FetchTimeout, "longest `time` to read a pod and the labels of its namespace")
	f.IntVar(&c.MaxFetches, "max-fetches", c.MaxFetches, "`number` of reviews that one cluster is read for at a time")
	f.StringVar(&c.SessionKey, "session-key", c.SessionKey, "`key` of a review's extra that holds the session")
	f.StringVar(&c.EscalationKey, "escalation-key", c.EscalationKey, "`key` of a review's extra that holds the escalation")
	f.StringVar(&c.AuditFile, "audit-file", "", "`file` to which audit events are appended, as JSON lines")
	f.StringVar(&c.AuditWebhook, "audit-webhook", "", "`URL` to which audit events are posted, as JSON lines")
	f.IntVar(&c.CacheEntries, "cache-entries", c.CacheEntries, "`number` of decisions to keep; 0 keeps none")
	f.IntVar(&c.CacheBytes, "cache-bytes", c.CacheBytes, "memory that kept decisions may take, about, in `bytes`")
	f.IntVar(&c.VisibilityCacheEntries, "visibility-cache-entries", c.VisibilityCacheEntries, "`number` of authorizations to keep at the point visibility; 0 keeps none")
	f.DurationVar(&c.VisibilityCacheTTL, "visibility-cache-ttl", c.VisibilityCacheTTL, "longest `time` to keep such an authorization")
	f.Int64Var(&c.MaxBody, "max-body", c.MaxBody, "largest request body in `bytes`")
	f.IntVar(&c.MaxInFlight, "max-in-flight", c.MaxInFlight, "`number` of requests answered at a time; more are refused")
	f.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout, "longest `time` for a request")
	f.DurationVar(&c.EvaluationTimeout, "evaluation-timeout", c.EvaluationTimeout, "longest `time` for an evaluation, which denies after it")
	f.DurationVar(&c.Drain, "drain", c.Drain, "`time` to go on answering after saying not to be ready")
	f.DurationVar(&c.Grace, "grace", c.Grace, "longest `time` to wait for requests in flight at the end")
	f.DurationVar(&c.Settle, "settle", c.Settle, "`time` for which the documents must stay unchanged before they are read")
	f.DurationVar(&c.Rescan, "rescan", c.Rescan, "how often the documents are looked at without any event (0: a default `time`)")
	f.Var(&choice{&logs.level, []string{"debug", "info", "warn", "error"}}, "log-level", "least `level` that is logged: debug, info, warn or error")
	f.Var(&choice{&logs.form, []string{"text", "json"}}, "log-format", "`form` of the log: text or json")
	complete(cmd, "log-level", "debug", "info", "warn", "error")
	complete(cmd, "log-format", "text", "json")
}

// sourceFlags are those of where what is served comes from, and what is kept of it.
func sourceFlags(cmd *cobra.Command, c *server.Config) {
	f := cmd.Flags()
	f.StringVar(&c.Bundle, "bundle", "", "built bundle to serve: a `URL`, oci://REGISTRY/REPOSITORY:TAG, or a file")
	f.StringVar(&c.BundleKeys, "keys", "", "YAML `file` of the keys, one of which must have signed a bundle, read again when it changes")
	f.DurationVar(&c.Every, "every", 0, "how often a repository or a source of bundles is asked (0: a default `time`)")
	f.StringVar(&c.PokeSecret, "poke-secret", "", "`file` of the secret by which webhooks make it be asked at once")
	f.StringVar(&c.Git.File, "git-credentials", "", "`file` of lines https://USER:PASSWORD@HOST for git servers")
	f.StringVar(&c.Git.SSHKey, "git-ssh-key", "", "private key `file` for git over SSH")
	f.StringVar(&c.Git.KnownHosts, "git-known-hosts", "", "`file` of the keys of SSH hosts")
	f.StringVar(&c.GitCA, "git-ca", "", "PEM `file` of authorities to trust at git servers")
	f.StringVar(&c.GitKeys, "git-allowed-keys", "", "`file` of SSH and PGP keys, one of which must have signed a commit")
	f.Int64Var(&c.GitMaxFetch, "git-max-fetch", 0, "largest commit to fetch, in `bytes`, transferred and unpacked (0: a default)")
	f.IntVar(&c.Kept, "kept-revisions", 0, "`number` of revisions kept in the state directory (0: a default)")
	f.StringVar(&c.AdminListen, "admin-listen", "", "`address` of the doors that change what is served, such as 127.0.0.1:8687")
	f.StringVar(&c.AdminTokens, "admin-tokens", "", "`file` of the tokens of those who may")
}

// logOptions say how the log is written.
type logOptions struct{ level, form string }

func (l logOptions) logger(w io.Writer) *slog.Logger {
	var o slog.HandlerOptions
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		panic(err) // the flag takes only what is a level
	}
	o.Level = level
	if l.form == "json" {
		return slog.New(slog.NewJSONHandler(w, &o))
	}
	return slog.New(slog.NewTextHandler(w, &o))
}

func serve(ctx context.Context, c server.Config) error {
	// With a state directory there may be something to serve, whatever has
	// become of the documents.
	location, err := source.ParseLocation(c.Policies)
	if err != nil {
		return fmt.Errorf("--policies: %w", err)
	}
	if err := isDirectory(location.Dir); err != nil && c.StateDir == "" && c.Bundle == "" && location.Git == nil {
		return err
	}
	c.Version = programVersion()
	s, err := server.New(c)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}
