// Package engine embeds OPA: it activates a bundle and decides validated requests. An
// evaluation error is part of the decision, which then denies.
//
// # Design
//
// Go code does three steps of an access decision instead of Rego rules, which remain in
// the bundle for a stock OPA: it finds the hits, the rules that match a request (package
// match, instead of writ.access.compact.hits), it lists the forms of the request
// (access.go, instead of writ.access.request.forms), and it builds the decision
// (access.go, instead of the decision rule). OPA evaluates the step between: which hits
// hold, unless no rule among them reads the request, and what deny policies decide, unless
// their entries alone say it (package match): where pods are judged, or labels read. The
// alternative, a tree of OPA values that Rego walks, took ten times as long a request and
// several times the memory.
//
// Since OPA is not asked about most requests, its compiler does not delay a revision whose
// modules this version of writ writes (queries.go): a changed deny policy decides after a
// hundredth of a second, and requests that need OPA wait for it once. What OPA compiled is a
// large part of what a server keeps, so modules that its queries do not reach are left out. Modules
// of gateways as a whole, most of the memory where there are many routes, are compiled for the
// first request that the tables of gateways leave to Rego.
//
// Package visibility answers at the visibility point without OPA, and package gateway
// finds the path of a request and evaluates the rules on it that are not expressions.
//
// All this Go code is a compiled form of Rego that this version of writ writes, and answers
// only for bundles that have it, byte for byte. At a point where the Rego of a bundle
// differs, that of another version for example, OPA evaluates it (by_opa.go).
//
// Rules that documents restrict are evaluated by package overdue, so that an answer
// comes at the deadline. Rules without restrictions evaluate nothing of an author's.
//
// The input has the hits under the key null. A JSON object cannot have that key, so a
// request cannot forge them.
package engine

import (
	"time"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/gateway"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/server/engine/visibility"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/tables"
)

// Options configure an Engine. The zero value uses the machine's clock and
// defaultTimeout.
type Options struct {
	// Now is the engine's clock, which time.now_ns returns in policies. Nil means
	// time.Now.
	Now func() time.Time
	// Timeout bounds one evaluation; zero means defaultTimeout.
	Timeout time.Duration
	// Last is the engine of the previous revision, or nil. Activate reuses its compiled
	// rules if the bundle has the same ones, so that a change of roles and bindings
	// compiles nothing, and the unchanged parts of its tree. It is not retained.
	Last *Engine
	// ByOPA are points at which OPA evaluates the Rego of the bundle, as a stock OPA does,
	// besides those where no compiled form of it is known.
	ByOPA []string
	// RequireRoute denies requests at the gateway point that name no route.
	RequireRoute bool
	// Overdue has the places of evaluations, shared by all engines of a process. Nil
	// stands for those of Last, or for new ones.
	Overdue *overdue.Runner
	// MaxColumns bounds in bytes what a request keeps of its items for aggregations, and
	// Columns is the budget of all requests together, shared by all engines of a
	// process; zero means a default and nil unlimited. Refused, if not nil, records
	// requests that exceed one of them.
	MaxColumns int
	Columns    *limits.Budget
	Refused    func(metrics.Reason)
}

// What decides, as flags name it: compiled forms of the Rego, where they are known, or OPA.
const (
	DecideByCompiled = "compiled"
	DecideByOPA      = "opa"
)

// defaultTimeout bounds an evaluation. It is shorter than an API server waits for a
// webhook, and thousands of times as long as a decision takes.
const defaultTimeout = 2 * time.Second

// Engine is one activated revision. It is immutable and safe for concurrent use.
type Engine struct {
	*visibility.Policies // the visibility point

	// loaded is apart from the engine, which lists that are kept for callers must not hold.
	loaded   *decision.Loaded
	rules    string         // the hash of what queries were compiled from
	access   *tables.Access // its Cluster is the only one that the engine decides on, if not empty
	stated   tables.Revision
	features tables.Features // that the bundle states
	data     *bundleData
	tree     *match.Tree
	sessions *match.Sessions // nil without sessions
	denials  *match.Denials
	tenants  tables.Tenants
	gateways *tables.Gateway // nil without documents of that family
	routes   *gateway.Policies
	headers  map[decision.GatewayTarget][]string
	queries  queries
	byOPA    byOPA
	points   map[string]rego.PreparedEvalQuery // of generic points
	patterns cache.InterQueryValueCache        // compiled regular expressions, kept between requests
	now      func() time.Time
	timeout  time.Duration
	overdue  *overdue.Runner
	// requireRoute denies requests at the gateway point that name no route.
	requireRoute bool

	*projected           // the keys of requests
	earlier    []earlier // earlier revisions, the newest first
}

var _ decision.Policies = (*Engine)(nil)

// Loaded implements decision.Policies.
func (e *Engine) Loaded() *decision.Loaded { return e.loaded }

// Lists implements decision.Policies.
func (e *Engine) Lists() decision.Lists { return e.Policies }

// Now implements decision.Policies.
func (e *Engine) Now() time.Time { return e.now() }

// At implements decision.Policies.
func (e *Engine) At(now time.Time) decision.Policies { return e.then(now) }

// then returns the engine with a clock that does not move.
func (e *Engine) then(now time.Time) *Engine {
	then := *e
	then.now = func() time.Time { return now }
	then.Policies = e.Policies.At(now)
	return &then
}

// AtNow implements decision.Policies.
func (e *Engine) AtNow() decision.Policies { return e.At(e.now()) }
