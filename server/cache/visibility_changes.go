package cache

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
)

// changed is whom and what the difference of two revisions concerns. Names are
// compared as they are: none of them is a pattern.
type changed struct {
	names, groups, types map[string]bool
}

// changes compares the grounds of two revisions. A policy that is another concerns
// those it named and those it names.
func changes(before, after *decision.Grounds) changed {
	c := changed{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	differing(before.Policies, after.Policies, func(p decision.PolicyGround) string { return p.Hash }, func(p decision.PolicyGround) {
		for _, name := range p.Names {
			c.names[name] = true
		}
		for _, group := range p.Groups {
			c.groups[group] = true
		}
	})
	differing(before.Sources, after.Sources, func(s decision.SourceGround) string { return s.Hash }, func(s decision.SourceGround) {
		if s.Type != "" {
			c.types[s.Type] = true
		}
	})
	return c
}

// differing tells of what is not the same in both maps, as it is in each of them.
func differing[T any](before, after map[decision.DocumentName]T, hash func(T) string, tell func(T)) {
	for name, old := range before {
		if new, found := after[name]; !found || hash(new) != hash(old) {
			tell(old)
		}
	}
	for name, new := range after {
		if old, found := before[name]; !found || hash(old) != hash(new) {
			tell(new)
		}
	}
}

func (c changed) any() bool { return len(c.names)+len(c.groups)+len(c.types) > 0 }

// concern reports whether an authorization may be another now.
func (c changed) concern(e *view) bool {
	return c.types[e.typ] ||
		slices.ContainsFunc(e.names, func(name string) bool { return c.names[name] }) ||
		slices.ContainsFunc(e.groups, func(group string) bool { return c.groups[group] })
}
