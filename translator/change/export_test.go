package change

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/change/statement"
)

// Fits reports whether a request of some principals fits a class.
func (r *Report) Fits(k *Class, object map[string]any, principals []string) bool {
	var q statement.Request
	for _, set := range statement.Setters(object, nil) {
		set(&q)
	}
	fits := func(m *member) bool { return m.s.Holds(principals) && m.s.Fits(&q) }
	found := r.found[k.ID]
	for _, list := range found.all {
		one := false
		for _, m := range list {
			one = one || fits(m)
		}
		if !one {
			return false
		}
	}
	for _, m := range found.except {
		if fits(m) {
			return false
		}
	}
	return true
}

// Break returns a copy of a report in which the class at an index is wrong, or false if it
// cannot be in that way.
func (r *Report) Break(how string, at int) (*Report, bool) {
	broken := *r
	broken.Classes, broken.found = slices.Clone(r.Classes), maps.Clone(r.found)
	k := &broken.Classes[at]
	found := *r.found[k.ID]
	broken.found[k.ID] = &found
	switch how {
	case "dropped":
		broken.Classes = slices.Delete(broken.Classes, at, at+1)
	case "widened":
		if len(found.except) == 0 {
			return nil, false
		}
		found.except = nil
	case "narrowed":
		found.except = append(slices.Clone(found.except), found.all[0][0])
	case "another witness":
		if len(k.Transitions) == 0 {
			return nil, false
		}
		k.Transitions = slices.Clone(k.Transitions)
		k.Transitions[0].Witness.Request = statement.With(k.Transitions[0].Witness.Request, "verb", "unheard-of")
	}
	return &broken, true
}
