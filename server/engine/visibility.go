package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/tables"
)

// Visibility authorizes a request at the visibility point, without filtering its items
// or computing its numbers.
func (e *Engine) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	now := e.now()
	a, err := e.authorize(ctx, r, now)
	if err != nil {
		a = decision.FailedAuthorization(err.Error())
	} else {
		a.Expires = e.visibility.expires(r, now)
	}
	a.Revision = e.revision
	return a
}

func (e *Engine) authorize(ctx context.Context, r *decision.VisibilityRequest, now time.Time) (decision.Authorization, error) {
	if err := checkClock(now); err != nil {
		return decision.Authorization{}, err
	}
	if !e.features.Has(tables.FeatureVisibility) {
		return withoutPolicies(r), nil
	}
	a, err := e.askAuthorization(ctx, r, now)
	if err != nil || a.Decision == decision.VisibleNone {
		return a, err
	}
	// The tables of the bundle have the rule that filters items, so they must have the
	// policy that OPA names.
	m := a.Matched[0]
	rule := e.visibility.rule(&m)
	if rule == nil {
		return a, fmt.Errorf("OPA's answer names rule %d of policy %q, which the tables do not have", m.Rule, m.Name)
	}
	a.Basis = rule
	return a, nil
}

// checkClock returns an error for a time that OPA's clock, which has nanoseconds in 64
// bits, cannot represent: policies would read another time.
func checkClock(now time.Time) error {
	if year := now.UTC().Year(); year < 1678 || year > 2261 {
		return fmt.Errorf("the time %s is out of the range policies are evaluated in", now.UTC().Format(time.RFC3339))
	}
	return nil
}

// withoutPolicies returns the authorization if the bundle has no visibility policies.
func withoutPolicies(r *decision.VisibilityRequest) decision.Authorization {
	const none = "No matching policies found"
	a := decision.DeniedAuthorization("")
	switch {
	case len(r.Names()) == 0:
		a.Reason = "no principal"
	case r.Action != "" && r.Action != decision.ActionView && r.Action != decision.ActionViewMetrics:
		a.Reason = "unknown action " + r.Action
	case r.IsCustom() && r.Cluster.Name == "":
		a.Reason = "No policy grants access to custom resource type: " + r.Type
	case r.Cluster.Name == "":
		a.Reason = "no cluster given"
	case r.IsCustom():
		a.Reason = "Access denied to cluster '" + r.Cluster.Name + "': " + none
	default:
		a.Reason = none
	}
	return a
}

// FilterItems filters items and computes numbers by an authorization of this revision.
func (e *Engine) FilterItems(ctx context.Context, r *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	if a.Revision != e.revision {
		return e.failedFilter(errOtherRevision), nil
	}
	d := decision.VisibilityDecision{
		Authorization: a, Visible: []int{}, Aggregations: map[string]any{}, Metrics: map[string]any{},
	}
	run := e.newVisibilityRun(r, &a, items != nil)
	defer run.columns.release()
	if items != nil {
		if err := run.filterItems(ctx, items, yield); err != nil {
			var failed *filterError
			if !errors.As(err, &failed) {
				return d, err
			}
			e.recordRefusal(failed.cause)
			return e.failedFilter(failed.cause), nil
		}
	}
	if err := run.computeNumbers(ctx, &d); err != nil {
		return e.failedFilter(err), nil
	}
	return d, nil
}

// recordRefusal records a request that was denied for the memory of its items.
func (e *Engine) recordRefusal(cause error) {
	switch {
	case e.refused == nil:
	case errors.Is(cause, errTooManyItems):
		e.refused(metrics.LargeStream)
	case errors.Is(cause, errItemsInUse):
		e.refused(metrics.StreamsInUse)
	}
}

// errOtherRevision rejects an authorization of another revision, because its Basis
// refers to the tables of that revision.
var errOtherRevision = errors.New("the authorization belongs to another revision")

// filterError is an evaluation error while items are filtered. Errors of the caller's
// items and yield have other types.
type filterError struct{ cause error }

func (e *filterError) Error() string { return e.cause.Error() }

// failedFilter returns the denial for an evaluation error in items or numbers.
func (e *Engine) failedFilter(cause error) decision.VisibilityDecision {
	d := decision.VisibilityDecision{}.Failed(cause.Error())
	d.Revision = e.revision
	return d
}
