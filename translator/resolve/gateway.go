package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/document"
)

const (
	kindGateway = "Gateway"
	kindRoute   = "HTTPRoute"
)

// Route is a route with the listeners it is on.
type Route struct {
	Document *document.HTTPRoute
	// On are the listeners, each once.
	On []Attachment
}

// Attachment is a listener of a gateway, by its position there.
type Attachment struct {
	Gateway  *document.Gateway
	Listener int
}

// Levels of targets, the highest first.
const (
	LevelGateway = iota
	LevelListener
	LevelRoute
	LevelRule
)

// InheritedPolicy is a policy with its target. Gateway or Route is set; Section is
// the position of the listener or rule, with LevelListener and LevelRule only.
type InheritedPolicy struct {
	Document *document.InheritedPolicy
	Level    int
	Gateway  *document.Gateway
	Route    *document.HTTPRoute
	Section  int
}

// gateway follows the references of routes to gateways and of policies to targets.
func (r *resolver) gateway() {
	r.cycles()
	for _, d := range r.routes {
		route := Route{Document: d}
		for i := range d.Parents {
			route.On = append(route.On, r.parent(d, &d.Parents[i], route.On)...)
		}
		r.out.Routes = append(r.out.Routes, route)
	}
	for _, p := range r.inheritedPolicies {
		if policy, ok := r.target(p); ok {
			r.out.InheritedPolicies = append(r.out.InheritedPolicies, policy)
		}
	}
}

// parent is the listeners that a parentRef puts a route on, without those it is on
// already.
func (r *resolver) parent(route *document.HTTPRoute, ref *document.ParentRef, on []Attachment) []Attachment {
	if ref.Kind.Value != kindGateway {
		if !r.inCycle[ref] {
			r.refuse(ref.Kind, diag.ParentKind, fmt.Sprintf("a route's parent is a Gateway, not a %s", ref.Kind.Value), "")
		}
		return nil
	}
	gateway, ok := r.names[identity{document.FamilyGateway, kindGateway, ref.Namespace.Value, ref.Name.Value}].(*document.Gateway)
	if !ok {
		message := fmt.Sprintf("Gateway %q in namespace %q is not declared", ref.Name.Value, ref.Namespace.Value)
		r.missing(ref.Name, diag.ParentNotFound, message, near(r, ref.Name.Value, r.out.Gateways, func(h *document.Header) bool {
			return h.Namespace == ref.Namespace.Value
		}))
		return nil
	}
	if ref.Section.Value != "" && listenerNamed(gateway, ref.Section.Value) < 0 {
		r.section(ref.Section, diag.ParentNotFound, fmt.Sprintf("Gateway %q has no listener %q", gateway.Name, ref.Section.Value), listenerNames(gateway))
		return nil
	}
	var found []Attachment
	accepted := false
	for i := range gateway.Listeners {
		l := &gateway.Listeners[i]
		if ref.Section.Value != "" && ref.Section.Value != l.Name.Value || ref.Port != 0 && ref.Port != l.Port || !accepts(gateway, l, route) {
			continue
		}
		accepted = true
		at := Attachment{gateway, i}
		if !slices.Contains(on, at) {
			found = append(found, at)
		}
	}
	if !accepted {
		r.list.Add(diag.Diagnostic{
			Position: ref.Name.At, Length: len([]rune(ref.Name.Value)), Severity: diag.Warning, Code: diag.RouteNotAccepted,
			Message: fmt.Sprintf("no listener of Gateway %q accepts the route: nothing reaches it from there", gateway.Name),
			Hint:    "look at the listeners' protocol, hostname, port and allowedRoutes",
			Related: related(&gateway.Header),
		})
	}
	return found
}

// accepts reports whether a listener lets a route attach.
func accepts(gateway *document.Gateway, l *document.Listener, route *document.HTTPRoute) bool {
	if l.Protocol != "HTTP" && l.Protocol != "HTTPS" {
		return false
	}
	if len(l.Kinds) > 0 && !slices.Contains(l.Kinds, kindRoute) {
		return false
	}
	switch l.From {
	case "All":
	case "Same":
		if route.Namespace != gateway.Namespace {
			return false
		}
	case "Selector":
		if l.Namespaces == nil || !selects(l.Namespaces, route.Namespace) {
			return false
		}
	default:
		return false
	}
	return len(route.Hostnames) == 0 || slices.ContainsFunc(route.Hostnames, func(host string) bool {
		return hostsMeet(l.Hostname, host)
	})
}

// selects reports whether a selector on the namespace's name, the one label that
// documents tell, fits.
func selects(s *document.Selector, namespace string) bool {
	for _, requirement := range s.Requirements {
		in := slices.Contains(requirement.Values, namespace)
		switch requirement.Operator {
		case "In":
			if !in {
				return false
			}
		case "NotIn":
			if in {
				return false
			}
		case "DoesNotExist":
			return false
		}
	}
	return true
}

// hostsMeet reports whether some host fits both names.
func hostsMeet(a, b string) bool {
	return a == "" || b == "" || hostFits(a, b) || hostFits(b, a)
}

// hostFits reports whether every host of host fits pattern; "*." stands for one or
// more labels.
func hostFits(pattern, host string) bool {
	if pattern == host {
		return true
	}
	suffix, wildcard := strings.CutPrefix(pattern, "*")
	return wildcard && len(host) > len(suffix) && strings.HasSuffix(strings.TrimPrefix(host, "*"), suffix)
}

