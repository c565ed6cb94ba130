package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
)

// filling is one request on its way from an authorization to a decision.
type filling struct {
	engine  *Engine
	request *decision.VisibilityRequest
	rule    *viewRule // nil on deny
	source  *viewSource
	custom  bool
	// shown decides on an item; nil where none is shown.
	shown func(*decision.Item) bool
	// numbers says that aggregations or metrics are to be answered, collects that
	// visible items are kept for it.
	numbers, collects, listed bool
	reduced                   reducer
}

func (e *Engine) newFilling(r *decision.VisibilityRequest, a *decision.Authorization, listed bool) *filling {
	f := &filling{engine: e, request: r, listed: listed}
	rule, ok := a.Basis.(*viewRule)
	if !ok || a.Decision == decision.VisibleNone {
		return f
	}
	f.rule, f.custom = rule, r.Type != "" && !isStandard(r.Type)
	metrics := slices.Contains(a.Permissions, decision.ActionViewMetrics)
	if f.custom {
		f.source = e.views.sources[r.Type]
	}
	switch {
	case f.custom && r.Cluster.Name == "":
		return f
	case f.custom:
		f.collects = metrics && listed && f.recomputes(a)
		f.numbers = f.collects || metrics && len(r.Aggregations) > 0
	default:
		f.numbers = metrics && r.Metrics != nil
	}
	f.shown = f.filter(a)
	if f.collects {
		f.reduced.reads = &f.source.reads
	}
	return f
}

// recomputes reports whether aggregations are computed from the visible items.
func (f *filling) recomputes(a *decision.Authorization) bool {
	return f.source != nil && f.source.FilterAggregations &&
		(a.Decision == decision.VisibleSome || len(f.request.Aggregations) == 0)
}

func (f *filling) filter(a *decision.Authorization) func(*decision.Item) bool {
	typ, entry := f.request.Type, f.rule.entries[f.request.Type]
	switch {
	case typ == "":
		return nil
	case a.Decision == decision.VisibleAll:
		return func(*decision.Item) bool { return true }
	case !f.custom:
		return func(item *decision.Item) bool { return f.rule.standardItem(typ, item) }
	case entry == nil:
		return nil
	}
	return func(item *decision.Item) bool { return entry.showsCustom(f.source, item) }
}

// read filters items. All of them are read even where none is shown: whether they
// are items is not up to policies.
func (f *filling) read(ctx context.Context, items iter.Seq2[decision.Item, error], yield func(int) error) error {
	index := 0
	for item, err := range items {
		if err != nil {
			return err
		}
		if index%1024 == 0 && ctx.Err() != nil {
			return &endedError{context.Cause(ctx)}
		}
		if f.shown != nil && f.shown(&item) {
			if err := yield(index); err != nil {
				return err
			}
			if f.collects {
				if err := f.reduced.add(&item); err != nil {
					return &endedError{err}
				}
			}
		}
		index++
	}
	return nil
}

// totals asks OPA for the numbers, where the decision has any.
func (f *filling) totals(ctx context.Context, d *decision.VisibilityDecision) error {
	if !f.numbers {
		return nil
	}
	found := [][2]*ast.Term{
		{keyPolicy, ast.StringTerm(f.rule.key.text())},
		{keyRule, ast.IntNumberTerm(f.rule.key.rule)},
	}
	if f.collects {
		found = append(found, [2]*ast.Term{keyItems, ast.ArrayTerm(f.reduced.items...)})
	}
	var err error
	d.Aggregations, d.Metrics, err = f.engine.askTotals(ctx, f.request, ast.ObjectTerm(found...))
	return err
}
