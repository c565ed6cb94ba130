package tables

import (
	"fmt"
	"slices"
	"strings"
)

// rejections orders the reasons for documents with the same name: the most specific
// reason comes first.
var rejections = []string{string(Conflicted), string(TargetNotFound), string(Invalid), ReasonAccepted}

// Accepted returns, by locator, the condition Accepted of each policy. It is the only
// condition known if the directory has errors and nothing is enforced. For several
// documents with the same name, it returns the first one in the order of rejections.
func (g *Gateway) Accepted() map[string][]GatewayCondition {
	out := make(map[string][]GatewayCondition, len(g.Policies))
	rank := func(c GatewayCondition) int { return slices.Index(rejections, c.Reason) }
	for i := range g.Policies {
		p := &g.Policies[i]
		locator, accepted := Locator(p.Kind, p.Namespace, p.Name), p.Conditions[0]
		if before, ok := out[locator]; !ok || rank(accepted) < rank(before[0]) {
			out[locator] = []GatewayCondition{accepted}
		}
	}
	return out
}

// Check returns an error for the first index that refers to a missing element. Tables
// from a bundle are not trusted.
func (g *Gateway) Check() error {
	for i, o := range g.Gateways {
		if err := g.checkEffective(o.Effective); err != nil {
			return fmt.Errorf("gateway %d: %w", i, err)
		}
		for j, l := range o.Listeners {
			if err := g.checkEffective(l.Effective); err != nil {
				return fmt.Errorf("gateway %d: listener %d: %w", i, j, err)
			}
		}
	}
	for i, p := range g.Paths {
		if !isIndex(p.Gateway, len(g.Gateways)) || !isIndex(p.Route, len(g.Routes)) ||
			!isIndex(p.Listener, len(g.Gateways[p.Gateway].Listeners)) || !isIndex(p.Rule, len(g.Routes[p.Route].Rules)) {
			return fmt.Errorf("path %d: it refers to a missing element", i)
		}
		if err := g.checkEffective(p.Effective); err != nil {
			return fmt.Errorf("path %d: %w", i, err)
		}
	}
	for i, e := range g.Effective {
		if !slices.IsSortedFunc(e.Rules, func(a, b EffectiveRule) int { return strings.Compare(a.Key, b.Key) }) {
			return fmt.Errorf("effective policy %d: its rules are not sorted", i)
		}
		if e.Steps == nil {
			continue
		}
		if err := e.Steps.check(); err != nil {
			return fmt.Errorf("effective policy %d: steps: %w", i, err)
		}
	}
	return nil
}

func (g *Gateway) checkEffective(byKind map[string]int) error {
	for kind, index := range byKind {
		if !isIndex(index, len(g.Effective)) || g.Effective[index].Kind != kind {
			return fmt.Errorf("it has no effective %s %d", kind, index)
		}
	}
	return nil
}

func isIndex(index, length int) bool { return index >= 0 && index < length }
