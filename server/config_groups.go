package server

import (
	"net"
	"time"

	"github.com/writ-policy/writ/bundles/remote"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/translator/source/git"
)

// BundleConfig is a source of built bundles, instead of documents.
type BundleConfig struct {
	// Location is a URL, a registry or a file, as in remote.Options; empty means none.
	Location string
	// Config is a file with OPA's configuration of services.
	Config string
	// Keys is a file of keys, one of which must have signed the bundle.
	Keys     string
	Registry remote.Credentials
	// PlainHTTP allows a registry without TLS.
	PlainHTTP bool
}

// GitConfig is how git repositories are read, with the credentials for their servers.
type GitConfig struct {
	git.Credentials
	// CA is a PEM file of authorities to trust for git servers.
	CA string
	// Keys is a file of keys, one of which must have signed a commit, and none of
	// RevokedKeys.
	Keys        string
	RevokedKeys string
	// MinCommit is the full hash of a commit that the first one to be activated must be
	// or descend from, with Keys; later ones must descend from the last active one.
	// Empty means any.
	MinCommit string
	// MaxFetch bounds a commit in bytes; zero means a default.
	MaxFetch int64
}

// EnvoyConfig is the gRPC listener for Envoy's external authorization.
type EnvoyConfig struct {
	// Listen is the address, HOST:PORT; empty means none. The listener uses TLS if that
	// of callers does.
	Listen string
	// Identity is the namespace of dynamic metadata that contains the identity.
	Identity string
	// Connections is the maximum number of connections, and ReceiveBytes the memory for
	// messages that are being received.
	Connections  int
	ReceiveBytes int
	// Listening, if not nil, is called once with the address in use. It must not block.
	Listening func(net.Addr)
}

// ListenerConfig is an HTTP listener beside the one of callers.
type ListenerConfig struct {
	// Listen is the address, HOST:PORT; empty means none.
	Listen string
	// Listening, if not nil, is called once with the address in use. It must not block.
	Listening func(net.Addr)
}

// AggregationConfig is the listener that an API server aggregates. It uses the certificate of
// TLSConfig.
type AggregationConfig struct {
	ListenerConfig
	// FromCluster reads what follows from the cluster, and again when it changes.
	FromCluster bool
	// ClientCA are the authorities of the front proxy's certificates, AllowedNames the common
	// names that they may have, and the others the headers in which it names users, as the
	// flags --requestheader-* of Kubernetes.
	ClientCA            string
	AllowedNames        []string
	UsernameHeaders     []string
	GroupHeaders        []string
	ExtraHeaderPrefixes []string
}

// PageConfig is where the web console is served.
type PageConfig struct {
	// Mode is PageAuto, PageOn or PageOff. Where other machines reach it, the page
	// requires TLS and credentials of callers.
	Mode string
	// ListenerConfig is a listener for the page and its endpoints, which are not at
	// Config.Listen then. It never requires client certificates.
	ListenerConfig
}

// TLSConfig are the PEM files of all listeners. They are reloaded when they change.
type TLSConfig struct {
	// Cert and Key are empty for plain HTTP.
	Cert string
	Key  string
	// ClientCA are authorities, whose client certificates authenticate callers.
	ClientCA string
	// RequireClientCert refuses a client without a certificate at the handshake, probes
	// included.
	RequireClientCert bool
}

// CallersConfig is who may ask.
type CallersConfig struct {
	// Tokens is the file of callers' tokens; empty means that callers have no tokens.
	Tokens string
	// OIDC is the OpenID Connect issuer of callers' tokens.
	OIDC auth.IssuerOptions
	// TokenReview is a kubeconfig of the API server that knows callers' tokens, or
	// in-cluster; empty: tokens are not reviewed. A token must be issued for one of
	// TokenReviewAudiences; without any, for the API server.
	TokenReview          string
	TokenReviewAudiences []string

	// A listener that other machines reach requires TLS and callers' credentials.
	// InsecureListen allows it without TLS, and Anonymous without credentials, for
	// decisions alone.
	InsecureListen bool
	Anonymous      bool
	// Auditors are the groups that may see documents, diagnostics and effective policies,
	// and Operators those that may ask at the administrative endpoints.
	Auditors  []string
	Operators []string
	// AllowedHosts are names, beside addresses and localhost, that a loopback listener
	// answers for, and the page on every listener. A port is ignored.
	AllowedHosts []string
}

// ClustersConfig is how reviews are completed from clusters.
type ClustersConfig struct {
	// File lists the clusters and is reloaded when it changes. Empty means that reviews
	// may name any cluster, and that no pod is fetched.
	File string
	// FetchTimeout bounds fetching from a cluster for one review. MaxFetches bounds the
	// concurrent fetches from one cluster.
	FetchTimeout time.Duration
	MaxFetches   int
	// SessionKey and EscalationKey are the keys in spec.extra of a review that contain
	// the session and the escalation.
	SessionKey    string
	EscalationKey string
	// ProbeNamespace is where the probes of companions would be created.
	ProbeNamespace string
}

// AuditConfig is where audit events go, beside the log. Empty means nowhere.
type AuditConfig struct {
	// File is appended to, and Webhook a URL to which events are posted.
	File    string
	Webhook string
	// DecisionLog is a file to which decisions are appended, and DecisionLogConfig a file
	// with OPA's configuration of decision logs.
	DecisionLog       string
	DecisionLogConfig string
}

// AssertionsConfig is what must hold for every request.
type AssertionsConfig struct {
	// Required refuses a revision unless it has assertions and none fails. One that is not
	// proven within Timeout is refused too.
	Required bool
	Timeout  time.Duration
	// Files are files and folders with assertions beside those of the documents. They are
	// read again when they change.
	Files []string
}

// CacheConfig bounds the caches of decisions.
type CacheConfig struct {
	// Entries is the maximum number of cached decisions; zero disables the cache.
	// Bytes is approximately the memory that they may use.
	Entries int
	Bytes   int
	// VisibilityEntries is the maximum number of cached authorizations of the visibility
	// point, and VisibilityTTL how long they are cached; zero entries disables the cache.
	VisibilityEntries int
	VisibilityTTL     time.Duration
}

// LimitsConfig bounds what callers may take.
type LimitsConfig struct {
	// MaxBody is the largest request body in bytes, and MaxInFlight the maximum number
	// of concurrent requests. Requests beyond them are rejected.
	MaxBody     int64
	MaxInFlight int
	// MaxAnswer is the size in bytes of the largest answer to who-can and what-can.
	MaxAnswer int
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
	// MaxAge is how long lists are answered by a revision that its source has not confirmed;
	// zero means forever.
	MaxAge time.Duration
}

// TimeoutsConfig bounds requests and the end of the server.
type TimeoutsConfig struct {
	// Request bounds a request, including reading its body. Evaluation bounds each
	// evaluation.
	Request    time.Duration
	Evaluation time.Duration
	// ReadHeader, Read, Write and Idle are the timeouts of http.Server.
	ReadHeader time.Duration
	Read       time.Duration
	Write      time.Duration
	Idle       time.Duration
	// Drain is how long a stopping server is unready but still answers new requests.
	// Grace is how long it then waits for requests in flight.
	Drain time.Duration
	Grace time.Duration
}
