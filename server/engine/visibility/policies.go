// Package visibility answers at the visibility point from the tables of one revision: it
// authorizes requests, filters items, computes numbers and lists policies. It knows
// neither Rego nor bundles.
//
// # Design
//
// Go code does what the rules of writ.visibility do, which remain in the bundle for a
// stock OPA and are compared with this package in random worlds. Both read the same
// tables. OPA takes a hundred times as long for an authorization, whose cost would
// dominate a request, and a list can be too long for OPA to filter within the timeout.
// Arithmetic calls OPA's built-in functions, so that both compute the same numbers.
package visibility

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/overdue"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/tables"
)

// Options configure Policies. Now, Timeout and Overdue are required.
type Options struct {
	// Cluster is the only cluster that is decided on; empty stands for all.
	Cluster string
	// Now is the clock.
	Now func() time.Time
	// Timeout bounds an authorization.
	Timeout time.Duration
	// Overdue has the places of long authorizations.
	Overdue *overdue.Runner
	// MaxColumns bounds in bytes what a request keeps of its items for aggregations, and
	// Columns is the budget of all requests together; zero means a default and nil
	// unlimited. Refused, if not nil, records requests that exceed one of them.
	MaxColumns int
	Columns    *limits.Budget
	Refused    func(metrics.Reason)
}

// Policies answers by the visibility tables of one revision. It is immutable and safe
// for concurrent use.
type Policies struct {
	*index
	revision string
	options  Options
}

// At returns the same policies at an instant.
func (p *Policies) At(now time.Time) *Policies {
	then := *p
	then.options.Now = func() time.Time { return now }
	return &then
}

// New indexes the tables of a revision; nil means empty tables. Equal tables of last,
// which may be nil, are not indexed again. It returns an error if the tables are
// malformed.
func New(revision string, t *tables.Visibility, o Options, last *Policies) (*Policies, error) {
	t = tables.OrEmpty(t)
	o.MaxColumns, o.Columns = cmp.Or(o.MaxColumns, defaultMaxColumns), cmp.Or(o.Columns, new(limits.Budget))
	p := &Policies{revision: revision, options: o}
	if last != nil && reflect.DeepEqual(last.tables, t) {
		p.index = last.index
	} else {
		var err error
		if p.index, err = newIndex(t); err != nil {
			return nil, fmt.Errorf("index the tables of visibility: %w", err)
		}
	}
	return p, nil
}

// Visibility authorizes a request, without filtering its items or computing its numbers.
func (p *Policies) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	now := p.options.Now()
	a, err := p.authorize(ctx, r, now)
	if err != nil {
		a = decision.FailedAuthorization(err.Error())
	}
	a.Revision = p.revision
	return a
}

// maxDirect is the length of the longest cluster name that the caller's own goroutine
// matches with patterns.
const maxDirect = 256

// authorize is index.authorize within the timeout. It returns an error if the evaluation
// does not end on time.
func (p *Policies) authorize(ctx context.Context, r *decision.VisibilityRequest, now time.Time) (decision.Authorization, error) {
	if err := checkClock(now); err != nil {
		return decision.Authorization{}, err
	}
	if err := tables.CheckCluster(p.options.Cluster, r.Cluster.Name); err != nil {
		return decision.Authorization{}, err
	}
	if len(r.Cluster.Name) <= maxDirect {
		return p.index.authorize(ctx, r, now)
	}
	return overdue.Run(ctx, p.options.Overdue, "", p.options.Timeout, func(topdown.Cancel) (decision.Authorization, error) {
		return p.index.authorize(ctx, r, now)
	})
}

// checkClock returns an error for a time that OPA's clock, which has nanoseconds in 64
// bits, cannot represent: a stock OPA would read another time.
func checkClock(now time.Time) error {
	if year := now.UTC().Year(); year < 1678 || year > 2261 {
		return fmt.Errorf("the time %s is out of the range policies are evaluated in", now.UTC().Format(time.RFC3339))
	}
	return nil
}

// FilterItems filters items and computes numbers by an authorization of this revision.
func (p *Policies) FilterItems(ctx context.Context, r *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	if a.Revision != p.revision {
		return p.failedFilter(errOtherRevision), nil
	}
	d := decision.VisibilityDecision{Authorization: a, Visible: []int{}}
	if items == nil && len(r.Aggregations) == 0 && r.Metrics == nil {
		return d, nil
	}
	d.Aggregations, d.Metrics = map[string]any{}, map[string]any{}
	f := p.newFilter(r, &a, items != nil)
	defer f.columns.release()
	if items != nil {
		if err := f.filterItems(ctx, items, yield); err != nil {
			var failed *filterError
			if !errors.As(err, &failed) {
				return d, err
			}
			p.recordRefusal(failed.cause)
			return p.failedFilter(failed.cause), nil
		}
	}
	if err := f.computeNumbers(ctx, &d); err != nil {
		return p.failedFilter(err), nil
	}
	return d, nil
}

// recordRefusal records a request that was denied for the memory of its items.
func (p *Policies) recordRefusal(cause error) {
	switch {
	case p.options.Refused == nil:
	case errors.Is(cause, errTooManyItems):
		p.options.Refused(metrics.LargeStream)
	case errors.Is(cause, errItemsInUse):
		p.options.Refused(metrics.StreamsInUse)
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
func (p *Policies) failedFilter(cause error) decision.VisibilityDecision {
	d := decision.VisibilityDecision{}.Failed(cause.Error())
	d.Revision = p.revision
	return d
}
