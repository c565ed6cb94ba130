package visibility

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// entryOf returns the rule's entry for a type, nil if it has none.
func (r *rule) entryOf(typ string) *entry { return (*entry)(r.Entries[typ]) }

// restricts reports whether the rule hides items of a type.
func (r *rule) restricts(typ string) bool { return r.Entries[typ].Restricts() }

// entry is the entry of a rule for one type, with methods that decide on items.
type entry tables.VisibilityEntry

// allowsAggregation reports whether the entry allows an aggregation: one that it
// includes or, if it includes none, any that it does not exclude. A nil entry allows
// none.
func (e *entry) allowsAggregation(name string) bool {
	switch {
	case e == nil:
		return false
	case len(e.Include) > 0:
		return slices.Contains(e.Include, name)
	}
	return !slices.Contains(e.Exclude, name)
}

// hasCriteria reports whether c restricts values at all.
func hasCriteria(c *tables.Criteria) bool { return !c.Allowed.IsEmpty() || !c.Denied.IsEmpty() }

// hidesValue returns the part of c that does not permit a value: a denied value or, if c
// lists allowed values, one that is not listed. It returns "" for a value that c permits.
func hidesValue(c *tables.Criteria, value string) string {
	switch {
	case c.Denied.Has(value):
		return partDenied
	case !c.Allowed.IsEmpty() && !c.Allowed.Has(value):
		return partAllowed
	}
	return ""
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

// isMaster reports whether a node is of the control plane, by its labels or its field roles.
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
