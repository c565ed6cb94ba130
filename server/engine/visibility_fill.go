package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/writ-policy/writ/server/decision"
)

// filling is one request on its way from an authorization to a decision.
type filling struct {
	request *decision.VisibilityRequest
	rule    *viewRule // nil on deny
	source  *viewSource
	custom  bool
	// shown decides on an item; nil where none is shown.
	shown func(*decision.Item) bool
	// told says that the request may have numbers.
	told bool
	// raw says that aggregations are the request's; else columns are what the
	// visible items leave to compute them from, nil where they are not computed.
	raw     bool
	columns *columns
}

func (e *Engine) newFilling(r *decision.VisibilityRequest, a *decision.Authorization, listed bool) *filling {
	f := &filling{request: r}
	rule, ok := a.Basis.(*viewRule)
	if !ok || a.Decision == decision.VisibleNone {
		return f
	}
	f.rule, f.custom = rule, r.IsCustom()
	if f.custom && r.Cluster.Name == "" {
		return f
	}
	f.told = slices.Contains(a.Permissions, decision.ActionViewMetrics)
	if f.custom {
		f.source = e.views.sources[r.Type]
		f.raw = f.source != nil && !f.source.FilterAggregations ||
			a.Decision == decision.VisibleAll && len(r.Aggregations) > 0
		if f.told && !f.raw && listed && f.source != nil {
			f.columns = newColumns(f.source.columns)
		}
	}
	f.shown = f.filter(a)
	return f
}

func (f *filling) filter(a *decision.Authorization) func(*decision.Item) bool {
	typ, entry := f.request.Type, f.rule.entry(f.request.Type)
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
		if index%1024 == 0 {
			if err := decision.CheckContext(ctx); err != nil {
				return &endedError{err}
			}
		}
		if f.shown != nil && f.shown(&item) {
			if err := yield(index); err != nil {
				return err
			}
			if f.columns != nil {
				if err := f.columns.add(&item); err != nil {
					return &endedError{err}
				}
			}
		}
		index++
	}
	return nil
}

// numbers answers aggregations and metrics, where the decision has any.
func (f *filling) numbers(ctx context.Context, d *decision.VisibilityDecision) (err error) {
	switch {
	case !f.told:
	case !f.custom && f.request.Metrics != nil:
		d.Metrics, err = f.rule.metrics(f.request.Metrics)
	case f.custom && f.raw:
		through := f.through()
		for name, value := range f.request.Aggregations {
			if through(name) {
				d.Aggregations[name] = value
			}
		}
	case f.custom && f.columns != nil:
		d.Aggregations, err = f.source.aggregate(ctx, f.columns, f.through())
	}
	return err
}

// through says which aggregations the entry of the type lets through.
func (f *filling) through() func(name string) bool {
	return f.rule.entry(f.request.Type).allowsAggregation
}
