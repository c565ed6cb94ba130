package decision

import (
	"context"
	"iter"
)

// NoViewer denies everything, with its text as the trouble: where there is nothing
// to decide by.
type NoViewer string

var _ Viewer = NoViewer("")

// Authorize denies.
func (v NoViewer) Authorize(context.Context, *VisibilityRequest) Authorization {
	return DenyVisibility(string(v))
}

// View denies.
func (v NoViewer) View(context.Context, *VisibilityRequest) VisibilityDecision {
	return VisibilityDecision{
		Authorization: DenyVisibility(string(v)),
		Visible:       []int{}, Aggregations: map[string]any{}, Metrics: map[string]any{},
	}
}

// Show denies without looking at the items.
func (v NoViewer) Show(ctx context.Context, r *VisibilityRequest, _ iter.Seq2[Item, error], _ func(int) error) (VisibilityDecision, error) {
	return v.View(ctx, r), nil
}

// Fill is Show: there is no revision that the authorization could be of.
func (v NoViewer) Fill(ctx context.Context, r *VisibilityRequest, _ Authorization, _ iter.Seq2[Item, error], _ func(int) error) (VisibilityDecision, error) {
	return v.View(ctx, r), nil
}
