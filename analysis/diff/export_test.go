package diff

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// Fits reports whether a request of some principals fits a class.
func (r *Report) Fits(k *Class, object map[string]any, principals []string) bool {
	var q statement.Request
	for _, set := range statement.Setters(object, nil) {
		set(&q)
	}
	action, isView := object["action"].(string)
	if isView {
		typ, _ := object["type"].(string)
		hasTypes := len(k.Types) == 0 || slices.Contains(k.Types, typ)
		hasActions := len(k.Actions) == 0 || slices.Contains(k.Actions, action)
		if !hasTypes || !hasActions || (k.Question == questionItem) != (object["items"] != nil) {
			return false
		}
		cluster, _ := object["cluster"].(map[string]any)
		q.Cluster, _ = cluster["name"].(string)
		q.ClusterLabels, _ = cluster["labels"].(map[string]string)
	}
	// A view without a cluster fits by its subject alone.
	fits := func(m *member) bool { return m.s.Holds(principals) && (isView && q.Cluster == "" || m.s.Fits(&q)) }
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
	return !slices.ContainsFunc(found.except, fits)
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

// Needless returns a statement of a class that no request needs, "" if all are needed, and
// how many were looked at.
func (r *Report) Needless(k *Class) (needless string, parts int) {
	found := r.found[k.ID]
	for i, list := range found.all {
		for _, m := range list {
			lists := slices.Clone(found.all)
			lists[i] = []*member{m}
			if parts++; !isFitted(k.Point, lists, found.except) {
				return statement.JSONOf(m.s.Condition), parts
			}
		}
	}
	for i, m := range found.except {
		rest := slices.DeleteFunc(slices.Delete(slices.Clone(found.except), i, i+1), func(o *member) bool { return statement.ContentOf(o.s) == statement.ContentOf(m.s) })
		if parts++; !isFitted(k.Point, append(slices.Clone(found.all), []*member{m}), rest) {
			return "except " + statement.JSONOf(m.s.Condition), parts
		}
	}
	return "", parts
}

// isFitted reports whether a request fits one statement of each list and none of others.
func isFitted(point string, lists [][]*member, others []*member) bool {
	var try func(lists [][]*member, must []*statement.Statement, principals []string) bool
	try = func(lists [][]*member, must []*statement.Statement, principals []string) bool {
		if len(lists) > 0 {
			return slices.ContainsFunc(lists[0], func(m *member) bool {
				with := append(slices.Clone(must), m.s)
				return m.s.Subjects == nil && try(lists[1:], with, principals) ||
					slices.ContainsFunc(m.s.Subjects, func(p string) bool { return try(lists[1:], with, append(slices.Clone(principals), p)) })
			})
		}
		base, ok := statement.RequestOf(point, distinct(principals...))
		var not []*statement.Statement
		for _, m := range others {
			if m.s.Holds(principals) {
				not = append(not, m.s)
			}
		}
		find := statement.Search{Must: must, MustNot: not, Point: point, Base: base}
		return ok && find.Find() != nil
	}
	return try(lists, nil, nil)
}
