package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// Hits implements decision.Policies. Each rule with restrictions is evaluated alone: the
// findings of several do not say which of them are undecided.
func (e *Engine) Hits(ctx context.Context, r *decision.Request) ([]decision.Hit, error) {
	if e.byOPA.at(decision.Access) != nil {
		return nil, errors.New("the Rego of the bundle decides")
	}
	if err := tables.CheckCluster(e.access.Cluster, r.Cluster); err != nil {
		return nil, err
	}
	now := e.now()
	at := dates.Of(now)
	v := evaluation{request: e.named(r)}
	if v.lent = e.lend(v.request, at); v.lent.debug != nil {
		return nil, errors.New("a DebugSession decides")
	}
	found, _ := holding(v.lent.find(e.tree, v.request), at, dates.Span{})
	slices.SortFunc(found, compareHits)
	out := make([]decision.Hit, len(found))
	for i, h := range found {
		out[i] = decision.Hit{Matched: matched(h), Step: h.Binding.Step(h.Deny()), Verdict: selector.All}
		end(&out[i].Matched, h, v.lent.of(h))
		restrictions := h.Restrictions()
		switch {
		case restrictions == nil:
			continue
		case restrictions.Extension != "" || restrictions.Expression != "":
			out[i].Verdict = selector.Unknown // what an author wrote is not evaluated a second time
			continue
		}
		v.hits = []match.Hit{h}
		f, err := e.findings(ctx, false, v, at.Time())
		switch {
		case err != nil:
			return nil, err
		case len(f.undecided) > 0:
			out[i].Verdict = selector.Unknown
		case len(f.hold) == 0:
			out[i].Verdict = selector.None
		}
	}
	return out, nil
}