func listenerNamed(gateway *document.Gateway, name string) int {
	return slices.IndexFunc(gateway.Listeners, func(l document.Listener) bool { return l.Name.Value == name })
}

func listenerNames(gateway *document.Gateway) []string {
	var names []string
	for i := range gateway.Listeners {
		names = append(names, gateway.Listeners[i].Name.Value)
	}
	return names
}

// target finds what a policy is attached to.
func (r *resolver) target(p *document.InheritedPolicy) (InheritedPolicy, bool) {
	t := &p.Target
	policy := InheritedPolicy{Document: p}
	if t.Kind == "" {
		return policy, false // told when the document was read
	}
	switch target := r.names[identity{document.FamilyGateway, t.Kind, p.Namespace, t.Name.Value}].(type) {
	case *document.Gateway:
		policy.Gateway, policy.Level = target, LevelGateway
		if t.Section.Value == "" {
			return policy, true
		}
		policy.Level, policy.Section = LevelListener, listenerNamed(target, t.Section.Value)
		if policy.Section < 0 {
			r.section(t.Section, diag.TargetNotFound, fmt.Sprintf("Gateway %q has no listener %q", target.Name, t.Section.Value), listenerNames(target))
		}
	case *document.HTTPRoute:
		policy.Route, policy.Level = target, LevelRoute
		if t.Section.Value == "" {
			return policy, true
		}
		names := make([]string, len(target.Rules))
		for i, rule := range target.Rules {
			names[i] = rule.Name
		}
		policy.Level, policy.Section = LevelRule, slices.Index(names, t.Section.Value)
		if policy.Section < 0 {
			r.section(t.Section, diag.TargetNotFound, fmt.Sprintf("HTTPRoute %q has no rule %q", target.Name, t.Section.Value), names)
		}
	default:
		r.missingTarget(p)
		return policy, false
	}
	return policy, policy.Section >= 0
}

func (r *resolver) missingTarget(p *document.InheritedPolicy) {
	t := &p.Target
	message := fmt.Sprintf("%s %q in namespace %q is not declared", t.Kind, t.Name.Value, p.Namespace)
	here := func(h *document.Header) bool { return h.Namespace == p.Namespace }
	close := near(r, t.Name.Value, r.out.Gateways, here)
	if t.Kind == kindRoute {
		close = near(r, t.Name.Value, r.routes, here)
	}
	r.missing(t.Name, diag.TargetNotFound, message, close)
}

// missing reports a reference to a document that is not there.
func (r *resolver) missing(at document.Text, code diag.Code, message string, close *document.Header) {
	d := diag.Diagnostic{Position: at.At, Length: len([]rune(at.Value)), Code: code, Message: message, Hint: "declare it in this directory"}
	if close != nil {
		d.Hint = fmt.Sprintf("did you mean %q?", close.Name)
		d.Related = related(close)
	}
	r.list.Add(d)
}

// section reports a reference to a listener or rule that is not there.
func (r *resolver) section(at document.Text, code diag.Code, message string, names []string) {
	hint := ""
	if len(names) > 0 {
		hint = "there are " + strings.Join(names, ", ")
	}
	if close := diag.Suggest(at.Value, names); close != "" {
		hint = fmt.Sprintf("did you mean %q?", close)
	}
	r.refuse(at, code, message, hint)
}

func (r *resolver) refuse(at document.Text, code diag.Code, message, hint string) {
	r.list.Add(diag.Diagnostic{Position: at.At, Length: len([]rune(at.Value)), Code: code, Message: message, Hint: hint})
}

// cycles reports routes that are each other's parents, each circle once at the first
// of its references.
func (r *resolver) cycles() {
	r.inCycle = make(map[*document.ParentRef]bool)
	done := make(map[*document.HTTPRoute]bool)
	for _, route := range r.routes {
		var trail []step
		r.follow(route, done, &trail)
	}
}

// step is a route and the reference that leads on from it.
type step struct {
	route *document.HTTPRoute
	ref   *document.ParentRef
}

// follow walks from route to its parents that are routes, and reports a circle when
// it comes back to one on the trail.
func (r *resolver) follow(route *document.HTTPRoute, done map[*document.HTTPRoute]bool, trail *[]step) {
	if at := slices.IndexFunc(*trail, func(s step) bool { return s.route == route }); at >= 0 {
		r.circle((*trail)[at:])
		return
	}
	if done[route] {
		return
	}
	for i := range route.Parents {
		ref := &route.Parents[i]
		if ref.Kind.Value != kindRoute {
			continue
		}
		parent, ok := r.names[identity{document.FamilyGateway, kindRoute, ref.Namespace.Value, ref.Name.Value}].(*document.HTTPRoute)
		if ok {
			*trail = append(*trail, step{route, ref})
			r.follow(parent, done, trail)
			*trail = (*trail)[:len(*trail)-1]
		}
	}
	done[route] = true
}

func (r *resolver) circle(steps []step) {
	first := steps[0]
	var names []string
	for _, s := range steps {
		if comparePlaces(s.ref.Kind.At, first.ref.Kind.At) < 0 {
			first = s
		}
		r.inCycle[s.ref] = true
		names = append(names, fmt.Sprintf("%q", s.route.Namespace+"/"+s.route.Name))
	}
	r.refuse(first.ref.Kind, diag.Cycle, "the routes are each other's parents: "+strings.Join(names, ", "), "a route's parent is a Gateway")
}
