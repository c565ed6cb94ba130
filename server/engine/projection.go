package engine

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"sync"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/translator/tables"
)

// projected is what one revision projects requests by, and what decides them.
type projected struct {
	*projection.AccessKeys
	*projection.VisibilityKeys
	*projection.GatewayKeys
	revision string
	cluster  string // the only one that the revision decides on; empty for all
	tree     *match.Tree
	tenants  tables.Tenants
	sessions *match.Sessions // nil without sessions
	// extensions is a hash of the Rego that authors wrote. All other Rego is a function of the
	// tables where a compiled form decides.
	extensions string
	isCompiled bool // a compiled form decides at the access point
	denials    *denyRules
	// gatewayRules are nil if gateway decisions are not cached.
	gatewayRules *gatewayRules
}

// earlier is an earlier revision.
type earlier struct {
	*projected
	change func() change // from it to the present revision, computed at the first call
}

// change is what changed in all documents of some kinds.
type change struct {
	denials  *denyChange
	gateways *gatewayChange
}

// maxEarlier is how many earlier revisions an engine compares itself with. They share most
// of their memory.
const maxEarlier = 16

// project prepares the projections of a bundle that e is activated with. The earlier
// revisions are those of last, which may be nil, the newest first.
func project(b *bundles.Bundle, e, last *Engine) (now *projected, before []earlier) {
	f := b.Footprint
	access := f
	if e.byOPA.at(decision.Access) != nil {
		access = nil // it states what the documents read, and not what other Rego does
	}
	now = &projected{
		revision:       b.Manifest.Revision,
		AccessKeys:     projection.NewAccessKeys(access, e.tree, e.tenants, concerned(e.sessions, e.access.Cluster)),
		VisibilityKeys: projection.NewVisibilityKeys(nil),
		GatewayKeys:    projection.NewGatewayKeys(nil),
		cluster:        e.access.Cluster,
		tree:           e.tree,
		tenants:        e.tenants,
		sessions:       e.sessions,
		extensions:     tables.HashOf(e.stated.Modules),
		denials:        denyRulesOf(e.denials, e.queries.denyResources),
		isCompiled:     e.byOPA.at(decision.Access) == nil,
	}
	if f != nil {
		if e.byOPA.at(decision.Visibility) == nil {
			now.VisibilityKeys = projection.NewVisibilityKeys(f.Visibility)
		}
		// A rule of a policy may ask the access point.
		if now.isCompiled && e.byOPA.at(decision.Gateway) == nil && e.gateways != nil && f.Gateway != nil {
			now.gatewayRules, now.GatewayKeys = gatewayRulesOf(f.Gateway, e.gateways), projection.NewGatewayKeys(f.Gateway)
		}
	}
	if last != nil {
		before = append(before, now.after(last.projected))
		for _, one := range last.earlier[:min(len(last.earlier), maxEarlier-1)] {
			before = append(before, now.after(one.projected))
		}
	}
	return now, before
}

func (p *projected) after(before *projected) earlier {
	return earlier{before, sync.OnceValue(func() change {
		return change{p.denials.changeSince(before.denials), p.gatewayRules.changeSince(before.gatewayRules)}
	})}
}

// Keeps implements decision.Policies. An authorization states the documents that it depends
// on. At the other points the revision of the decision has the same rows of what decides q, and
// q had the key there.
func (e *Engine) Keeps(q decision.Question, d decision.Answer, key []byte) bool {
	switch d := d.(type) {
	case *decision.Authorization:
		return e.byOPA.at(decision.Visibility) == nil && e.Policies.Keeps(q.(*decision.VisibilityRequest), d)
	case *decision.Decision:
		r := q.(*decision.Request)
		return e.keeps(&d.Revision, q, key, func(before *earlier) bool { return e.changesAccess(before, r) })
	case *decision.GatewayDecision:
		r := q.(*decision.GatewayRequest)
		return e.keeps(&d.Revision, q, key, func(before *earlier) bool {
			return e.extensions != before.extensions || before.change().gateways.affects(r, d.Paths)
		})
	}
	return false
}

// keeps sets the revision of a decision if what decides it has not changed since.
func (e *Engine) keeps(revision *string, q decision.Question, key []byte, changes func(before *earlier) bool) bool {
	for i := range e.earlier {
		if before := &e.earlier[i]; before.revision == *revision {
			if changes(before) || !before.hasKey(q, key) {
				return false
			}
			*revision = e.loaded.Revision
			return true
		}
	}
	return false
}

// Key implements decision.Policies. The cluster of an authorization is last: a key of a revision
// for all clusters is not the beginning of another.
func (p *projected) Key(b []byte, q decision.Question) ([]byte, bool) {
	switch q := q.(type) {
	case *decision.Request:
		return p.AccessKey(b, q), true
	case *decision.VisibilityRequest:
		return append(p.VisibilityKey(b, q), p.cluster...), true
	case *decision.GatewayRequest:
		return p.GatewayKey(b, q)
	}
	return b, false
}

func (p *projected) hasKey(q decision.Question, key []byte) bool {
	own, ok := p.Key(nil, q)
	return ok && bytes.Equal(own, key)
}

// changesAccess reports whether the decision on r may differ from that of an earlier revision.
func (p *projected) changesAccess(before *earlier, r *decision.Request) bool {
	if !p.isCompiled || !before.isCompiled || p.extensions != before.extensions || p.cluster != before.cluster ||
		p.tenants.In(r.Scope()) != before.tenants.In(r.Scope()) || p.isChanged(before, r.Namespace, false, r.User) ||
		slices.ContainsFunc(r.Groups, func(group string) bool { return p.isChanged(before, r.Namespace, true, group) }) {
		return true
	}
	return before.change().denials.affects(r) || p.changesSessions(before, r)
}

// changesSessions reports whether what sessions give to r may differ from an earlier
// revision: the user's sessions, the one that r names, what their groups are granted, or
// any deny policy, for users with a session.
func (p *projected) changesSessions(before *earlier, r *decision.Request) bool {
	if p.sessions == nil && before.sessions == nil {
		return false
	}
	now, was := p.heldBy(r), before.heldBy(r)
	if !reflect.DeepEqual(now, was) || !reflect.DeepEqual(p.sessions.Named(r.Session), before.sessions.Named(r.Session)) ||
		len(now.Sessions) > 0 && before.change().denials.isAny {
		return true
	}
	return slices.ContainsFunc(now.Sessions, func(s match.Session) bool {
		return slices.ContainsFunc(s.Groups, func(group string) bool { return p.isChanged(before, r.Namespace, true, group) })
	})
}

func (p *projected) heldBy(r *decision.Request) *match.Held {
	return p.sessions.Of(cmp.Or(r.Cluster, p.cluster), r.User)
}

func (p *projected) isChanged(before *earlier, namespace string, group bool, name string) bool {
	return p.tree.IsChanged(before.tree, "", group, name) || namespace != "" && p.tree.IsChanged(before.tree, namespace, group, name)
}
