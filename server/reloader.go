package server

import (
	"context"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/proofs"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator"
)

// withObservers returns a context whose spans are reported to the observers of s.
func (s *Server) withObservers(ctx context.Context) context.Context {
	return progress.WithObservers(ctx, s.observers...)
}

// heapGrowth is how many bytes a server at least allocates between two collections. More
// would save little CPU time, and add to the peak of memory under attack.
const heapGrowth = 64 << 20

func (s *Server) newReloader(m *metrics.Metrics, kept *cache.Cache) *reload.Reloader {
	c := &s.config
	var last *engine.Engine // activations do not overlap
	places, columns := overdue.New(m), limits.NewBudget(c.Limits.MaxStreamBytesInUse)
	return reload.New(reload.Options{
		Source:     s.sources.of(),
		Translator: translator.New(translator.Options{Settings: c.Settings, AllowEmpty: c.AllowEmpty, Reads: limits.CollectToward}),
		Build:      bundles.BuildOptions{Version: c.Version},
		Activate: func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error) {
			e, err := engine.Activate(ctx, b, engine.Options{
				Now: c.Now, Timeout: c.Timeouts.Evaluation, RequireRoute: c.RequireRoute, ByOPA: engine.PointsByOPA(c.DecideBy), Last: last, Overdue: places,
				MaxColumns: c.Limits.MaxStreamBytes, Columns: columns, Refused: m.Refused,
			})
			switch {
			case err != nil:
				return nil, err
			case last != nil:
				go s.compile(e)
			default: // a server that is ready answers at once, except for gateway requests that the tables leave to Rego
				if err := e.Compile(); err != nil {
					return nil, err
				}
			}
			last = e
			limits.CollectAfter(heapGrowth) // not before: a start would need more memory
			return kept.Of(e), nil
		},
		Accept:    s.accept,
		Attempted: s.attempted, Again: s.sources.again, StateDir: c.StateDir, Kept: c.Kept, Keys: s.sources.keys.of(), Observer: m, Logger: s.log, Now: c.Now,
	})
}

// compile compiles what a revision compiles later, before a request needs it.
func (s *Server) compile(e *engine.Engine) {
	if err := e.Compile(); err != nil {
		s.log.Error("the rules of the revision do not compile: requests that need them are denied", "revision", e.Loaded().Revision, "error", err)
	}
}

// accept returns an error for a revision that must not be served.
func (s *Server) accept(ctx context.Context, c *reload.Candidate) error {
	if err := s.proofs.Accept(ctx, c); err != nil {
		return err
	}
	if !c.IsActive {
		s.explorer.Activate(c.Bundle)
	}
	return nil
}

// newProofs returns what verifies the assertions about revisions.
func (s *Server) newProofs(m *metrics.Metrics) (*proofs.Proofs, error) {
	c := &s.config
	return proofs.New(proofs.Options{
		Required: c.Assertions.Required, Timeout: c.Assertions.Timeout, Files: c.Assertions.Files, Source: s.sources.location, Logger: s.log, Now: c.Now,
		Compiler: func(now func() time.Time) *assertions.Compiler {
			return &assertions.Compiler{Settings: c.Settings, AllowEmpty: c.AllowEmpty, Activate: func(ctx context.Context, b *bundles.Bundle) (*diff.Side, error) {
				p, err := s.activateApart(ctx, b, now)
				if err != nil {
					return nil, err
				}
				return proofs.SideOf(p, statement.Of(p), now), nil
			}}
		},
		Retry:   func(ctx context.Context) { _ = s.reloader.Retry(s.withObservers(ctx)) }, // logged, and in the status
		Counted: m.Asserted,
		Changed: func() { s.explorer.SetState(s.consoleState()) },
	})
}

// Load reads the documents once, or activates the stored bundle if bundles are served. It
// returns an error if the documents are not active afterwards. Run calls it itself.
func (s *Server) Load(ctx context.Context) error {
	ctx = s.withObservers(ctx)
	if s.sources.feed != nil {
		s.reloader.Restore(ctx)
		return nil
	}
	return s.reloader.Load(ctx)
}

func (s *Server) ready() bool { return s.reloader.Ready() && !s.draining.Load() }
