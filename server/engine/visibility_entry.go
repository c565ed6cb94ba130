package engine

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// viewEntry is what a rule says of one type, with its patterns cut and its
// literals in sets: done once an activation, read for every item.
type viewEntry struct {
	*tables.VisibilityEntry
	names      criteria
	namespaces criteria
	fields     map[string]criteria
}

func newViewEntry(e *tables.VisibilityEntry) *viewEntry {
	v := &viewEntry{VisibilityEntry: e, names: newCriteria(e.Names), namespaces: newCriteria(e.Namespaces)}
	for name, c := range e.Fields {
		if v.fields == nil {
			v.fields = make(map[string]criteria, len(e.Fields))
		}
		v.fields[name] = newCriteria(c)
	}
	return v
}

// through reports whether the entry lets an aggregation through: one it includes,
// or any but those it excludes. Where there is no entry there is none.
func (v *viewEntry) through(name string) bool {
	switch {
	case v == nil:
		return false
	case len(v.Include) > 0:
		return slices.Contains(v.Include, name)
	}
	return !slices.Contains(v.Exclude, name)
}

// criteria are allowed and denied values.
type criteria struct {
	given    bool // any of the four lists
	allows   bool // what is not allowed is out
	allowed  values
	excluded values
}

func newCriteria(c tables.Criteria) criteria {
	allowed, excluded := newValues(c.Include, c.IncludePatterns), newValues(c.Exclude, c.ExcludePatterns)
	return criteria{!allowed.none() || !excluded.none(), !allowed.none(), allowed, excluded}
}

// passes reports whether a value is neither denied nor left out.
func (c *criteria) passes(value string) bool {
	return !c.excluded.has(value) && (!c.allows || c.allowed.has(value))
}

// values are literals and globs.
type values struct {
	literals map[string]struct{}
	globs    []glob
}

func newValues(literals, patterns []string) values {
	var v values
	for _, literal := range literals {
		if v.literals == nil {
			v.literals = make(map[string]struct{}, len(literals))
		}
		v.literals[literal] = struct{}{}
	}
	for _, pattern := range patterns {
		v.globs = append(v.globs, newGlob(pattern))
	}
	return v
}

func (v *values) none() bool { return len(v.literals) == 0 && len(v.globs) == 0 }

func (v *values) has(value string) bool {
	if _, ok := v.literals[value]; ok {
		return true
	}
	for _, g := range v.globs {
		if g.fits(value) {
			return true
		}
	}
	return false
}

// hasAll reports whether all pairs are among the labels; an absent label is not
// an empty one.
func hasPairs(labels, pairs map[string]string) bool {
	for key, want := range pairs {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}

func hasPair(labels, pairs map[string]string) bool {
	for key, want := range pairs {
		if got, ok := labels[key]; ok && got == want {
			return true
		}
	}
	return false
}

// hidesNode reports whether the older form's exclusions put a node out.
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
