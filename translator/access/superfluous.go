package access

import (
	"fmt"
	"reflect"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// comparisonBudget bounds the comparisons in one role, in proportion to the number of its
// entries, so that a role of ten thousand rules takes no more time than as many roles.
// Beyond the budget, redundant rules are not reported.
type comparisonBudget int

func newComparisonBudget(entries int) comparisonBudget { return comparisonBudget(64*entries + 1024) }

// superfluousKubernetes warns about rules that grant nothing more than an earlier rule of
// the same role.
func superfluousKubernetes(d *KubernetesRole, rules []tables.KubernetesRule) (list diag.List) {
	if len(rules) < 2 {
		return nil
	}
	entries := 0
	for i := range rules {
		entries += len(rules[i].Verbs) + len(rules[i].Groups) + len(rules[i].Resources) + len(rules[i].Names) + len(rules[i].Paths)
	}
	left := newComparisonBudget(entries)
	for i := range rules {
		for j := range i {
			if left--; left <= 0 {
				return list
			}
			if left.coversKubernetes(&rules[j], &rules[i]) {
				list.Add(superfluous(&d.Header, i, j, d.Rules[i].At, d.Rules[j].At, "grants"))
				break
			}
		}
	}
	return list
}

// superfluousOrigin does the same for Origin rules. It compares denials with denials.
func superfluousOrigin(d *OriginRole, rules []tables.OriginRule) (list diag.List) {
	if len(rules) < 2 {
		return nil
	}
	entries := 0
	for i := range rules {
		entries += len(rules[i].Verbs) + len(rules[i].NotVerbs) + len(rules[i].Kinds) + len(rules[i].NotKinds)
	}
	left := newComparisonBudget(entries)
	for i := range rules {
		if matchesNothing(&rules[i]) {
			continue // has a warning of its own
		}
		for j := range i {
			if left--; left <= 0 {
				return list
			}
			if left.coversOrigin(&rules[j], &rules[i]) {
				what := "grants"
				if rules[i].Deny {
					what = "denies"
				}
				list.Add(superfluous(&d.Header, i, j, d.Rules[i].At, d.Rules[j].At, what))
				break
			}
		}
	}
	return list
}

func superfluous(h *syntax.Header, later, earlier int, at, first diag.Position, what string) diag.Diagnostic {
	return diag.Diagnostic{
		Position: at,
		Severity: diag.Warning,
		Code:     diag.SuperfluousRule,
		Message:  fmt.Sprintf("rule %d of %s %q %s nothing that rule %d does not", later, h.Kind, h.Name, what, earlier),
		Hint:     "remove it",
		Related:  []diag.Related{{Position: first, Message: fmt.Sprintf("rule %d is here", earlier)}},
	}
}

// coversKubernetes reports whether rule a matches every request that rule b matches.
func (c *comparisonBudget) coversKubernetes(a, b *tables.KubernetesRule) bool {
	if !c.coverAll(b.Verbs, a.Verbs, coversEntry) {
		return false
	}
	if len(b.Paths) > 0 {
		return c.coverAll(b.Paths, a.Paths, CoversPath)
	}
	return len(a.Paths) == 0 &&
		c.coverAll(b.Groups, a.Groups, coversEntry) &&
		c.coverAll(b.Resources, a.Resources, CoversResource) &&
		(len(a.Names) == 0 || len(b.Names) > 0 && c.coverAll(b.Names, a.Names, isEqual))
}

// coversOrigin reports whether rule a matches every request that rule b matches. It may
// return false for rules that do, but never true for rules that do not.
func (c *comparisonBudget) coversOrigin(a, b *tables.OriginRule) bool {
	return a.Deny == b.Deny &&
		c.coverAll(b.Verbs, a.Verbs, coversVerb) &&
		c.coverAll(b.Kinds, a.Kinds, coversKind) &&
		c.harmless(a.NotVerbs, b.Verbs, b.NotVerbs, coversVerb, disjointVerbs) &&
		c.harmless(a.NotKinds, b.Kinds, b.NotKinds, coversKind, disjointKinds) &&
		c.coversRestrictions(a.Restrictions, b.Restrictions)
}

// coversRestrictions reports whether restrictions a allow everything that b allows:
// there are none, or both are equal.
func (c *comparisonBudget) coversRestrictions(a, b *tables.Restrictions) bool {
	*c -= 16
	return a == nil || reflect.DeepEqual(a, b)
}

// coverAll reports whether each wanted entry is covered by an entry of held.
func (c *comparisonBudget) coverAll(wanted, held []string, covers func(held, wanted string) bool) bool {
	for _, w := range wanted {
		found := false
		for _, h := range held {
			*c--
			if found = covers(h, w); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// harmless reports whether the negative entries of one list exclude nothing that another
// list matches: each one is covered by a negative entry of that list, or is disjoint from
// its positive entries.
func (c *comparisonBudget) harmless(not, positive, negative []string, covers, disjoint func(a, b string) bool) bool {
	for _, n := range not {
		touches := false
		for _, p := range positive {
			*c--
			touches = touches || !disjoint(n, p)
		}
		if touches && !c.coverAll([]string{n}, negative, covers) {
			return false
		}
	}
	return true
}

func isEqual(held, wanted string) bool { return held == wanted }

func coversEntry(held, wanted string) bool { return held == "*" || held == wanted }
