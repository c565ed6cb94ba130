// Package engine is the embedded OPA: it activates a bundle and evaluates the
// access point's entrypoint. It takes requests that a door has checked and gives
// whole decisions; trouble of any kind is a denial that says so.
//
// # Design
//
// The compact tables of a bundle are expanded into a tree of OPA values with
// shared nodes (index.go) and the request's keys into that tree are worked out
// in Go (input.go), because both are the same for every rule that is looked up.
// The alternative, letting Rego walk the compact tables as a stock OPA does,
// costs several times as much a request. The derived keys travel in the input
// under the number 0: no JSON request can hold such a key, so none can forge it.
package engine

import (
	"time"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/lower"
)

// Options are what an Engine needs besides a bundle. The zero value uses the
// machine's clock and DefaultTimeout.
type Options struct {
	// Now is the engine's clock: what time.now_ns reads in a policy.
	Now func() time.Time
	// Timeout bounds one evaluation; zero means DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout bounds an evaluation: well inside what an API server waits for
// a webhook, and thousands of times what a decision takes.
const DefaultTimeout = 2 * time.Second

// Engine is one activated revision. It is immutable and safe for concurrent use.
type Engine struct {
	revision string
	access   *lower.Access
	query    rego.PreparedEvalQuery
	words    *words
	now      func() time.Time
	timeout  time.Duration
}

var _ decision.Reviewer = (*Engine)(nil)

// Revision is the revision of the activated bundle.
func (e *Engine) Revision() string { return e.revision }
