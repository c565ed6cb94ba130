package reach

import (
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
		for _, resource := range e.asks[0].resources {
			for _, verb := range e.asks[0].verbs {
				t := target{verb: verb, group: e.asks[0].group}
				t.resource, t.sub = split(resource)
				for _, namespace := range x.places(t) {
					all[namespace] = true
				}
			}
		}
		namespaces = slices.Sorted(maps.Keys(all))
	}
	for _, namespace := range namespaces {
		h := hop{edge: e.name, class: e.class}
		if e.assumes != "" {
			h.assumes = []string{e.assumes}
		}
		if e.why != "" {
			h.why = []string{e.why}
		}
		complete := true
		for i := range e.asks {
			t, v := x.best(&e.asks[i], namespace, h.facts)
			if complete = v.class != never; !complete {
				break
			}
			h.requests = append(h.requests, t)
			h.class = max(h.class, v.class)
			h.why = tables.Once(slices.Concat(h.why, v.why))
			h.facts = merged(h.facts, v.facts)
		}
		if complete {
			x.lead(e, h, namespace)
		}
	}
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
			for _, c := range combined(append([]string{standIn}, slices.Concat(x.g.users, x.g.nodeUsers)...), groups, func(group string) bool { return x.g.isApart(w, group) }) {
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
			if x.takes(&h, t, false) {
				x.add(h, x.to(identityOf(accountUser(at, name)), x.g.seenBy(nil, x.n.world)))
			}
		}
	}
}
