package engine

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// viewRule is a rule of the tables that decides.
type viewRule tables.VisibilityRule

// entry returns the rule's entry for a type, nil if it has none.
func (v *viewRule) entry(typ string) *viewEntry { return (*viewEntry)(v.Entries[typ]) }

// restricts reports whether the rule hides items of a type.
func (v *viewRule) restricts(typ string) bool { return v.Entries[typ].Restricts() }

// viewEntry is an entry of the tables. It is read for every item.
type viewEntry tables.VisibilityEntry

// allowsAggregation reports whether the entry allows an aggregation: one that it
// includes or, if it includes none, any that it does not exclude. A nil entry allows
// none.
func (v *viewEntry) allowsAggregation(name string) bool {
	switch {
	case v == nil:
		return false
	case len(v.Include) > 0:
		return slices.Contains(v.Include, name)
	}
	return !slices.Contains(v.Exclude, name)
}

// given reports whether there are any criteria.
func given(c *tables.Criteria) bool { return !c.Allowed.IsEmpty() || !c.Denied.IsEmpty() }

// passes reports whether a value is not denied, and allowed if only some values are.
func passes(c *tables.Criteria, value string) bool {
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

// hidesNode reports whether an exclusion of the older form hides a node.
func (v *viewEntry) hidesNode(item *decision.Item) bool {
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
