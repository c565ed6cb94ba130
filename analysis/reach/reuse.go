package reach

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// earlier is the search of another revision, from which nodes take their arcs that hold the
// same statements in both: an arc depends on nothing else unless it writes documents,
// impersonates or is lent.
type earlier struct {
	*graph
	mapped []*node         // by the number of a node of the earlier search
	same   map[string]bool // principals, by whether they hold the same statements
}

// reuse takes arcs from an earlier search, if both know the same identities and deny policies.
func (g *graph) reuse(before *graph) {
	if before == nil || len(g.lent)+len(before.lent) > 0 || !isSame(g.worlds[""].Deny, before.worlds[""].Deny) {
		return
	}
	for i, list := range [][]string{g.accounts, g.users, g.nodeUsers, g.groups, g.namespaces, g.sessions, g.escalated} {
		if !slices.Equal(list, [][]string{before.accounts, before.users, before.nodeUsers, before.groups, before.namespaces, before.sessions, before.escalated}[i]) {
			return
		}
	}
	g.before = &earlier{before, make([]*node, len(before.order)), make(map[string]bool)}
}

// reused gives a node the arcs that it has in the earlier search. It reports whether they are
// the same in this one.
func (g *graph) reused(n *node) bool {
	if g.before == nil || len(n.world.changes) > 0 {
		return false
	}
	old := g.before.nodes[n.key]
	if old == nil || !old.isPlain || !g.holdsSame(n.identity) {
		return false
	}
	n.isPlain, n.sorted = true, old.sorted
	for _, a := range old.arcs {
		n.arcs = append(n.arcs, arc{a.hop, g.takeOver(a.to)})
	}
	return true
}

// takeOver returns the node of the earlier search in this one, with its members if it is a set.
func (g *graph) takeOver(old *node) *node {
	if n := g.before.mapped[old.number]; n != nil {
		return n
	}
	n := g.node(old.key, old.identity, g.worlds[""])
	g.before.mapped[old.number], n.isIdle = n, old.isIdle
	if old.identity == nil && !n.expanded {
		n.expanded, n.hasHops = true, old.hasHops
		for _, a := range old.arcs {
			n.arcs = append(n.arcs, arc{a.hop, g.takeOver(a.to)})
		}
	}
	return n
}

// holdsSame reports whether an identity, and who acts by it, hold the same statements in the
// earlier search.
func (g *graph) holdsSame(i *Identity) bool {
	for ; i != nil; i = i.by() {
		for _, p := range i.Principals() {
			same, known := g.before.same[p]
			if !known {
				same = isSame(g.worlds[""].Of(p, ""), g.before.worlds[""].Of(p, ""))
				g.before.same[p] = same
			}
			if !same {
				return false
			}
		}
	}
	return true
}

// by returns the identity that acts as this one, nil without one.
func (i *Identity) by() *Identity {
	if i.Acting == nil {
		return nil
	}
	return i.Acting.By
}

// isSame reports whether two lists of statements decide alike.
func isSame(a, b []*statement.Statement) bool {
	return slices.EqualFunc(a, b, func(a, b *statement.Statement) bool {
		return a == b || a.Effect == b.Effect && a.Namespace == b.Namespace && a.Step == b.Step && bytes.Equal(a.Rank, b.Rank) &&
			a.Opaque == "" && b.Opaque == "" && a.Session == nil && b.Session == nil && reflect.DeepEqual(a.Dates, b.Dates) && statement.ContentOf(a) == statement.ContentOf(b)
	})
}

// isPlain reports whether the arcs of a node depend on what it holds alone: it can neither
// write documents nor impersonate, and no session is lent to it.
func (x *expansion) isPlain() bool {
	w, i := x.n.world, x.n.identity
	if len(w.changes) > 0 || w.sealed || i.Session != "" || i.Escalation != "" || slices.ContainsFunc(x.held, func(s *statement.Statement) bool { return s.Opaque != "" }) {
		return false
	}
	may := func(verbs []string, group string, resources ...string) bool {
		return slices.ContainsFunc(verbs, func(verb string) bool {
			return slices.ContainsFunc(resources, func(r string) bool { return x.mayAsk(verb, group, r) })
		})
	}
	for _, mode := range modes {
		if may([]string{mode.verb}, mode.group, "users", "groups", "serviceaccounts", "nodes") {
			return false
		}
	}
	changing := append([]string{"delete"}, writes...)
	return !may([]string{"bind", "escalate"}, rbacGroup, "roles", "clusterroles") && !may([]string{"approve"}, certificates, "signers") &&
		!may(changing, writGroup, "roles", "rolebindings", "policies", "policybindings") && !may(changing, denyGroup, "denypolicies", "breakglassescalations")
}
