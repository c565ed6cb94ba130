// Package filters answers under which condition rows of a table are visible or allowed: the
// question of a list, which no decision on one item answers. A body and the policies of a
// revision come in; a filter goes out. It knows no protocol.
package filters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/visibility"
	"github.com/writ-policy/writ/translator/dates"
)

// Points are the points that have filters.
var Points = []string{decision.Visibility, decision.Access}

// Answer is a filter as endpoints and commands write it.
type Answer struct {
	Kind  filter.Kind `json:"kind"`
	Exact bool        `json:"exact"`
	// Query and Args are absent for Kubernetes, Args also for UCAST.
	Query any   `json:"query,omitempty"`
	Args  []any `json:"args,omitzero"`
	*ForKubernetes
	// Until is nil without a boundary of time.
	Until    *string            `json:"until"`
	Revision string             `json:"revision"`
	Matched  []decision.Matched `json:"matched"`
	Values   any                `json:"values,omitempty"`

	text []byte // of an answer that a cache keeps
}

// ForKubernetes is what a filter is for an API server. It is nil for other targets.
type ForKubernetes struct {
	Requests []filter.ListRequest `json:"requests"`
	// Residual is to be applied to what the requests return, nil if that is exact.
	Residual *filter.Node `json:"residual"`
}

// JSON returns the answer as a line of JSON, which must not be modified.
func (a *Answer) JSON() []byte {
	if a.text != nil {
		return a.text
	}
	return jsontext.Line(a)
}

// Record returns what is recorded of an answer to the question.
func (q *Question) Record(a *Answer) *decision.Filter {
	f := &decision.Filter{Point: decision.Access, Access: q.access, Visibility: q.visibility, Target: q.target, Kind: string(a.Kind), Hash: a.Hash()}
	if q.access == nil {
		f.Point = decision.Visibility
	}
	return f
}

// IsCEL reports whether the filter is an expression of CEL and not of SQL, where it is a text.
func (q *Question) IsCEL() bool { return q.target == "cel" }

// EvaluationError is the error of a filter for which the evaluation failed.
type EvaluationError string

func (e EvaluationError) Error() string { return string(e) }

// ErrIncomplete is the error of a bundle that lacks what filters are made of.
var ErrIncomplete = errors.New("the bundle lacks the tables of deny policies: build it again")

// Answer returns the filter by p. The error is a *filter.UntranslatableError, an
// EvaluationError, ErrIncomplete or a tables.OtherClusterError.
//
// Policies with a cache keep the answer for others with the same projection, so that it must
// not be modified.
func (q *Question) Answer(ctx context.Context, p decision.Policies) (*Answer, error) {
	p = p.AtNow()
	cached, ok := p.(decision.ValueCache)
	if !ok {
		return q.answer(ctx, p)
	}
	found, err := cached.Value(ctx, q.key(p), func() (decision.CachedValue, error) {
		a, err := q.answer(ctx, p)
		if err != nil {
			return decision.CachedValue{}, err
		}
		a.text = jsontext.Line(a)
		kept := decision.CachedValue{Value: a, Bytes: 3 * len(a.text)}
		if a.Until != nil {
			kept.Expires, err = time.Parse(time.RFC3339Nano, *a.Until)
		}
		return kept, err
	})
	if err != nil {
		return nil, err
	}
	return found.(*Answer), nil
}

// key is the key of the answer in a cache. The projection of a request at the point access
// is that of one row: what is open may tell apart what it does not, so that the key has the
// whole request.
func (q *Question) key(p decision.Policies) string {
	if q.access != nil {
		return decision.Access + q.shape + string(q.access.Completed(p).Encode())
	}
	key, _ := p.Key([]byte(decision.Visibility+q.shape), q.visibility) // what has no key has no cache
	return string(key)
}

// Hash identifies the condition with its parameters.
func (a *Answer) Hash() string {
	sum := sha256.Sum256(jsontext.Line([]any{a.Query, a.Args, a.ForKubernetes}))
	return hex.EncodeToString(sum[:])
}

func (q *Question) answer(ctx context.Context, p decision.Policies) (*Answer, error) {
	out := &Answer{Revision: p.Loaded().Revision, Matched: []decision.Matched{}}
	condition, err := q.condition(ctx, p, out)
	if err != nil {
		return nil, err
	}
	f, err := condition.Print(q.target, q.columns, q.first)
	if err != nil {
		return nil, err
	}
	out.Kind, out.Exact, out.Query, out.Args = f.Kind, f.Exact, f.Query, slices.Clip(f.Args)
	if f.Requests != nil {
		out.ForKubernetes = &ForKubernetes{f.Requests, f.Residual}
	}
	return out, nil
}

func (q *Question) condition(ctx context.Context, p decision.Policies, out *Answer) (filter.Condition, error) {
	world := worldOf(p)
	if world == nil {
		return filter.Condition{}, ErrIncomplete
	}
	if q.access != nil {
		return q.allowed(ctx, world, p, out)
	}
	a := p.Visibility(ctx, q.visibility)
	if a.EvaluationError != "" {
		return filter.Condition{}, EvaluationError(a.EvaluationError)
	}
	out.Matched = a.Matched
	out.Until = untilOf(world, a.Expires)
	r := q.visibility
	if a.Decision == decision.VisibleNone || len(a.Matched) == 0 || r.IsCustom() && r.Cluster.Name == "" {
		return filter.Hidden(r.Type), nil
	}
	m := &a.Matched[0]
	rule, source := world.MonitorRule(m.Namespace, m.Name, m.Rule, r.Type)
	if rule == nil {
		return filter.Condition{}, EvaluationError("the rule that decides is not in the tables")
	}
	if slices.Contains(a.Permissions, decision.ActionViewMetrics) {
		out.Values = visibility.Shown(rule, r.Type, source, a.Decision == decision.VisibleAll)
	}
	return filter.Visible(rule, r.Type, source, a.Decision == decision.VisibleAll), nil
}

// untilOf returns the end of an answer as text, nil without one: of a policy the last
// instant at which it holds.
func untilOf(w *statement.World, expires time.Time) *string {
	if expires.IsZero() {
		return nil
	}
	if before := expires.Add(-1); w.EndsAt(before) {
		expires = before
	}
	text := dates.Format(expires)
	return &text
}
