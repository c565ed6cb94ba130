package gateway

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/document"
)

// listenerRoutes are the routes of one namespace on a listener.
type listenerRoutes struct {
	at        attachment
	namespace string
}

// oneKind takes routes off listeners where a route of the other kind and of their
// namespace, which comes before them, has a hostname in common: a host is served by
// HTTPRoutes or by GRPCRoutes. Routes of different namespaces are not taken off, because
// the age in a document is what its author wrote.
func (r *resolver) oneKind() {
	groups := make(map[listenerRoutes][]int)
	var order []listenerRoutes
	for i := range r.out.Routes {
		for _, a := range r.out.Routes[i].Listeners {
			key := listenerRoutes{a, r.out.Routes[i].Document.Namespace}
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], i)
		}
	}
	for _, key := range order {
		if routes := groups[key]; r.mixed(routes) {
			r.detachOtherKinds(key.at, routes)
		}
	}
}

// mixed reports whether there are routes of more than one kind.
func (r *resolver) mixed(routes []int) bool {
	return slices.ContainsFunc(routes, func(i int) bool { return r.out.Routes[i].Document.Kind != r.out.Routes[routes[0]].Document.Kind })
}

// detachOtherKinds gives each hostname of a listener to the oldest route that has it, and
// detaches and reports the routes of another kind with the hostname.
func (r *resolver) detachOtherKinds(at attachment, routes []int) {
	slices.SortFunc(routes, func(i, j int) int {
		a, b := r.out.Routes[i].Document, r.out.Routes[j].Document
		return cmp.Or(compareAges(a.Created, b.Created), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	taken := make(map[string]*hostSet) // by kind
	for _, i := range routes {
		route := &r.out.Routes[i]
		hosts := hostnamesOf(route.Document.Hostnames).common(at.Gateway.Listeners[at.Listener].Hostname)
		refused := ""
		for kind, names := range taken {
			if kind != route.Document.Kind && slices.ContainsFunc(hosts, names.meets) {
				refused = kind
			}
		}
		if refused != "" {
			route.Listeners = slices.DeleteFunc(route.Listeners, func(a attachment) bool { return a == at })
			r.reportOtherKind(route.Document, at, refused)
			continue
		}
		if taken[route.Document.Kind] == nil {
			taken[route.Document.Kind] = newHostSet()
		}
		for _, host := range hosts {
			taken[route.Document.Kind].add(host)
		}
	}
}

// reportOtherKind warns, at each parentRef that names the listener, of a route that the
// listener does not serve.
func (r *resolver) reportOtherKind(d *document.Route, at attachment, kind string) {
	if r.Partial {
		return
	}
	listener := &at.Gateway.Listeners[at.Listener]
	for i := range d.Parents {
		p := &d.Parents[i]
		if p.Namespace.Value != at.Gateway.Namespace || p.Name.Value != at.Gateway.Name ||
			p.Section.Value != "" && p.Section.Value != listener.Name.Value || p.Port != 0 && p.Port != listener.Port {
			continue
		}
		r.List.Add(p.Name.Diagnostic(diag.Warning, diag.RouteNotAccepted, "give the routes different hostnames, or write both as one kind",
			"listener %q of Gateway %s/%s does not accept the %s: one of its hostnames belongs to routes of kind %s in the same namespace",
			listener.Name.Value, at.Gateway.Namespace, at.Gateway.Name, d.Kind, kind))
	}
}
