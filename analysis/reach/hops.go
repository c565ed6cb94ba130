package reach

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// best returns the request of an ask that is allowed best in a namespace.
func (x *expansion) best(a *ask, namespace string, facts map[string]any) (found target, v verdict) {
	v.class = never
	for _, resource := range a.resources {
		for _, verb := range a.verbs {
			t := target{verb: verb, group: a.group, namespace: namespace, name: a.name}
			t.resource, t.sub = split(resource)
			if o := x.verdict(t, a.isNamed && a.name == "" && verb != "list" && verb != "watch" && verb != "create" || a.isNamed && t.sub != "" && a.name == "", facts); o.class < v.class {
				t.name = o.name
				found, v = t, o
			}
		}
	}
	return found, v
}

// take adds the hops of an edge.
func (x *expansion) take(e *edge) {
	if e.name == "node-escape" && !x.g.o.NodeEscape || x.isLocal && !e.becomes.isNamespaced() {
		return
	}
	namespaces := []string{""}
	if e.becomes.isNamespaced() {
		all := make(map[string]bool)
		for t := range (&edge{asks: e.asks[:1]}).targets() {
			places := x.places(t)
			if len(places) == len(x.namespaces) {
				all = nil
				break
			}
			for _, namespace := range places {
				all[namespace] = true
			}
		}
		if namespaces = slices.Sorted(maps.Keys(all)); all == nil {
			namespaces = x.everywhere(e, x.namespaces)
		}
	}
	for _, namespace := range namespaces {
		if h, isComplete := x.hopIn(e, namespace); isComplete {
			x.lead(e, h, namespace)
		}
	}
}

// everywhere adds the hops of an edge in all namespaces where nothing but grants for the whole
// cluster decides, by one arc to a set that has them: all who hold such grants share it. It
// returns the namespaces that are left.
func (x *expansion) everywhere(e *edge, namespaces []string) []string {
	if x.g.o.Paths > 1 || x.isLocal || e.becomes != accountsThere || len(namespaces) < len(x.namespaces) || !x.isByCluster(e) {
		return namespaces
	}
	quiet, left := x.quiet(e)
	if len(quiet) == 0 {
		return namespaces
	}
	h, isComplete := x.hopIn(e, quiet[0])
	switch {
	case !isComplete:
		return left
	case h.class != e.class || len(h.facts) > 0:
		return namespaces
	}
	w := x.g.seenBy(nil, x.n.world)
	name := fmt.Sprintf("hops %s", e.name)
	for i := range h.requests {
		t := h.requests[i]
		t.namespace = ""
		name += fmt.Sprintf(" %q", t)
	}
	n := x.g.node(fmt.Sprintf("%s\x00%s\x00%v %s", x.n.world.key, w.key, x.isIdle, name), nil, w)
	if !n.expanded {
		n.expanded, n.hasHops = true, true
		for _, namespace := range quiet {
			there := h
			there.standIn = x.g.o.standIn
			there.requests = slices.Clone(h.requests)
			for i := range there.requests {
				there.requests[i].namespace = namespace
			}
			n.arcs = append(n.arcs, arc{&there, x.accountsOf(namespace, w)})
		}
	}
	x.n.arcs = append(x.n.arcs, arc{to: n})
	return left
}

// isByCluster reports whether only rules of Kubernetes that are granted in the whole cluster
// may decide the requests of an edge, deny policies aside.
func (x *expansion) isByCluster(e *edge) bool {
	acting := x.n.identity.Acting
	if x.n.world.sealed || acting != nil && acting.Mode != legacy {
		return false
	}
	for t := range e.targets() {
		shape := x.n.world.shape(t)
		if slices.ContainsFunc(x.held, func(s *statement.Statement) bool {
			_, isKubernetes := s.Condition.(*statement.KubernetesRule)
			return (!isKubernetes || s.Namespace != "" || s.Effect != statement.OutcomeAllow || s.Opaque != "") && shape.mayFit(s)
		}) {
			return false
		}
	}
	return true
}

