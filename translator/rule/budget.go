package rule

import (
	"reflect"

	"github.com/writ-policy/writ/translator/tables"
)

// Budget bounds the comparisons of rules in one role, in proportion to the number of its
// entries, so that a role of ten thousand rules takes no more time than as many roles.
// Beyond the budget, redundant rules are not reported.
type Budget int

// NewBudget returns the budget of a role with a number of entries.
func NewBudget(entries int) Budget { return Budget(64*entries + 1024) }

// CoversKubernetes reports whether rule a matches every request that rule b matches.
func (c *Budget) CoversKubernetes(a, b *tables.KubernetesRule) bool {
	if !c.coverAll(b.Verbs, a.Verbs, coversWord) {
		return false
	}
	if len(b.Paths) > 0 {
		return c.coverAll(b.Paths, a.Paths, CoversPath)
	}
	return len(a.Paths) == 0 &&
		c.coverAll(b.Groups, a.Groups, coversWord) &&
		c.coverAll(b.Resources, a.Resources, CoversResource) &&
		(len(a.Names) == 0 || len(b.Names) > 0 && c.coverAll(b.Names, a.Names, isEqual))
}

// CoversOrigin reports whether rule a matches every request that rule b matches. It may
// return false for rules that do, but never true for rules that do not.
func (c *Budget) CoversOrigin(a, b *tables.OriginRule) bool {
	return a.Deny == b.Deny &&
		c.coverAll(b.Verbs, a.Verbs, coversVerb) &&
		c.coverAll(b.Kinds, a.Kinds, coversKind) &&
		c.harmless(a.NotVerbs, b.Verbs, b.NotVerbs, coversVerb, disjointVerbs) &&
		c.harmless(a.NotKinds, b.Kinds, b.NotKinds, coversKind, disjointKinds) &&
		c.coversRestrictions(a.Restrictions, b.Restrictions)
}

// coversRestrictions reports whether restrictions a allow everything that b allows:
// a has none, or both are equal.
func (c *Budget) coversRestrictions(a, b *tables.Restrictions) bool {
	*c -= 16
	return a == nil || reflect.DeepEqual(a, b)
}

// coverAll reports whether each wanted entry is covered by an entry of held.
func (c *Budget) coverAll(wanted, held []string, covers func(held, wanted string) bool) bool {
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
func (c *Budget) harmless(not, positive, negative []string, covers, disjoint func(a, b string) bool) bool {
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

func coversWord(held, wanted string) bool { return held == "*" || held == wanted }
