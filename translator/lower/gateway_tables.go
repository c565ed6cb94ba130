package lower

import (
	"fmt"
	"slices"
	"strings"
)

// IsEmpty reports whether there is nothing to decide by and nothing to show. Routes
// alone are nothing: traffic reaches them through a gateway.
func (g *Gateway) IsEmpty() bool { return len(g.Gateways)+len(g.Policies) == 0 }

// Check reports the first place where tables refer to what they do not have. Tables
// that come from a bundle were made by somebody.
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
		if !within(p.Gateway, len(g.Gateways)) || !within(p.Route, len(g.Routes)) ||
			!within(p.Listener, len(g.Gateways[p.Gateway].Listeners)) || !within(p.Rule, len(g.Routes[p.Route].Rules)) {
			return fmt.Errorf("path %d: it leads through what is not there", i)
		}
		if err := g.checkEffective(p.Effective); err != nil {
			return fmt.Errorf("path %d: %w", i, err)
		}
	}
	for i, e := range g.Effective {
		if !slices.IsSortedFunc(e.Rules, func(a, b EffectiveRule) int { return strings.Compare(a.Key, b.Key) }) {
			return fmt.Errorf("effective policy %d: its rules are not sorted", i)
		}
	}
	return nil
}

func (g *Gateway) checkEffective(byKind map[string]int) error {
	for kind, index := range byKind {
		if !within(index, len(g.Effective)) || g.Effective[index].Kind != kind {
			return fmt.Errorf("it has no effective %s %d", kind, index)
		}
	}
	return nil
}

func within(index, length int) bool { return index >= 0 && index < length }
