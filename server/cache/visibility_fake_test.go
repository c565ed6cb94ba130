package cache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// pass is a policy that allows its subjects to view between two instants. Its line is
// not part of its content.
type pass struct {
	names, groups []string
	from, until   time.Time // zero: no bound; until is within
	says          string
	line          int
}

// world is one revision: policies, and types with a metric source.
type world struct {
	revision string
	passes   map[string]pass
	sources  map[string]string // what is said of a type
}

// worlds holds the current revision, which tests replace, and the state that all
// revisions share.
type worlds struct {
	world atomic.Pointer[world]
	clock atomic.Int64 // seconds
	asked atomic.Int64 // how often an authorization was made
	// meanwhile, if set, is called in each evaluation, and its result at the end.
	meanwhile, afterwards func()
}

func newWorlds(w *world) *worlds {
	n := &worlds{}
	n.world.Store(w)
	return n
}

func (n *worlds) now() time.Time { return time.Unix(n.clock.Load(), 0) }

// current returns the policies of the current world.
func (n *worlds) current() revision { return revision{worlds: n, world: n.world.Load()} }

// revision implements Policies for one world. The first active pass by name whose
// subjects include the principal decides.
type revision struct {
	decision.Unavailable
	*worlds
	world *world
}

func (n revision) Revision() string { return n.world.revision }

func (revision) Key(b []byte, q decision.Question) ([]byte, bool) {
	return q.(*decision.VisibilityRequest).AppendKey(b), true
}

func (p *pass) isFor(r *decision.VisibilityRequest) bool {
	return slices.ContainsFunc(r.Names(), func(name string) bool { return slices.Contains(p.names, name) }) ||
		slices.ContainsFunc(r.Groups, func(group string) bool { return group != "" && slices.Contains(p.groups, group) })
}

func (n revision) Visibility(_ context.Context, r *decision.VisibilityRequest) decision.Authorization {
	if n.afterwards != nil {
		defer n.afterwards()
	}
	w := n.world
	n.asked.Add(1)
	if n.meanwhile != nil {
		n.meanwhile()
	}
	now := n.now()
	a := decision.Authorization{Decision: decision.VisibleNone, Reason: "none", Revision: w.revision}
	if r.Action == "fail" {
		a = decision.FailedAuthorization("failed")
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

// bounds returns the instants at which p begins or has ended.
func (p *pass) bounds() (out []time.Time) {
	if !p.from.IsZero() {
		out = append(out, p.from)
	}
	if !p.until.IsZero() {
		out = append(out, p.until.Add(1))
	}
	return out
}

func (n revision) Fingerprints() *decision.Fingerprints {
	w := n.world
	g := &decision.Fingerprints{
		Revision: w.revision, Policies: map[decision.DocumentName]decision.PolicyFingerprint{}, Sources: map[decision.DocumentName]decision.SourceFingerprint{},
	}
	for name, p := range w.passes {
		p.line = 0
		g.Policies[decision.DocumentName{Name: name}] = decision.PolicyFingerprint{Hash: fmt.Sprint(p), Names: p.names, Groups: p.groups}
	}
	for typ, says := range w.sources {
		g.Sources[decision.DocumentName{Name: typ}] = decision.SourceFingerprint{Hash: says, Type: typ}
	}
	return g
}

func (n revision) Revalidate(a decision.Authorization) (decision.Authorization, bool) {
	w := n.world
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

func (w *world) copy(revision string) *world {
	out := &world{revision: revision, passes: map[string]pass{}, sources: map[string]string{}}
	maps.Copy(out.passes, w.passes)
	maps.Copy(out.sources, w.sources)
	return out
}
