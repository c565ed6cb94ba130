package gateway

import (
	"slices"

	"github.com/writ-policy/writ/tests/oracle/random"
)

// AddRivals adds, for each route, one of another namespace without a policy of its
// own, older than all. It takes a part of the route's hostnames and matches, so that
// it is nowhere more specific. A listener that accepted the rival and not the route would
// route a request by the rival alone: listeners that select namespaces by exception reject
// the rival, and a route that yields to one of the other kind has none.
func (w *World) AddRivals(namespace string) {
	g := random.New(w.seed, 15)
	for _, gateway := range w.Gateways {
		for _, l := range gateway.Listeners {
			if l.From == "Selector" && l.Except {
				l.Namespaces = append(slices.Clone(l.Namespaces), namespace)
			}
		}
	}
	routes := slices.Clone(w.Routes)
	for _, r := range routes {
		if w.yields(r, routes) {
			continue
		}
		rival := &Route{GRPC: r.GRPC, Namespace: namespace, Name: r.Namespace + "-" + r.Name, Created: "1970-01-01T00:00:00Z"}
		for _, parent := range r.Parents {
			if parent.Namespace == "" {
				parent.Namespace = r.Namespace
			}
			rival.Parents = append(rival.Parents, parent)
		}
		rival.Hostnames = r.Hostnames
		if len(r.Hostnames) > 1 && g.Once(2) {
			rival.Hostnames = r.Hostnames[:1]
		}
		for _, rule := range r.Rules {
			copied := &RouteRule{Matches: rule.Matches}
			if len(rule.Matches) > 1 && g.Once(2) {
				copied.Matches = rule.Matches[1:]
			}
			rival.Rules = append(rival.Rules, copied)
		}
		w.Routes = append(w.Routes, rival)
	}
	w.forget()
}

// yields reports whether a listener rejects a route for one of the other kind.
func (w *World) yields(r *Route, routes []*Route) bool {
	for _, gateway := range w.Gateways {
		for _, l := range gateway.Listeners {
			on := attached(routes, gateway, l)
			if slices.Contains(on, r) && !slices.Contains(oneKind(on, l), r) {
				return true
			}
		}
	}
	return false
}
