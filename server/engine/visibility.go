package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// Visibility answers all of a request at the visibility point but its items and
// numbers.
func (e *Engine) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	now := e.now()
	a, err := e.authorize(ctx, r, now)
	if err != nil {
		a = decision.FailedAuthorization(err.Error())
	} else {
		a.Expires = e.views.expires(r, now)
	}
	a.Revision = e.revision
	return a
}

func (e *Engine) authorize(ctx context.Context, r *decision.VisibilityRequest, now time.Time) (decision.Authorization, error) {
	if err := checkClock(now); err != nil {
		return decision.Authorization{}, err
	}
	if !e.features.Has(tables.FeatureVisibility) {
		return unmatched(r), nil
	}
	a, err := e.askAuthorization(ctx, r, now)
	if err != nil || a.Decision == decision.VisibleNone {
		return a, err
	}
	// The policy that OPA names is looked up in the tables of the same bundle. One that
	// is absent there would leave the items without a rule.
	m := a.Matched[0]
	rule := e.views.rule(&m)
	if rule == nil {
		return a, fmt.Errorf("OPA's answer names rule %d of policy %q, which the tables do not have", m.Rule, m.Name)
	}
	a.Basis = rule
	return a, nil
}

// checkClock refuses what OPA's clock, nanoseconds in 64 bits, cannot say: it
// would be some other time.
func checkClock(now time.Time) error {
	if year := now.UTC().Year(); year < 1678 || year > 2261 {
		return fmt.Errorf("the time %s is out of the range policies are evaluated in", now.UTC().Format(time.RFC3339))
	}
	return nil
}

// unmatched is the answer where there is no policy at all.
func unmatched(r *decision.VisibilityRequest) decision.Authorization {
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

// FilterItems answers items and numbers by an authorization of this revision.
func (e *Engine) FilterItems(ctx context.Context, r *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	if a.Revision != e.revision {
		return e.failedFilter(errOtherRevision), nil
	}
	d := decision.VisibilityDecision{
		Authorization: a, Visible: []int{}, Aggregations: map[string]any{}, Metrics: map[string]any{},
	}
	f := e.newFilling(r, &a, items != nil)
	if items != nil {
		if err := f.read(ctx, items, yield); err != nil {
			var ended *endedError
			if !errors.As(err, &ended) {
				return d, err
			}
			return e.failedFilter(ended.cause), nil
		}
	}
	if err := f.numbers(ctx, &d); err != nil {
		return e.failedFilter(err), nil
	}
	return d, nil
}

// errOtherRevision guards the Basis of an authorization, which refers to the tables of
// its revision.
var errOtherRevision = errors.New("the authorization belongs to another revision")

// endedError is an evaluation error met while items were read.
type endedError struct{ cause error }

func (e *endedError) Error() string { return e.cause.Error() }

// failedFilter denies a request whose items or numbers failed.
func (e *Engine) failedFilter(cause error) decision.VisibilityDecision {
	d := decision.VisibilityDecision{}.Failed(cause.Error())
	d.Revision = e.revision
	return d
}
