package visibility

import (
	"context"
	"iter"
	"slices"

	"github.com/writ-policy/writ/server/decision"
)

// filter filters the items and computes the numbers of one request.
type filter struct {
	request *decision.VisibilityRequest
	rule    *rule         // nil if the request is denied
	source  *metricSource // nil if no MetricSource defines the type
	custom  bool
	// hides returns what hides an item; nil if no item is visible.
	hides func(*decision.Item) criterion
	// metricsAllowed reports whether the principal may see metrics and aggregations.
	metricsAllowed bool
	// useRequestAggregations reports whether the answer has the aggregations of the
	// request. Otherwise they are computed from columns, unless that is nil.
	useRequestAggregations bool
	columns                *columns
}

func (p *Policies) newFilter(r *decision.VisibilityRequest, a *decision.Authorization, hasItems bool) *filter {
	f := &filter{request: r}
	decided, ok := a.Basis.(*rule)
	if !ok || a.Decision == decision.VisibleNone {
		return f
	}
	f.rule, f.custom = decided, r.IsCustom()
	if f.custom && r.Cluster.Name == "" {
		return f
	}
	f.metricsAllowed = slices.Contains(a.Permissions, decision.ActionViewMetrics)
	if f.custom {
		f.source = p.sources[r.Type]
		f.useRequestAggregations = f.source != nil && !f.source.FilterAggregations ||
			a.Decision == decision.VisibleAll && len(r.Aggregations) > 0
		if f.metricsAllowed && !f.useRequestAggregations && hasItems && f.source != nil {
			f.columns = newColumns(f.source.columns, p.options.MaxColumns, p.options.Columns)
		}
	}
	f.hides = f.itemFilter(a)
	return f
}

// itemFilter returns a function that decides on an item, nil if no item is visible.
func (f *filter) itemFilter(a *decision.Authorization) func(*decision.Item) criterion {
	typ, entry := f.request.Type, f.rule.entryOf(f.request.Type)
	switch {
	case typ == "":
		return nil
	case a.Decision == decision.VisibleAll:
		return func(*decision.Item) criterion { return criterion{} }
	case !f.custom:
		return func(item *decision.Item) criterion { return f.rule.hidesStandard(typ, item) }
	case entry == nil:
		return nil
	}
	return func(item *decision.Item) criterion { return entry.hidesCustom(f.source, item).in(typ) }
}

// filterItems calls yield with the index of each visible item. It reads all items even
// if none is visible, so that an invalid item is an error whatever the policies are.
func (f *filter) filterItems(ctx context.Context, items iter.Seq2[decision.Item, error], yield func(int) error) error {
	index := 0
	for item, err := range items {
		if err != nil {
			return err
		}
		if index%1024 == 0 {
			if err := decision.CheckContext(ctx); err != nil {
				return &filterError{err}
			}
		}
		if f.hides != nil && !f.hides(&item).hides() {
			if err := yield(index); err != nil {
				return err
			}
			if f.columns != nil {
				if err := f.columns.add(&item); err != nil {
					return &filterError{err}
				}
			}
		}
		index++
	}
	return nil
}

// computeNumbers sets the aggregations or metrics of d. It returns an error if a
// computation fails.
func (f *filter) computeNumbers(ctx context.Context, d *decision.VisibilityDecision) (err error) {
	switch {
	case !f.metricsAllowed:
	case !f.custom && f.request.Metrics != nil:
		d.Metrics, err = f.rule.restrictMetrics(f.request.Metrics)
	case f.custom && f.useRequestAggregations:
		entry := f.rule.entryOf(f.request.Type)
		for name, value := range f.request.Aggregations {
			if entry.allowsAggregation(name) {
				d.Aggregations[name] = value
			}
		}
	case f.custom && f.columns != nil:
		d.Aggregations, err = f.source.aggregate(ctx, f.columns, f.rule.entryOf(f.request.Type).allowsAggregation)
	}
	return err
}
