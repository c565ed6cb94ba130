// Package engine is the embedded OPA: it activates a bundle and decides with
// it. It takes validated requests and returns whole decisions; an evaluation error
// is a denial.
//
// Not part of the promised API; see package writ.
//
// # Design
//
// Two steps of a decision are done in Go, each in place of a Rego rule that stays
// in the bundle for a stock OPA: finding the rules that fit a request (package match,
// for writ.access.compact.hits) and writing the decision out (access.go, for the
// decision rule itself). What lies between, whether the rules that fit hold, is
// asked of OPA. A tree of OPA's own values walked by Rego was tried in place of
// the Go one: it took ten times as long a request, and a multiple of the memory.
//
// At the visibility point OPA says who may see a type of a cluster, by the rules
// generated from policies. Items are filtered and numbers computed in Go, from the
// bundle's tables, in place of writ.visibility.visible and writ.visibility.totals:
// a list may be longer than OPA could go through in the time there is.
//
// Rules that documents restrict are evaluated by package overdue, so that an answer
// comes at the deadline. Rules without restrictions evaluate nothing of an author's.
//
// The rules found travel in the input under the key null. No JSON request can
// hold such a key, so none can bring its own.
package engine

import (
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown/cache"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/translator/tables"
)

// Options are what an Engine needs besides a bundle. The zero value uses the
// machine's clock and DefaultTimeout.
type Options struct {
	// Now is the engine's clock: what time.now_ns reads in a policy.
	Now func() time.Time
	// Timeout bounds one evaluation; zero means DefaultTimeout.
	Timeout time.Duration
	// Last is an engine whose compiled rules serve again where the bundle's are
	// the same, so that a change of roles and bindings compiles nothing, and whose
	// tree serves again where the tables are. It may be nil, and is not kept.
	Last *Engine
	// Overdue has the places of evaluations, shared by all engines of a process. Nil
	// stands for those of Last, or for new ones.
	Overdue *overdue.Runner
}

// DefaultTimeout bounds an evaluation: well inside what an API server waits for
// a webhook, and thousands of times what a decision takes.
const DefaultTimeout = 2 * time.Second

// Engine is one activated revision. It is immutable and safe for concurrent use.
type Engine struct {
	revision string
	sequence int64
	rules    string // the hash of what queries were compiled from
	access   *tables.Access
	features tables.Features // what the bundle states that it has
	tree     *match.Tree
	views    *views
	gateways *tables.Gateway // nil without documents of that family
	headers  map[decision.GatewayTarget][]string
	queries  queries
	patterns cache.InterQueryValueCache // compiled expressions, kept between requests
	now      func() time.Time
	timeout  time.Duration
	overdue  *overdue.Runner

	fingerprints func() *decision.Fingerprints // computed at the first call
}

// queries are what OPA is asked, prepared.
type queries struct {
	findings, wantsPod, gateway rego.PreparedEvalQuery
	// authorization is prepared only where there are visibility policies.
	authorization rego.PreparedEvalQuery
	// compiler and visibility are what they were prepared from: the modules, and the
	// tables that authorization reads.
	compiler   *ast.Compiler
	visibility *tables.Visibility
}

var _ decision.Policies = (*Engine)(nil)

// Revision is the revision of the activated bundle.
func (e *Engine) Revision() string { return e.revision }

// Sequence is the sequence number of the activated bundle, zero if it has none.
func (e *Engine) Sequence() int64 { return e.sequence }
