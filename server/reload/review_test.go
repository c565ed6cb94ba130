package reload

import (
	"context"
	"iter"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// seeing is an engine that shows everything.
type seeing struct{ decision.Reviewer }

func (seeing) Authorize(context.Context, *decision.VisibilityRequest) decision.Authorization {
	return decision.Authorization{Decision: decision.VisibleAll, Revision: "one"}
}

func (s seeing) View(ctx context.Context, r *decision.VisibilityRequest) decision.VisibilityDecision {
	return decision.VisibilityDecision{Authorization: s.Authorize(ctx, r)}
}

func (s seeing) Show(ctx context.Context, r *decision.VisibilityRequest, _ iter.Seq2[decision.Item, error], _ func(int) error) (decision.VisibilityDecision, error) {
	return s.View(ctx, r), nil
}

func (s seeing) Fill(ctx context.Context, r *decision.VisibilityRequest, _ decision.Authorization, _ iter.Seq2[decision.Item, error], _ func(int) error) (decision.VisibilityDecision, error) {
	return s.View(ctx, r), nil
}

// The active revision answers at the visibility point; without one, and by one
// that cannot, everything is denied with its trouble.
func TestReloaderIsAViewer(t *testing.T) {
	for _, row := range []struct {
		name          string
		active        *active
		want, trouble string
	}{
		{"no revision", nil, decision.VisibleNone, noRevision},
		{"one that cannot see", &active{reviewer: struct{ decision.Reviewer }{}}, decision.VisibleNone, noRevision},
		{"one that can", &active{reviewer: seeing{}}, decision.VisibleAll, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := New(Options{})
			r.active.Store(row.active)
			ctx, request := t.Context(), &decision.VisibilityRequest{}
			shown, _ := r.Show(ctx, request, nil, nil)
			filled, _ := r.Fill(ctx, request, decision.Authorization{}, nil, nil)
			for method, got := range map[string]decision.Authorization{
				"Authorize": r.Authorize(ctx, request), "View": r.View(ctx, request).Authorization,
				"Show": shown.Authorization, "Fill": filled.Authorization,
			} {
				if got.Decision != row.want || got.Trouble != row.trouble {
					t.Errorf("%s: got %s, %q, want %s, %q", method, got.Decision, got.Trouble, row.want, row.trouble)
				}
			}
		})
	}
}
