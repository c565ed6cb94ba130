package cache

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// pass is a policy of the renewer below: those it is for may view, from and until
// given instants. It stands on a line, which is no part of what it says.
type pass struct {
	names, groups []string
	from, until   time.Time // zero: no bound; until is within
	says          string
	line          int
}

// world is one revision of passes and of the types that have a source.
type world struct {
	revision string
	passes   map[string]pass
	sources  map[string]string // what is said of a type
}

// renewer answers by a world that tests swap. The first pass by name that is for
// the principal and holds decides.
type renewer struct {
	reviewer
	world atomic.Pointer[world]
	clock atomic.Int64 // seconds
	views atomic.Int64 // how often it was asked
	// meanwhile, if set, is called in each evaluation, after the world was read;
	// afterwards, when all is done; and renewing before anything is renewed.
	meanwhile, afterwards, renewing func()
}

func newRenewer(w *world) *renewer {
	r := &renewer{}
	r.world.Store(w)
	return r
}

func (n *renewer) now() time.Time { return time.Unix(n.clock.Load(), 0) }

func (n *renewer) Revision() string { return n.world.Load().revision }

func (p *pass) isFor(r *decision.VisibilityRequest) bool {
	return slices.ContainsFunc(r.Names(), func(name string) bool { return slices.Contains(p.names, name) }) ||
		slices.ContainsFunc(r.Groups, func(group string) bool { return group != "" && slices.Contains(p.groups, group) })
}

func (n *renewer) Authorize(_ context.Context, r *decision.VisibilityRequest) decision.Authorization {
	if n.afterwards != nil {
		defer n.afterwards()
	}
	w := n.world.Load()
	n.views.Add(1)
	if n.meanwhile != nil {
		n.meanwhile()
	}
	now := n.now()
	a := decision.Authorization{Decision: decision.VisibleNone, Reason: "none", Revision: w.revision}
	if r.Action == "trouble" {
		a = decision.DenyVisibility("trouble")
		a.Revision = w.revision
		return a
	}
	for _, name := range slices.Sorted(maps.Keys(w.passes)) {
		p := w.passes[name]
		if !p.isFor(r) {
			continue
		}
		for _, bound := range p.bounds() {
			if bound.After(now) && (a.Expires.IsZero() || bound.Before(a.Expires)) {
				a.Expires = bound
			}
		}
		holds := (p.from.IsZero() || !now.Before(p.from)) && (p.until.IsZero() || !now.After(p.until))
		if holds && a.Decision == decision.VisibleNone {
			a.Decision, a.Policy = decision.VisibleAll, name
			a.Reason = fmt.Sprint(p.says, " of ", r.Cluster.Name, r.Type, r.Action, w.sources[r.Type])
			a.Matched = []decision.Matched{{Name: name, Source: fmt.Sprint("p.yaml:", p.line)}}
			a.Basis = w.revision
		}
	}
	return a
}

// bounds are the instants at which p begins or has ended.
func (p *pass) bounds() (out []time.Time) {
	if !p.from.IsZero() {
		out = append(out, p.from)
	}
	if !p.until.IsZero() {
		out = append(out, p.until.Add(1))
	}
	return out
}

func (n *renewer) Grounds() *decision.Grounds {
	w := n.world.Load()
	g := &decision.Grounds{
		Revision: w.revision, Policies: map[decision.DocumentName]decision.PolicyGround{}, Sources: map[decision.DocumentName]decision.SourceGround{},
	}
	for name, p := range w.passes {
		p.line = 0
		g.Policies[decision.DocumentName{Name: name}] = decision.PolicyGround{Hash: fmt.Sprint(p), Names: p.names, Groups: p.groups}
	}
	for typ, says := range w.sources {
		g.Sources[decision.DocumentName{Name: typ}] = decision.SourceGround{Hash: says, Type: typ}
	}
	return g
}

func (n *renewer) Renew(a decision.Authorization) (decision.Authorization, bool) {
	if n.renewing != nil {
		n.renewing()
	}
	w := n.world.Load()
	a.Revision, a.Matched = w.revision, slices.Clone(a.Matched)
	for i := range a.Matched {
		p, found := w.passes[a.Matched[i].Name]
		if !found {
			return a, false
		}
		a.Matched[i].Source, a.Basis = fmt.Sprint("p.yaml:", p.line), w.revision
	}
	return a, true
}

func (n *renewer) View(ctx context.Context, r *decision.VisibilityRequest) decision.VisibilityDecision {
	return decision.ViewBy(ctx, n, r, n.Authorize(ctx, r))
}

func (n *renewer) Show(ctx context.Context, r *decision.VisibilityRequest, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	return n.Fill(ctx, r, n.Authorize(ctx, r), items, yield)
}

// Fill shows every item where anything is allowed.
func (n *renewer) Fill(_ context.Context, _ *decision.VisibilityRequest, a decision.Authorization, items iter.Seq2[decision.Item, error], yield func(int) error) (decision.VisibilityDecision, error) {
	d := decision.VisibilityDecision{Authorization: a}
	if items == nil {
		return d, nil
	}
	index := 0
	for range items {
		if a.Decision != decision.VisibleNone {
			if err := yield(index); err != nil {
				return d, err
			}
		}
		index++
	}
	return d, nil
}

func (w *world) copy(revision string) *world {
	out := &world{revision: revision, passes: map[string]pass{}, sources: map[string]string{}}
	maps.Copy(out.passes, w.passes)
	maps.Copy(out.sources, w.sources)
	return out
}
