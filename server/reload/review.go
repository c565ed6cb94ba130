package reload

import (
	"context"
	"iter"

	"github.com/writ-policy/writ/server/decision"
)

var (
	_ decision.Reviewer = (*Reloader)(nil)
	_ decision.Wanter   = (*Reloader)(nil)
	_ decision.Guard    = (*Reloader)(nil)

	_ decision.Effectiver = (*Reloader)(nil)
	_ decision.Viewer     = (*Reloader)(nil)
)

// noRevision is the trouble of a server that has nothing to decide by.
const noRevision = "no revision loaded"

// Evaluate answers by the revision that is active when it is called, whatever is
// swapped in meanwhile. Without one it denies.
func (r *Reloader) Evaluate(ctx context.Context, request *decision.Request) decision.Decision {
	if a := r.active.Load(); a != nil {
		return a.reviewer.Evaluate(ctx, request)
	}
	return decision.Decision{
		Denied:   true,
		Reason:   "denied: trouble while evaluating: " + noRevision,
		Warnings: []string{},
		Matched:  []decision.Matched{},
		Trouble:  noRevision,
	}
}

// WhoCan is like Evaluate; without a revision it lists nobody.
func (r *Reloader) WhoCan(ctx context.Context, request *decision.Request) decision.WhoCan {
	if a := r.active.Load(); a != nil {
		return a.reviewer.WhoCan(ctx, request)
	}
	return decision.WhoCan{
		Users: []string{}, Groups: []string{}, ServiceAccounts: []string{},
		Except: []decision.Exception{}, Warnings: []string{},
		Reason:  noRevision,
		Trouble: noRevision,
	}
}

// Wants asks the active revision, where that can tell. Without a revision nothing
// is wanted.
func (r *Reloader) Wants(ctx context.Context, request *decision.Request) (decision.Wants, error) {
	if a := r.active.Load(); a != nil {
		if wanter, ok := a.reviewer.(decision.Wanter); ok {
			return wanter.Wants(ctx, request)
		}
	}
	return decision.Wants{}, nil
}

// Guard answers by the active revision, where that can; else it denies.
func (r *Reloader) Guard(ctx context.Context, request *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	if a := r.active.Load(); a != nil {
		if guard, ok := a.reviewer.(decision.Guard); ok {
			return guard.Guard(ctx, request)
		}
	}
	return decision.GatewayTrouble(noRevision), nil
}

// Effective answers from the active revision.
func (r *Reloader) Effective(q decision.EffectiveQuestion) (any, string, error) {
	if a := r.active.Load(); a != nil {
		if source, ok := a.reviewer.(decision.Effectiver); ok {
			return source.Effective(q)
		}
	}
	return nil, "", decision.ErrNoRevision
}

// viewer is the active revision, as far as it answers at the visibility point.
func (r *Reloader) viewer() decision.Viewer {
	if a := r.active.Load(); a != nil {
		if viewer, ok := a.reviewer.(decision.Viewer); ok {
			return viewer
		}
	}
	return decision.NoViewer(noRevision)
}

// Authorize is like Evaluate at the visibility point.
func (r *Reloader) Authorize(ctx context.Context, request *decision.VisibilityRequest) decision.Authorization {
	return r.viewer().Authorize(ctx, request)
}

// View is like Evaluate at the visibility point.
func (r *Reloader) View(ctx context.Context, request *decision.VisibilityRequest) decision.VisibilityDecision {
	return r.viewer().View(ctx, request)
}

// Show ends on the revision it began with, however long it takes.
func (r *Reloader) Show(ctx context.Context, request *decision.VisibilityRequest, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	return r.viewer().Show(ctx, request, items, yield)
}

// Fill is like Show.
func (r *Reloader) Fill(ctx context.Context, request *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	return r.viewer().Fill(ctx, request, a, items, yield)
}

// Revision is the active one, empty without one.
func (r *Reloader) Revision() string {
	if a := r.active.Load(); a != nil {
		return a.revision
	}
	return ""
}

// Ready reports whether any revision is served.
func (r *Reloader) Ready() bool { return r.active.Load() != nil }
