package engine

import (
	"context"
	"iter"
	"slices"

	"github.com/writ-policy/writ/server/decision"
)

// visibilityRun filters the items and computes the numbers of one request.
type visibilityRun struct {
	request *decision.VisibilityRequest
	rule    *visibilityRule // nil if the request is denied
	source  *metricSource   // nil if no MetricSource defines the type
	custom  bool
	// isVisible decides on an item; nil if no item is visible.
	isVisible func(*decision.Item) bool
	// metricsAllowed reports whether the principal may see metrics and aggregations.
	metricsAllowed bool
	// useRequestAggregations reports whether the answer has the aggregations of the
	// request. Otherwise they are computed from columns, unless that is nil.
	useRequestAggregations bool
	columns                *columns
}

func (e *Engine) newVisibilityRun(r *decision.VisibilityRequest, a *decision.Authorization, hasItems bool) *visibilityRun {
	v := &visibilityRun{request: r}
	rule, ok := a.Basis.(*visibilityRule)
	if !ok || a.Decision == decision.VisibleNone {
		return v
	}
	v.rule, v.custom = rule, r.IsCustom()
	if v.custom && r.Cluster.Name == "" {
		return v
	}
	v.metricsAllowed = slices.Contains(a.Permissions, decision.ActionViewMetrics)
	if v.custom {
		v.source = e.visibility.sources[r.Type]
		v.useRequestAggregations = v.source != nil && !v.source.FilterAggregations ||
			a.Decision == decision.VisibleAll && len(r.Aggregations) > 0
		if v.metricsAllowed && !v.useRequestAggregations && hasItems && v.source != nil {
			v.columns = newColumns(v.source.columns, e.maxColumns, e.columns)
		}
	}
	v.isVisible = v.itemFilter(a)
	return v
}

// itemFilter returns a function that decides on an item, nil if no item is visible.
func (v *visibilityRun) itemFilter(a *decision.Authorization) func(*decision.Item) bool {
	typ, entry := v.request.Type, v.rule.entry(v.request.Type)
	switch {
	case typ == "":
		return nil
	case a.Decision == decision.VisibleAll:
		return func(*decision.Item) bool { return true }
	case !v.custom:
		return func(item *decision.Item) bool { return v.rule.showsStandard(typ, item) }
	case entry == nil:
		return nil
	}
	return func(item *decision.Item) bool { return entry.showsCustom(v.source, item) }
}

// filterItems calls yield with the index of each visible item. It reads all items even
// if none is visible, so that an invalid item is an error whatever the policies are.
func (v *visibilityRun) filterItems(ctx context.Context, items iter.Seq2[decision.Item, error], yield func(int) error) error {
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
		if v.isVisible != nil && v.isVisible(&item) {
			if err := yield(index); err != nil {
				return err
			}
			if v.columns != nil {
				if err := v.columns.add(&item); err != nil {
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
func (v *visibilityRun) computeNumbers(ctx context.Context, d *decision.VisibilityDecision) (err error) {
	switch {
	case !v.metricsAllowed:
	case !v.custom && v.request.Metrics != nil:
		d.Metrics, err = v.rule.restrictMetrics(v.request.Metrics)
	case v.custom && v.useRequestAggregations:
		entry := v.rule.entry(v.request.Type)
		for name, value := range v.request.Aggregations {
			if entry.allowsAggregation(name) {
				d.Aggregations[name] = value
			}
		}
	case v.custom && v.columns != nil:
		d.Aggregations, err = v.source.aggregate(ctx, v.columns, v.rule.entry(v.request.Type).allowsAggregation)
	}
	return err
}
