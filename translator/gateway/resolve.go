package gateway

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// whole is the section of a policy that targets an object as a whole.
const whole = -1

// resolvedRoute is a route with the listeners it is on, each once.
type resolvedRoute struct {
	Document  *document.Route
	Listeners []attachment
}

// attachment is a listener of a gateway, by its index there.
type attachment struct {
	Gateway  *document.Gateway
	Listener int
}

// resolvedPolicy is a policy with what it targets: a gateway or a route, and the
// index of a listener or rule there, or Whole. One that is rejected has neither.
type resolvedPolicy struct {
	Document *document.InheritedPolicy
	Gateway  *document.Gateway
	Route    *document.Route
	Section  int
	Rejected tables.Rejection
}

// resolution is the gateways, routes and policies of a directory with their
// references followed, in the order of positions.
type resolution struct {
	Partial           bool // some document could not be read
	Gateways          []*document.Gateway
	Routes            []resolvedRoute
	InheritedPolicies []resolvedPolicy
}

// resolver is the state of following the references of one directory.
type resolver struct {
	*directory.Directory
	out               *resolution
	routeDocuments    []*document.Route
	inheritedPolicies []*document.InheritedPolicy
	// conflicts holds the policies whose identity another one has.
	conflicts map[*document.InheritedPolicy]tables.Rejection
	// elsewhere finds a gateway or route by kind and name, whatever its namespace.
	elsewhere map[[2]string]*syntax.Header
}

// newResolver deals the documents of the directory out. A policy that repeats
// another's identity is among the policies, rejected.
func newResolver(d *directory.Directory) *resolver {
	r := &resolver{
		Directory:         d,
		out:               &resolution{Partial: d.Partial, Gateways: directory.DocumentsOf[*document.Gateway](d)},
		routeDocuments:    directory.DocumentsOf[*document.Route](d),
		inheritedPolicies: directory.DocumentsOf[*document.InheritedPolicy](d),
		conflicts:         make(map[*document.InheritedPolicy]tables.Rejection),
		elsewhere:         make(map[[2]string]*syntax.Header),
	}
	for _, repeated := range d.Repeated {
		if policy, ok := repeated.(*document.InheritedPolicy); ok {
			r.conflicts[policy] = tables.Conflicted
			r.inheritedPolicies = append(r.inheritedPolicies, policy)
		}
	}
	slices.SortStableFunc(r.inheritedPolicies, func(a, b *document.InheritedPolicy) int { return directory.ComparePositions(a, b) })
	for _, gateway := range r.out.Gateways {
		r.elsewhere[[2]string{gateway.Kind, gateway.Name}] = &gateway.Header
	}
	for _, route := range r.routeDocuments {
		r.elsewhere[[2]string{route.Kind, route.Name}] = &route.Header
	}
	return r
}

// resolve follows the references of routes and policies.
func resolve(d *directory.Directory) *resolution {
	r := newResolver(d)
	for _, p := range r.inheritedPolicies {
		policy := resolvedPolicy{Document: p, Section: whole, Rejected: r.conflicts[p]}
		switch {
		case policy.Rejected != "":
		case p.Target.Kind != "" && !r.target(&policy):
			policy.Rejected = tables.TargetNotFound
		case p.Mistaken:
			policy.Rejected = tables.Invalid
		}
		r.out.InheritedPolicies = append(r.out.InheritedPolicies, policy)
	}
	r.routes()
	return r.out
}

// target looks for what a policy is attached to and reports whether it is there.
func (r *resolver) target(p *resolvedPolicy) bool {
	t, h := p.Document.Target, &p.Document.Header
	switch object := r.Find(directory.Identity{Family: document.FamilyGateway, Kind: t.Kind, Namespace: h.Namespace, Name: t.Name.Value}).(type) {
	case *document.Gateway:
		p.Gateway = object
	case *document.Route:
		p.Route = object
	default:
		r.missing(h, diag.TargetNotFound, t.Kind, h.Namespace, t.Name, "declare it in this directory, in the policy's own namespace")
		return false
	}
	if t.Section.Value == "" {
		return true
	}
	sections := sectionNames(p.Gateway, p.Route)
	for i, name := range sections {
		if name == t.Section.Value {
			p.Section = i
			return true
		}
	}
	r.missingSection(h, diag.TargetNotFound, t.Section, t.Kind, h.Namespace+"/"+t.Name.Value, sections)
	return false
}

// sectionNames are the listeners of a gateway or the rules of a route.
func sectionNames(g *document.Gateway, route *document.Route) []string {
	var names []string
	if g != nil {
		for i := range g.Listeners {
			names = append(names, g.Listeners[i].Name.Value)
		}
		return names
	}
	for i := range route.Rules {
		names = append(names, route.Rules[i].Name)
	}
	return names
}

// missing reports a reference to an object that does not exist. hint is used if no object
// may have been meant.
func (r *resolver) missing(h *syntax.Header, code diag.Code, kind, namespace string, name syntax.Text, hint string) {
	if r.IsUndecoded(name.At, kind, name.Value) {
		return
	}
	d := name.Diagnostic(h.DanglingSeverity(), code, hint,
		"%s %q not found in namespace %q", kind, name.Value, namespace)
	r.suggest(&d, kind, namespace, name.Value)
	r.List.Add(d)
}

// suggest adds the object that may have been meant: one of a near name in the
// namespace, else one of that very name in another.
func (r *resolver) suggest(d *diag.Diagnostic, kind, namespace, name string) {
	inside := func(h *syntax.Header) bool { return h.Namespace == namespace }
	var close *syntax.Header
	if kind == tables.KindGateway {
		close = directory.Near(r.Directory, name, r.out.Gateways, inside)
	} else {
		close = directory.Near(r.Directory, name, r.routeDocuments, func(h *syntax.Header) bool { return h.Kind == kind && inside(h) })
	}
	switch other := r.elsewhere[[2]string{kind, name}]; {
	case close != nil:
		d.Hint = fmt.Sprintf("did you mean %q?", close.Name)
		d.Related = directory.Related(close)
	case other != nil:
		d.Hint = fmt.Sprintf("there is one in namespace %q", other.Namespace)
		d.Related = directory.Related(other)
	}
}

// missingSection reports a listener or rule that an object does not have.
func (r *resolver) missingSection(h *syntax.Header, code diag.Code, section syntax.Text, kind, object string, names []string) {
	noun := "rule"
	if kind == tables.KindGateway {
		noun = "listener"
	}
	d := section.Diagnostic(h.DanglingSeverity(), code, fmt.Sprintf("leave sectionName out for the %s as a whole", kind),
		"%s %s has no %s %q", kind, object, noun, section.Value)
	if r.MaySuggest() {
		if close := diag.Suggest(section.Value, names); close != "" {
			d.Hint = fmt.Sprintf("did you mean %q?", close)
		} else if len(names) == 1 {
			d.Hint = fmt.Sprintf("its only %s is %q", noun, names[0])
		}
	}
	r.List.Add(d)
}
