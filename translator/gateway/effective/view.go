package effective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// every is the index of all listeners or rules, none the index of a missing effective
// policy.
const (
	every = -1
	none  = -1
)

// fits reports whether an index is the wanted one, or any index is wanted.
func fits(index, want int) bool { return want == every || index == want }

// view answers queries about one kind of policies.
type view struct {
	g         *tables.Gateway
	kind      string
	byRoute   map[int][]*tables.GatewayPath
	byGateway map[int][]*tables.GatewayPath
	policies  map[string]*tables.GatewayPolicy // by locator
	attached  map[string][]string              // locators by target string
	targeted  map[string]bool                  // target strings with a policy
}

func newView(g *tables.Gateway, kind string) *view {
	g = tables.OrEmpty(g)
	v := &view{
		g: g, kind: kind,
		byRoute:   make(map[int][]*tables.GatewayPath),
		byGateway: make(map[int][]*tables.GatewayPath),
		policies:  make(map[string]*tables.GatewayPolicy),
		attached:  make(map[string][]string),
		targeted:  make(map[string]bool),
	}
	for i := range g.Paths {
		p := &g.Paths[i]
		v.byRoute[p.Route] = append(v.byRoute[p.Route], p)
		v.byGateway[p.Gateway] = append(v.byGateway[p.Gateway], p)
	}
	for i := range g.Policies {
		p := &g.Policies[i]
		if p.Kind != kind {
			continue
		}
		locator := tables.Locator(p.Kind, p.Namespace, p.Name)
		v.policies[locator] = p
		v.attached[p.Target] = append(v.attached[p.Target], locator)
		v.targeted[p.Target] = true
	}
	return v
}

// effective returns the index of the effective policy of the kind, or none.
func (v *view) effective(byKind map[string]int) int {
	if index, ok := byKind[v.kind]; ok {
		return index
	}
	return none
}

// variant returns an effective policy as a variant without paths.
func (v *view) variant(index int) Variant {
	out := Variant{
		Paths: []string{}, Policies: []string{}, Replaced: []Replaced{},
		Rules: make(map[string]any), Sources: make(map[string]string),
	}
	if index == none {
		return out
	}
	e := &v.g.Effective[index]
	out.Detail = e
	out.Policies = append(out.Policies, e.Policies...)
	for i := range e.Rules {
		out.Rules[e.Rules[i].Key] = redact(e.Rules[i].Key, e.Rules[i].Value)
		out.Sources[e.Rules[i].Key] = e.Rules[i].Policy
	}
	for i := range e.Replaced {
		out.Replaced = append(out.Replaced, replaced(&e.Replaced[i]))
	}
	return out
}

func replaced(r *tables.Replacement) Replaced {
	return Replaced{By: append([]string{}, r.By...), How: r.How, Policy: r.Policy, Rule: r.Rule, Value: redact(r.Rule, r.Value)}
}

func (v *view) enterConditions(into map[string][]tables.GatewayCondition, locators []string) {
	for _, locator := range locators {
		if p := v.policies[locator]; p != nil {
			into[locator] = p.Conditions
		}
	}
}

// Policy returns the policy with this locator, or nil if it does not exist.
func Policy(g *tables.Gateway, locator string) *tables.GatewayPolicy {
	parts := strings.SplitN(locator, "/", 3)
	if g == nil || len(parts) != 3 {
		return nil
	}
	i := slices.IndexFunc(g.Policies, func(p tables.GatewayPolicy) bool {
		return p.Kind == parts[0] && p.Namespace == parts[1] && p.Name == parts[2]
	})
	if i < 0 {
		return nil
	}
	return &g.Policies[i]
}

// route returns the indexes of a route and a rule; the rule is every if the target has
// no section. It returns an *Error if one of them does not exist.
func (v *view) route(t Target) (route, rule int, err error) {
	route = slices.IndexFunc(v.g.Routes, func(r tables.GatewayRoute) bool {
		return r.Kind == t.Kind && r.Namespace == t.Namespace && r.Name == t.Name
	})
	if route < 0 {
		return 0, 0, v.notFound(t)
	}
	rule, err = section(t, "rule", v.g.Routes[route].Rules, func(r tables.GatewayRouteRule) string { return r.Name })
	return route, rule, err
}

// gateway returns the indexes of a gateway and a listener; the listener is every if the
// target has no section. It returns an *Error if one of them does not exist.
func (v *view) gateway(t Target) (gateway, listener int, err error) {
	gateway = slices.IndexFunc(v.g.Gateways, func(o tables.GatewayObject) bool {
		return o.Namespace == t.Namespace && o.Name == t.Name
	})
	if gateway < 0 {
		return 0, 0, v.notFound(t)
	}
	listener, err = section(t, "listener", v.g.Gateways[gateway].Listeners, func(l tables.GatewayListener) string { return l.Name })
	return gateway, listener, err
}

// section returns the index of the rule or listener that is the section of a target, and every
// if it has none.
func section[T any](t Target, what string, list []T, nameOf func(T) string) (int, error) {
	if t.Section == "" {
		return every, nil
	}
	names := elements.Map(list, nameOf)
	i := slices.Index(names, t.Section)
	if i < 0 {
		return 0, unknown("%s %s/%s has no %s %q%s", t.Kind, t.Namespace, t.Name, what, t.Section, near(t.Section, names))
	}
	return i, nil
}

// notFound returns the error for a target whose object does not exist. An object of that name in
// another namespace or of another kind is near, and so is one whose name is close.
func (v *view) notFound(t Target) error {
	var objects []Target
	for i := range v.g.Gateways {
		objects = append(objects, Target{Kind: tables.KindGateway, Namespace: v.g.Gateways[i].Namespace, Name: v.g.Gateways[i].Name})
	}
	for i := range v.g.Routes {
		objects = append(objects, Target{Kind: v.g.Routes[i].Kind, Namespace: v.g.Routes[i].Namespace, Name: v.g.Routes[i].Name})
	}
	t.Section = ""
	meant := near(t.String(), elements.Map(objects, Target.String))
	namesake := slices.IndexFunc(objects, func(o Target) bool { return o.Name == t.Name && o.Kind == t.Kind })
	if meant == "" && namesake >= 0 {
		meant = didYouMean(objects[namesake].String())
	}
	return unknown("%s %s/%s not found%s", t.Kind, t.Namespace, t.Name, meant)
}

// near returns the end of a message that asks for the known word to which another one is close,
// empty if none is.
func near(word string, known []string) string {
	if meant := diag.Suggest(word, known); meant != "" {
		return didYouMean(meant)
	}
	return ""
}

func didYouMean(word string) string { return fmt.Sprintf("; did you mean %q?", word) }

// via returns the gateway, and optionally the listener, that selects paths. It returns an
// *Error if the text is malformed or names an unknown object.
func (v *view) via(text string) (gateway, listener int, err error) {
	t, err := ParseTarget(text)
	if err != nil {
		return 0, 0, err
	}
	if t.Kind != tables.KindGateway {
		return 0, 0, malformed("via %q: paths go through a Gateway or a listener of one", text)
	}
	return v.gateway(t)
}

// numbers returns the number of one of n rules or listeners, or that of each one for every.
func numbers(one, n int) []int {
	if one != every {
		return []int{one}
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// routeOf removes the section from a target.
func routeOf(rule string) string {
	route, _, _ := strings.Cut(rule, "#")
	return route
}
