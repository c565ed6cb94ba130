package reload

import (
	"context"
	"log/slog"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Translator translates a snapshot to the parts of a bundle; translator.Translator
// implements it.
type Translator interface {
	// Translate returns nil if the list has errors.
	Translate(ctx context.Context, snapshot source.Snapshot) (*translator.Result, diag.List)
	// PolicyConditions returns the conditions of gateway policies by locator, after a
	// Translate that returned nil.
	PolicyConditions() map[string][]tables.GatewayCondition
	// Documents returns the documents that were decoded, also after a Translate that
	// returned nil.
	Documents() []syntax.Document
}

// Observer records the results of reloads; metrics.Metrics implements it. Its methods
// are called by one goroutine at a time.
type Observer interface {
	Reloaded(result metrics.Result, at time.Time)
	ReloadRefused(why metrics.Cause)
	Degraded(yes bool)
	StateFails(yes bool)
	Diagnosed(errors, warnings int)
	Serves(revision string)
	ByOPA(points map[string]bool)
	Inherits(counts metrics.Inherited)
}

// Options configure a Reloader. Activate is required, and Source and Translator are
// required unless bundles are delivered; other fields may be zero.
type Options struct {
	Source     source.Source
	Translator Translator
	// Again requests that the newest bundle is delivered once more. It is called if Source
	// is nil, and must not wait for the delivery.
	Again func()
	// Build is the build information in the manifests of bundles.
	Build bundles.BuildOptions
	// Activate compiles the rules of a bundle. It must return an error for a bundle that
	// bundles.Compile rejects.
	Activate func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error)
	// Accept, if set, is called with each revision before it is served, and with the active one
	// if other documents give it. If it returns an error, the last good revision is still
	// served. A Refusal is the error of documents that would be refused again.
	Accept func(ctx context.Context, c *Candidate) error
	// StateDir is the directory that stores the last good bundle, for a restart with
	// invalid documents. Empty means that bundles are not stored.
	StateDir string
	// Kept is how many revisions the state directory keeps to go back to; zero means
	// defaultKept.
	Kept int
	// Keys, if set, verify the bundles in the state directory, in the same way as
	// delivered bundles.
	Keys     *bundles.Keys
	Observer Observer
	// Attempted, if set, is called after each attempt, and after each other change of the
	// active revision or its pin, by one goroutine at a time.
	Attempted func(Attempt)
	Logger    *slog.Logger
	Now       func() time.Time
}

// Candidate is a revision that may be served.
type Candidate struct {
	Bundle   *bundles.Bundle
	Policies decision.Policies
	// Snapshot and Documents are those that the revision is made of, and IsBuilt states that it
	// is a built bundle, without them.
	Snapshot  source.Snapshot
	Documents []syntax.Document
	IsBuilt   bool
	// IsKept states that the revision was served before and is served again.
	IsKept bool
	// IsActive states that the revision is served.
	IsActive bool
}

// Refusal is why a revision is not accepted.
type Refusal struct{ Code, Message string }

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// noopObserver records nothing.
type noopObserver struct{}

func (noopObserver) Reloaded(metrics.Result, time.Time) {}

func (noopObserver) ReloadRefused(metrics.Cause) {}

func (noopObserver) Degraded(bool) {}

func (noopObserver) StateFails(bool) {}

func (noopObserver) Diagnosed(int, int) {}

func (noopObserver) Inherits(metrics.Inherited) {}

func (noopObserver) Serves(string)         {}
func (noopObserver) ByOPA(map[string]bool) {}
