package engine

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/match"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/translator/tables"
)

// projected is what one revision projects requests by, and what changed with it.
type projected struct {
	*projection.AccessKeys
	*projection.VisibilityKeys
	*projection.GatewayKeys
	revision string
	cluster  string // the only one that the revision decides on; empty for all
	tree     *match.Tree
	tenants  tables.Tenants
	sessions *match.Sessions // nil without sessions
	// rules is a hash of the Rego that access decisions evaluate, apart from denials.
	rules      string
	isCompiled bool // a compiled form decides at the access point
	denials    denyRules
	denyChange *denyChange // since the revision before; nil for the first one
	// gatewayRules are nil if gateway decisions are not cached.
	gatewayRules  *gatewayRules
	gatewayChange *gatewayChange // since the revision before
}

// maxEarlier is how many earlier revisions an engine compares itself with. They share most
// of their memory.
const maxEarlier = 16

// project prepares the projections of a bundle that e is activated with. The earlier
// revisions are those of last, which may be nil, the newest first.
func project(b *bundles.Bundle, e, last *Engine) (now *projected, earlier []*projected) {
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
		rules:          b.Hash(func(path string) bool { return decidesAccess(path) && !isDenial(path) }),
		denials:        denyRulesOf(b, e),
		isCompiled:     e.byOPA.at(decision.Access) == nil,
	}
	if f != nil {
		if e.byOPA.at(decision.Visibility) == nil {
			now.VisibilityKeys = projection.NewVisibilityKeys(f.Visibility)
		}
		// A rule of a policy may ask the access point.
		if now.isCompiled && e.byOPA.at(decision.Gateway) == nil && e.gateways != nil && f.Gateway != nil {
			now.addGateway(b, f.Gateway, e.gateways)
		}
	}
	if last != nil {
		now.denyChange = now.denials.changeSince(&last.projected.denials)
		now.gatewayChange = now.gatewayRules.changeSince(last.projected.gatewayRules)
		earlier = append([]*projected{last.projected}, last.earlier[:min(len(last.earlier), maxEarlier-1)]...)
	}
	return now, earlier
}

// decidesAccess reports whether access decisions evaluate the module at a path: all
// modules but those of other points.
func decidesAccess(path string) bool {
	if !strings.HasSuffix(path, ".rego") || bundles.IsTest(path) {
		return false
	}
	for _, folder := range [...]string{"compiled/visibility/", "compiled/gateway/", "writ/visibility/", "writ/gateway/"} {
		if strings.HasPrefix(path, folder) {
			return false
		}
	}
	return true
}

// Keeps implements decision.Policies. An authorization states the documents that it depends
// on. At the other points no revision since has changed what decides q, and q had the key in
// the revision of the decision.
func (e *Engine) Keeps(q decision.Question, d decision.Answer, key []byte) bool {
	switch d := d.(type) {
	case *decision.Authorization:
		return e.byOPA.at(decision.Visibility) == nil && e.Policies.Keeps(q.(*decision.VisibilityRequest), d)
	case *decision.Decision:
		r := q.(*decision.Request)
		return e.keeps(&d.Revision, q, key, func(now, before *projected) bool { return now.changesAccess(before, r) })
	case *decision.GatewayDecision:
		r := q.(*decision.GatewayRequest)
		return e.keeps(&d.Revision, q, key, func(now, _ *projected) bool { return now.gatewayChange.affects(r, d.Paths) })
	}
	return false
}

// keeps sets the revision of a decision if nothing that decides it has changed since.
func (e *Engine) keeps(revision *string, q decision.Question, key []byte, changes func(now, before *projected) bool) bool {
	now := e.projected
	for _, before := range e.earlier {
		if changes(now, before) {
			return false
		}
		if before.revision == *revision {
			*revision = e.revision
			return before.hasKey(q, key)
		}
		now = before
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

// changesAccess reports whether the decision on r may differ from that of the revision
// before.
func (p *projected) changesAccess(before *projected, r *decision.Request) bool {
	if !p.isCompiled || !before.isCompiled || p.rules != before.rules || p.cluster != before.cluster || p.tenants.In(r.Scope()) != before.tenants.In(r.Scope()) || p.denyChange.affects(r) || p.isChanged(r.Namespace, false, r.User) {
		return true
	}
	for _, group := range r.Groups {
		if p.isChanged(r.Namespace, true, group) {
			return true
		}
	}
	return p.changesSessions(before, r)
}

// changesSessions reports whether what sessions give to r may differ from the revision
// before: the user's sessions, the one that r names, what their groups are granted, or
// any deny policy, for users with a session.
func (p *projected) changesSessions(before *projected, r *decision.Request) bool {
	if p.sessions == nil && before.sessions == nil {
		return false
	}
	now, was := p.heldBy(r), before.heldBy(r)
	if !reflect.DeepEqual(now, was) || !reflect.DeepEqual(p.sessions.Named(r.Session), before.sessions.Named(r.Session)) ||
		len(now.Sessions) > 0 && p.denyChange.isAny {
		return true
	}
	return slices.ContainsFunc(now.Sessions, func(s match.Session) bool {
		return slices.ContainsFunc(s.Groups, func(group string) bool { return p.isChanged(r.Namespace, true, group) })
	})
}

func (p *projected) heldBy(r *decision.Request) *match.Held {
	return p.sessions.Of(cmp.Or(r.Cluster, p.cluster), r.User)
}

func (p *projected) isChanged(namespace string, group bool, name string) bool {
	return p.tree.IsChanged("", group, name) || namespace != "" && p.tree.IsChanged(namespace, group, name)
}
