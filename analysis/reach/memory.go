package reach

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
)

// memory is what the worlds of a search have in common. Most of them grant and deny the same to
// an identity, so that a question is asked in one of them.
type memory struct {
	known    map[string]verdict // by what decides; see likeness
	asks     int                // questions that were not known
	shapes   map[target]*shape
	contents map[string]int // statements, by content
	names    map[statement.Condition][]string
	holdings map[string]int // of what identities hold
	answers  map[asked]verdict
}

// asked is a request of all who hold the same; see holding.
type asked struct {
	holding int
	target
	anyName bool
	stated  string
}

func newMemory() *memory {
	return &memory{
		known: make(map[string]verdict), shapes: make(map[target]*shape), contents: make(map[string]int),
		names: make(map[statement.Condition][]string), holdings: make(map[string]int), answers: make(map[asked]verdict),
	}
}

// maxAnswers bounds the memory of answers: about 100 MB. Few documents lead to as many.
const maxAnswers = 500_000

// keep keeps an answer, in place of all if there are too many.
func (m *memory) keep(a asked, v verdict) {
	if len(m.answers) == maxAnswers {
		clear(m.answers)
	}
	m.answers[a] = v
}

// namesOf returns the names of objects that the condition of a statement tells apart.
func (w *world) namesOf(s *statement.Statement) []string {
	found, known := w.names[s.Condition]
	if !known {
		found = s.Names()
		w.names[s.Condition] = found
	}
	return found
}

// readsPlace reports whether a statement may read the name or the namespace of a request, beside
// that it holds in a namespace.
func readsPlace(s *statement.Statement) bool {
	switch c := s.Condition.(type) {
	case *statement.KubernetesRule:
		return len(c.Names) > 0
	case *statement.OriginRule:
		return c.Restrictions != nil
	}
	return true
}

// holding identifies what decides the requests of an identity, whose statements are held, in
// whatever world. It returns false if that is not known.
func (w *world) holding(i *Identity, held []*statement.Statement) (int, bool) {
	if w.sealed {
		return 0, false
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%q %q", i.Session, i.Escalation)
	if i.Acting != nil && i.Acting.Mode != legacy {
		by, known := w.holding(i.Acting.By, w.held(i.Acting.By))
		if !known {
			return 0, false
		}
		fmt.Fprintf(&key, " %s %d", i.Acting.Mode, by)
	}
	for _, c := range w.changes {
		if c.kind == kindDenyPolicy {
			fmt.Fprintf(&key, " %q", c.key())
		}
	}
	if slices.ContainsFunc(w.Deny, (*statement.Statement).ReadsPod) {
		fmt.Fprintf(&key, " %q", i.key()+w.key)
	}
	for _, s := range held {
		switch {
		case s.Opaque != "":
			return 0, false
		case s.ReadsUser() && strings.HasPrefix(i.User, nodePrefix):
			fmt.Fprintf(&key, " %q", i.User)
		}
		fmt.Fprintf(&key, " %d", w.number(s))
	}
	n, known := w.holdings[key.String()]
	if !known {
		n = len(w.holdings)
		w.holdings[key.String()] = n
	}
	return n, true
}

// likeness identifies what decides a target, in whatever world. It returns false if that is not
// known.
func (w *world) likeness(i *Identity, fits, denials []*statement.Statement, t *target, anyName bool, stated map[string]any) (string, bool) {
	if w.sealed {
		return "", false
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%v %v %q %q %s", *t, anyName, i.Session, i.Escalation, statement.JSONText(stated))
	if slices.ContainsFunc(denials, (*statement.Statement).ReadsPod) {
		for _, e := range w.Escalations() {
			fmt.Fprintf(&key, " %t", statement.MayOverride(e, i.Principals()))
		}
		fmt.Fprintf(&key, " %q", w.key) // the documents decide
	}
	for _, s := range denials {
		fmt.Fprintf(&key, "\x00%d", w.number(s))
	}
	for _, s := range fits {
		switch {
		case s.Opaque != "":
			return "", false
		case s.ReadsUser() && strings.HasPrefix(i.User, nodePrefix): // it compares nodes
			fmt.Fprintf(&key, "\x00%q", i.User)
		}
		fmt.Fprintf(&key, "\x00%d", w.number(s))
	}
	return key.String(), true
}

// number identifies the content of a statement, in whatever world it is.
func (w *world) number(s *statement.Statement) int {
	if n, known := w.numbers[s]; known {
		return n
	}
	own := *s // others may read the statement
	content := statement.ContentOf(&own)
	n, known := w.contents[content]
	if !known {
		n = len(w.contents)
		w.contents[content] = n
	}
	w.numbers[s] = n
	return n
}

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
