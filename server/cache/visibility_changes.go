package cache

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
)

// changed holds the principals and types that differ between two revisions. Names are
// literals, not patterns.
type changed struct {
	names, groups, types map[string]bool
}

// changes compares the fingerprints of two revisions. A changed policy affects the
// principals it named before and those it names now.
func changes(before, after *decision.Fingerprints) changed {
	c := changed{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	differing(before.Policies, after.Policies, func(p decision.PolicyFingerprint) string { return p.Hash }, func(p decision.PolicyFingerprint) {
		for _, name := range p.Names {
			c.names[name] = true
		}
		for _, group := range p.Groups {
			c.groups[group] = true
		}
	})
	differing(before.Sources, after.Sources, func(s decision.SourceFingerprint) string { return s.Hash }, func(s decision.SourceFingerprint) {
		if s.Type != "" {
			c.types[s.Type] = true
		}
	})
	return c
}

// differing calls report for each value that is absent from the other map or has
// another hash there.
func differing[T any](before, after map[decision.DocumentName]T, hash func(T) string, report func(T)) {
	for name, old := range before {
		if new, found := after[name]; !found || hash(new) != hash(old) {
			report(old)
		}
	}
	for name, new := range after {
		if old, found := before[name]; !found || hash(old) != hash(new) {
			report(new)
		}
	}
}

func (c changed) any() bool { return len(c.names)+len(c.groups)+len(c.types) > 0 }

// affects reports whether an authorization may have changed.
func (c changed) affects(e *cachedAuthorization) bool {
	return c.types[e.typ] ||
		slices.ContainsFunc(e.names, func(name string) bool { return c.names[name] }) ||
		slices.ContainsFunc(e.groups, func(group string) bool { return c.groups[group] })
}
