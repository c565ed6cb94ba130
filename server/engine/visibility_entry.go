package engine

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// visibilityRule is a rule of the tables, with methods that decide on items.
type visibilityRule tables.VisibilityRule

// entry returns the rule's entry for a type, nil if it has none.
func (v *visibilityRule) entry(typ string) *visibilityEntry {
	return (*visibilityEntry)(v.Entries[typ])
}

// restricts reports whether the rule hides items of a type.
func (v *visibilityRule) restricts(typ string) bool { return v.Entries[typ].Restricts() }

// visibilityEntry is the entry of a rule for one type, with methods that decide on items.
type visibilityEntry tables.VisibilityEntry

// allowsAggregation reports whether the entry allows an aggregation: one that it
// includes or, if it includes none, any that it does not exclude. A nil entry allows
// none.
func (v *visibilityEntry) allowsAggregation(name string) bool {
	switch {
	case v == nil:
		return false
	case len(v.Include) > 0:
		return slices.Contains(v.Include, name)
	}
	return !slices.Contains(v.Exclude, name)
}

// hasCriteria reports whether c restricts values at all.
func hasCriteria(c *tables.Criteria) bool { return !c.Allowed.IsEmpty() || !c.Denied.IsEmpty() }

// permits reports whether c permits a value: it is not denied and, if c lists allowed
// values, it is one of them.
func permits(c *tables.Criteria, value string) bool {
	return !c.Denied.Has(value) && (c.Allowed.IsEmpty() || c.Allowed.Has(value))
}

// hasPairs reports whether the labels have all pairs. An absent label is not an empty
// one.
func hasPairs(labels, pairs map[string]string) bool {
	for key, want := range pairs {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// hasPair reports whether the labels have one of the pairs.
func hasPair(labels, pairs map[string]string) bool {
	for key, want := range pairs {
		if got, ok := labels[key]; ok && got == want {
			return true
		}
	}
	return false
}

// hidesNode reports whether hideMasters or hideByLabels hides a node.
func (v *visibilityEntry) hidesNode(item *decision.Item) bool {
	return v.HideMasters && isMaster(item) || hasPair(item.Labels, v.HideByLabels)
}

func isMaster(item *decision.Item) bool {
	for _, role := range [...]string{"master", "control-plane"} {
		if _, ok := item.Labels["node-role.kubernetes.io/"+role]; ok {
			return true
		}
		roles, _ := item.Fields["roles"].([]any)
		for _, r := range roles {
			if r == role {
				return true
			}
		}
	}
	return false
}