// targets are the requests of an edge, without namespace and name.
func (e *edge) targets() iter.Seq[target] {
	return func(yield func(target) bool) {
		for i := range e.asks {
			for _, resource := range e.asks[i].resources {
				for _, verb := range e.asks[i].verbs {
					t := target{verb: verb, group: e.asks[i].group}
					if t.resource, t.sub = split(resource); !yield(t) {
						return
					}
				}
			}
		}
	}
}

// quiet returns the namespaces where no deny policy may fit a request of an edge, and the others.
func (x *expansion) quiet(e *edge) (quiet, left []string) {
	w := x.n.world
	found, known := w.quiet[e]
	if !known {
		for _, namespace := range x.namespaces {
			isDenied := false
			for t := range e.targets() {
				t.namespace = namespace
				isDenied = isDenied || len(w.denying(t)) > 0
			}
			if isDenied {
				found[1] = append(found[1], namespace)
			} else {
				found[0] = append(found[0], namespace)
			}
		}
		w.quiet[e] = found
	}
	return found[0], found[1]
}

// hopIn returns the hop of an edge in a namespace, if all its requests are allowed.
func (x *expansion) hopIn(e *edge, namespace string) (h hop, isComplete bool) {
	h = hop{edge: e.name, class: e.class}
	if e.assumes != "" {
		h.assumes = []string{e.assumes}
	}
	if e.why != "" {
		h.why = []string{e.why}
	}
	for i := range e.asks {
		t, v := x.best(&e.asks[i], namespace, h.facts)
		if v.class == never {
			return h, false
		}
		h.requests = append(h.requests, t)
		h.class = max(h.class, v.class)
		h.why = tables.Once(slices.Concat(h.why, v.why))
		h.facts = merged(h.facts, v.facts)
	}
	return h, true
}

// lead adds the hops of an edge to whom it leads.
func (x *expansion) lead(e *edge, h hop, namespace string) {
	w := x.g.seenBy(nil, x.n.world)
	switch e.becomes {
	case accountsThere:
		x.add(h, x.accountsOf(namespace, w))
	case everyAccount:
		x.add(h, x.accountsOf("", w))
	case everyNode:
		x.add(h, x.accountsOf("", w))
		x.add(h, x.allNodes(w))
	case aSink:
		x.add(h, x.g.at(&Identity{sink: true}, w))
	case anyNode:
		x.add(h, x.allNodes(w))
	case anybody:
		x.add(h, x.set("anybody", w, func() (out []*node) {
			groups := slices.DeleteFunc(slices.Clone(x.g.groups), func(group string) bool { return group == masters || group == unauthenticated })
			users := append([]string{standIn}, slices.Concat(x.g.users, x.g.nodeUsers)...)
			for _, c := range x.g.combined(users, groups, func(group string) bool { return x.g.isApart(w, group) }) {
				out = append(out, x.to(&Identity{User: c.user, Groups: withImplied(c.user, c.groups)}, w))
			}
			for _, account := range x.g.accounts {
				at, name, _ := strings.Cut(account, ":")
				out = append(out, x.to(identityOf(accountUser(at, name)), w))
			}
			return out
		}))
	}
}

// allNodes returns the set of the nodes.
func (x *expansion) allNodes(w *world) *node {
	return x.set("nodes", w, func() (out []*node) {
		for _, user := range append([]string{nodePrefix + standIn}, x.g.nodeUsers...) {
			out = append(out, x.to(identityOf(statement.UserPrefix+user), w))
		}
		return out
	})
}

// tokens adds the hops that request a token of an account.
func (x *expansion) tokens() {
	t := target{verb: "create", resource: "serviceaccounts", sub: "token"}
	for _, namespace := range x.places(t) {
		for _, account := range x.accounts {
			at, name, _ := strings.Cut(account, ":")
			if at != namespace {
				continue
			}
			h := hop{edge: "token"}
			t.namespace, t.name = at, name
			if x.takes(&h, t) {
				x.add(h, x.to(identityOf(accountUser(at, name)), x.g.seenBy(nil, x.n.world)))
			}
		}
	}
}
