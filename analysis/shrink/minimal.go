package shrink

import (
	"fmt"
	"slices"
)

// needs are the parts of the documents that some class needs alone.
type needs struct {
	subjects map[*subject]bool
	bindings map[*binding]bool
	rules    map[*rule]bool
	entries  map[entryAt]bool
	used     map[*rule]bool // by a class, needed or not
}

type entryAt struct {
	rule        *rule
	list, index int
}

// Needless returns the subjects, bindings, rules and entries of the documents that could go
// without losing an event that was used for the choice, a line each. What must stay is not
// among them.
func (m *Model) Needless(c *Change) []string {
	n := &needs{make(map[*subject]bool), make(map[*binding]bool), make(map[*rule]bool), make(map[entryAt]bool), make(map[*rule]bool)}
	for _, k := range c.training {
		n.add(k)
	}
	var out []string
	for _, b := range m.bindings {
		if b.fixed == "" && b.role != nil && m.o.does(OnlyBindings) && !n.bindings[b] && !slices.ContainsFunc(b.subjects, func(s *subject) bool { return s.fixed != "" }) {
			out = append(out, fmt.Sprintf("%s %s", b.line(nil), b.name()))
		}
		for _, s := range b.subjects {
			if s.fixed == "" && !n.subjects[s] {
				out = append(out, fmt.Sprintf("%s subject %s", b.line(s.at), s.principal))
			}
		}
	}
	for _, r := range m.roles {
		for _, one := range r.rules {
			if one.fixed == "" {
				out = append(out, m.needlessOf(one, n)...)
			}
		}
	}
	return out
}

func (m *Model) needlessOf(r *rule, n *needs) (out []string) {
	isHeld := func(of func(cell) bool) bool {
		for one := range r.pool.held {
			if r.covers(one) && of(one) {
				return true
			}
		}
		return false
	}
	if m.o.does(OnlyRules) && !n.rules[r] && !isHeld(func(cell) bool { return true }) {
		return []string{fmt.Sprintf("%s rule %d of %s", r.source, r.index, r.role.name())}
	}
	if !m.o.does(OnlyEntries) || !n.used[r] {
		return nil
	}
	for i := range r.lists {
		for _, e := range r.lists[i].entries {
			if len(r.lists[i].entries) > 1 && !n.entries[entryAt{r, i, e.index}] && !isHeld(func(one cell) bool { return r.holds(&r.lists[i], e.value, one[i]) }) {
				out = append(out, fmt.Sprintf("%s entry %s of %s", r.source, entryOf(e.value), r.lists[i].name))
			}
		}
	}
	return out
}

// add marks what all options of a class have.
func (n *needs) add(k *class) {
	if len(k.options) == 0 {
		return
	}
	for _, o := range k.options {
		n.used[o.rule] = true
	}
	first := k.options[0]
	if all(k, func(o option) bool { return o.subject == first.subject }) {
		n.subjects[first.subject] = true
	}
	if all(k, func(o option) bool { return o.subject.binding == first.subject.binding }) {
		n.bindings[first.subject.binding] = true
	}
	if !all(k, func(o option) bool { return o.rule == first.rule }) {
		return
	}
	n.rules[first.rule] = true
	for i := range first.rule.lists {
		l := &first.rule.lists[i]
		covering := slices.DeleteFunc(slices.Clone(l.entries), func(e entry) bool {
			return !slices.ContainsFunc(first.cells, func(one cell) bool { return one[i] != "" && first.rule.holds(l, e.value, one[i]) })
		})
		if len(covering) == 1 {
			n.entries[entryAt{first.rule, i, covering[0].index}] = true
		}
	}
}

func all(k *class, is func(option) bool) bool {
	return !slices.ContainsFunc(k.options, func(o option) bool { return !is(o) })
}
