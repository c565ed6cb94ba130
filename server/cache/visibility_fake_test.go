package cache

import (
	"context"
	"crypto/sha256"
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

func (n revision) Loaded() *decision.Loaded { return &decision.Loaded{Revision: n.world.revision} }

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
	a := decision.Authorization{Decision: decision.VisibleNone, Reason: "none", Revision: w.revision, Documents: w.documents(r)}
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

// documents is the content of the policies of a request and of the source of its type.
func (w *world) documents(r *decision.VisibilityRequest) [sha256.Size]byte {
	text := fmt.Sprintln(w.sources[r.Type])
	for _, name := range slices.Sorted(maps.Keys(w.passes)) {
		if p := w.passes[name]; p.isFor(r) {
			p.line = 0
			text += fmt.Sprintln(name, p)
		}
	}
	return sha256.Sum256([]byte(text))
}

func (n revision) Keeps(q decision.Question, d decision.Answer, _ []byte) bool {
	w, a, r := n.world, d.(*decision.Authorization), q.(*decision.VisibilityRequest)
	if a.Documents != w.documents(r) {
		return false
	}
	a.Revision, a.Matched = w.revision, slices.Clone(a.Matched)
	for i := range a.Matched {
		a.Matched[i].Source, a.Basis = fmt.Sprint("p.yaml:", w.passes[a.Matched[i].Name].line), w.revision
	}
	return true
}

func (w *world) copy(revision string) *world {
	out := &world{revision: revision, passes: map[string]pass{}, sources: map[string]string{}}
	maps.Copy(out.passes, w.passes)
	maps.Copy(out.sources, w.sources)
	return out
}
