package gateway

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// labelNamespace is the label that every namespace has: its name.
const labelNamespace = "kubernetes.io/metadata.name"

// routes attaches routes to the listeners that accept them.
func (r *resolver) routes() {
	cycles := newRouteCycles(r.routeDocuments)
	selectors := make(map[*document.Listener]labels.Selector)
	for _, d := range r.routeDocuments {
		route := resolvedRoute{Document: d}
		receptions := r.receptions(d, selectors)
		for i := range d.Parents {
			parent := &d.Parents[i]
			if parent.Kind.Value != tables.KindGateway {
				r.otherParent(cycles, d, parent)
				continue
			}
			route.Listeners = append(route.Listeners, r.parent(d, parent, receptions)...)
		}
		r.out.Routes = append(r.out.Routes, route)
	}
	r.oneKind()
}

// parent is the listeners that a parentRef puts a route on, without those of the parentRefs before.
func (r *resolver) parent(d *document.Route, p *document.ParentRef, receptions func(*document.Gateway) []reception) []attachment {
	id := directory.Identity{Family: document.FamilyGateway, Kind: tables.KindGateway, Namespace: p.Namespace.Value, Name: p.Name.Value}
	gateway, ok := r.Find(id).(*document.Gateway)
	if !ok {
		r.missing(&d.Header, diag.ParentNotFound, tables.KindGateway, p.Namespace.Value, p.Name,
			"declare it in this directory, or set namespace in the parentRef")
		return nil
	}
	var out []attachment
	named, accepted, why, received := false, false, "", receptions(gateway)
	for i := range gateway.Listeners {
		l := &gateway.Listeners[i]
		if p.Section.Value != "" && p.Section.Value != l.Name.Value {
			continue
		}
		named = true
		isOtherPort := p.Port != 0 && p.Port != l.Port
		switch {
		case received[i].refusal == "" && !isOtherPort:
			accepted = true
			if !received[i].isTaken {
				received[i].isTaken = true
				out = append(out, attachment{gateway, i})
			}
		case why != "":
		case isOtherPort:
			why = fmt.Sprintf("listener %q does not: its port is %d", l.Name.Value, l.Port)
		default:
			why = fmt.Sprintf("listener %q does not: %s", l.Name.Value, received[i].refusal)
		}
	}
	switch object := p.Namespace.Value + "/" + p.Name.Value; {
	case accepted:
	case !named && p.Section.Value != "":
		r.missingSection(&d.Header, diag.ParentNotFound, p.Section, tables.KindGateway, object, sectionNames(gateway, nil))
	case !r.Partial && why != "":
		r.List.Add(p.Name.Diagnostic(diag.Warning, diag.RouteNotAccepted, why,
			"the route is not accepted by any listener of Gateway %s: no traffic of it gets there", object))
	}
	return out
}

// reception is what a listener does with a route.
type reception struct {
	refusal string // why it does not accept the route; empty if it does
	isTaken bool   // a parentRef has put the route on it
}

// receptions returns a function that gives the receptions of a route by the listeners of a Gateway. They
// are found once: a route may name a Gateway in many parentRefs.
func (r *resolver) receptions(
	d *document.Route, selectors map[*document.Listener]labels.Selector,
) func(*document.Gateway) []reception {
	hosts, byGateway := hostnamesOf(d.Hostnames), make(map[*document.Gateway][]reception)
	return func(g *document.Gateway) []reception {
		received, isKnown := byGateway[g]
		if !isKnown {
			received = make([]reception, len(g.Listeners))
			for i := range g.Listeners {
				received[i].refusal = r.refusal(g, &g.Listeners[i], d, hosts, selectors)
			}
			byGateway[g] = received
		}
		return received
	}
}

// refusal returns the reason why a listener does not accept a route, or "" if it does.
func (r *resolver) refusal(
	g *document.Gateway, l *document.Listener, d *document.Route, hosts hostnames, selectors map[*document.Listener]labels.Selector,
) string {
	switch {
	case l.Protocol != "HTTP" && l.Protocol != "HTTPS":
		return fmt.Sprintf("its protocol is %s", l.Protocol)
	case len(l.Kinds) > 0 && !slices.Contains(l.Kinds, d.Kind):
		return "its allowedRoutes.kinds has no " + d.Kind
	case l.From == "None":
		return "it allows routes of no namespace"
	case l.From == "Same" && d.Namespace != g.Namespace:
		return fmt.Sprintf("it allows routes of its own namespace %q only; say allowedRoutes: {namespaces: {from: All}} for others", g.Namespace)
	case l.From == "Selector" && !r.selects(l, d.Namespace, selectors):
		return fmt.Sprintf("its selector does not fit namespace %q", d.Namespace)
	case !hosts.meet(l.Hostname):
		return fmt.Sprintf("its hostname is %q, the route's are %s", l.Hostname, hosts)
	}
	return ""
}

// selects reports whether a listener's selector fits a namespace by its name.
func (r *resolver) selects(l *document.Listener, namespace string, selectors map[*document.Listener]labels.Selector) bool {
	selector, ok := selectors[l]
	if !ok {
		var err error
		if l.Namespaces == nil {
			selector = labels.Nothing()
		} else if selector, err = syntax.CompileSelector(*l.Namespaces); err != nil {
			selector = labels.Nothing()
			r.List.Add(diag.Diagnostic{
				Position: l.Namespaces.At,
				Code:     diag.Value,
				Message:  fmt.Sprintf("the selector of listener %q cannot be used: %v", l.Name.Value, err),
			})
		}
		selectors[l] = selector
	}
	return selector.Matches(labels.Set{labelNamespace: namespace})
}

// otherParent reports a parent that is not a Gateway: a cycle of routes once, at the
// first of them.
func (r *resolver) otherParent(cycles *routeCycles, d *document.Route, p *document.ParentRef) {
	at := p.Kind.Diagnostic(diag.Error, diag.ParentKind, "write kind: Gateway, or leave kind out",
		"the parent of a route must be a Gateway, not %s", p.Kind.Value)
	if p.Kind.Value == "ListenerSet" {
		at.Hint = "policies are not enforced below a ListenerSet: attach the route to the Gateway"
		at.Severity = d.DanglingSeverity()
	}
	switch cycle, first := cycles.cycleOf(d, p); {
	case cycle == nil:
	case !first:
		return // reported with the cycle
	default:
		at.Code = diag.Cycle
		at.Message = fmt.Sprintf("the parents of these routes form a circle: %s", strings.Join(cycle, ", "))
		at.Hint = "attach each of these routes to a Gateway"
	}
	r.List.Add(at)
}
