package tables

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// GatewaySteps are the parts of an effective AuthPolicy that the gateway point evaluates,
// in the order of evaluation. The engine evaluates those of the bundle's data that need no
// Rego; the generated Rego has all of them.
type GatewaySteps struct {
	// ID is derived from the content of the effective policy, so that a change of another
	// policy does not change it.
	ID string `json:"id"`
	// Policies are the locators of the policies with a rule in force, sorted.
	Policies []string `json:"policies"`
	// Patterns are the rules of patterns, by pattern.
	Patterns map[string]*NamedRule `json:"patterns,omitempty"`
	// When decides whether the policy applies; nil means that it always applies.
	When *NamedRule `json:"when,omitempty"`
	// Authenticates is true if there are authentication rules. Anonymous are those that
	// accept a request without an identity, by key.
	Authenticates bool         `json:"authenticates,omitempty"`
	Anonymous     []*NamedRule `json:"anonymous,omitempty"`
	// Authentication are the places of the authentication rules, by key. A request that is
	// not authenticated is denied by them together.
	Authentication []GatewayPlace `json:"authentication,omitempty"`
	// Unauthenticated and Unauthorized are the responses of denials; nil is the
	// default.
	Unauthenticated *NamedRule `json:"unauthenticated,omitempty"`
	Unauthorized    *NamedRule `json:"unauthorized,omitempty"`
	// Authorization are the authorization rules by priority, then key.
	Authorization []*NamedRule `json:"authorization,omitempty"`
	// Items are the items of the response by priority, then key.
	Items []*NamedRule `json:"items,omitempty"`
}

// NamedRules returns the rules that the gateway point evaluates, without duplicates, by
// policy and name.
func (g *Gateway) NamedRules() []*NamedRule {
	named := make(map[string]*NamedRule)
	for i := range g.Effective {
		if steps := g.Effective[i].Steps; steps != nil {
			for _, rule := range steps.Rules() {
				named[rule.Name] = rule
			}
		}
	}
	return slices.SortedFunc(maps.Values(named), func(a, b *NamedRule) int {
		return cmp.Or(strings.Compare(a.Policy, b.Policy), strings.Compare(a.Name, b.Name))
	})
}

// Rules returns all rules of the steps.
func (s *GatewaySteps) Rules() []*NamedRule {
	rules := slices.Concat(s.Anonymous, s.Authorization, s.Items)
	for _, rule := range [...]*NamedRule{s.When, s.Unauthenticated, s.Unauthorized} {
		if rule != nil {
			rules = append(rules, rule)
		}
	}
	return slices.AppendSeq(rules, maps.Values(s.Patterns))
}

// check returns an error for a rule that is not of the kind that its place requires.
func (s *GatewaySteps) check() error {
	for _, rule := range s.Rules() {
		if rule == nil || rule.Rule == nil {
			return errors.New("a rule is missing")
		}
	}
	for name, kinds := range map[string]struct {
		rules  []*NamedRule
		isKind func(r *GatewayRule) bool
	}{
		"authorization": {s.Authorization, func(r *GatewayRule) bool { return r.Authorization != nil }},
		"items":         {s.Items, func(r *GatewayRule) bool { return r.Item != nil }},
		"denials":       {[]*NamedRule{s.Unauthenticated, s.Unauthorized}, func(r *GatewayRule) bool { return r.Denial != nil }},
	} {
		for _, rule := range kinds.rules {
			if rule != nil && !kinds.isKind(rule.Rule) {
				return fmt.Errorf("%s has another rule: %s", name, rule.Name)
			}
		}
	}
	return nil
}

// NamedRule is a rule in force and the name of its evaluation.
type NamedRule struct {
	// Name is the policy's locator and the rule's key, with a number if several rules of
	// the policy have that key.
	Name   string       `json:"name"`
	Policy string       `json:"policy"` // locator
	Key    string       `json:"key"`
	Source string       `json:"source"` // file:line
	Rule   *GatewayRule `json:"rule"`
}

// ShortName returns the rule's name within its group.
func (r *NamedRule) ShortName() string {
	path := RulePath(r.Key)
	return path[len(path)-1]
}

// Place returns where the rule is written.
func (r *NamedRule) Place() GatewayPlace {
	kind, name, _ := strings.Cut(r.Policy, "/")
	namespace, name, _ := strings.Cut(name, "/")
	return GatewayPlace{Kind: kind, Namespace: namespace, Name: name, Rule: r.Key, Source: r.Source}
}

// GatewayPlace is a line that decides at the gateway point. Rule is the key of a policy's
// rule, the name of a listener or of a route's rule, and empty for a document as a whole.
type GatewayPlace struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      string `json:"rule"`
	Source    string `json:"source"` // file:line
}

// Places returns the places of gateways, their listeners and the rules of routes, by target
// string. Tables of a bundle that was built without them have none.
func (g *Gateway) Places() map[string]GatewayPlace {
	places := make(map[string]GatewayPlace)
	add := func(kind, namespace, name, section, source string) {
		if source != "" {
			places[TargetName(kind, namespace, name, section)] = GatewayPlace{kind, namespace, name, section, source}
		}
	}
	for i := range g.Gateways {
		o := &g.Gateways[i]
		add(KindGateway, o.Namespace, o.Name, "", o.Source)
		for j := range o.Listeners {
			add(KindGateway, o.Namespace, o.Name, o.Listeners[j].Name, o.Listeners[j].Source)
		}
	}
	for i := range g.Routes {
		r := &g.Routes[i]
		for j := range r.Rules {
			add(r.Kind, r.Namespace, r.Name, r.Rules[j].Name, r.Rules[j].Source)
		}
	}
	return places
}
