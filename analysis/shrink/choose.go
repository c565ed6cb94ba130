package shrink

import (
	"cmp"
	"maps"
	"slices"
)

// choice is the subjects, rules and cells that stay.
type choice struct {
	model   *Model
	classes []*class
	// keptSubjects and keptRules may still go if nothing needs them in the end.
	subjects map[*subject]bool
	rules    map[*rule]bool
}

// choose decides what stays of the documents so that each class is still allowed.
func (m *Model) choose(classes []*class) *choice {
	c := &choice{model: m, classes: classes, subjects: make(map[*subject]bool), rules: make(map[*rule]bool)}
	for _, b := range m.bindings {
		for _, s := range b.subjects {
			c.subjects[s] = s.fixed != ""
		}
	}
	for _, r := range m.roles {
		for _, one := range r.rules {
			c.rules[one] = one.fixed != "" || !m.o.does(OnlyRules)
		}
	}
	c.keepNeeded()
	c.keepWidest()
	c.chooseCells()
	c.takeBack()
	return c
}

// isOpen reports whether no grant that is kept allows a class.
func (c *choice) isOpen(k *class) bool {
	return !slices.ContainsFunc(k.options, func(o option) bool { return c.subjects[o.subject] && c.rules[o.rule] })
}

// keepNeeded keeps the rules and the subjects that some class needs alone.
func (c *choice) keepNeeded() {
	for _, k := range c.classes {
		if !c.isOpen(k) || len(k.options) == 0 {
			continue
		}
		first := k.options[0]
		if !slices.ContainsFunc(k.options, func(o option) bool { return o.rule != first.rule }) {
			c.rules[first.rule] = true
		}
		if !slices.ContainsFunc(k.options, func(o option) bool { return o.subject != first.subject }) {
			c.subjects[first.subject] = true
		}
	}
}

// subjectRule is a subject of a binding with a rule of the role.
type subjectRule struct {
	subject *subject
	rule    *rule
}

// keepWidest keeps the grant that allows most events of open classes until none is open.
func (c *choice) keepWidest() {
	open := slices.Clone(c.classes)
	for {
		open = slices.DeleteFunc(open, func(k *class) bool { return len(k.options) == 0 || !c.isOpen(k) })
		if len(open) == 0 {
			return
		}
		widest := widestOf(open)
		c.subjects[widest.subject] = true
		c.rules[widest.rule] = true
	}
}

// widestOf returns the grant that allows most events of classes; of equal ones that with the
// narrowest rule, then the first in the files.
func widestOf(classes []*class) subjectRule {
	events := make(map[subjectRule]int)
	for _, k := range classes {
		for _, o := range k.options {
			events[subjectRule{o.subject, o.rule}] += k.count
		}
	}
	return slices.MinFunc(slices.Collect(maps.Keys(events)), func(a, b subjectRule) int {
		return cmp.Or(
			cmp.Compare(events[b], events[a]),
			compareRules(a.rule, b.rule),
			cmp.Compare(a.subject.binding.order, b.subject.binding.order),
			cmp.Compare(a.subject.index, b.subject.index),
		)
	})
}

// compareRules orders rules by how much they grant, then as the files have them.
func compareRules(a, b *rule) int {
	return cmp.Or(cmp.Compare(a.width(), b.width()), cmp.Compare(a.role.order, b.role.order), cmp.Compare(a.index, b.index))
}

// width returns how much a rule grants, as written: a "*" is more than any list.
func (r *rule) width() int {
	const wild = 1 << 12
	width := 1
	for i := range r.lists {
		count := 0
		for _, e := range r.lists[i].entries {
			switch {
			case e.value == "*":
				count += wild
			case e.isWild():
				count += wild >> 4
			default:
				count++
			}
		}
		if r.lists[i].name == "resourceNames" && count == 0 {
			count = wild >> 2
		}
		width = min(width*max(count, 1), 1<<50)
	}
	return width
}

// isSatisfied reports whether what stays allows a class.
func (c *choice) isSatisfied(k *class) bool {
	return slices.ContainsFunc(k.options, func(o option) bool { return c.subjects[o.subject] && c.grants(o) })
}

// grants reports whether what stays of a rule allows an option.
func (c *choice) grants(o option) bool {
	if o.rule.fixed != "" {
		return true
	}
	return slices.ContainsFunc(o.cells, func(one cell) bool { return o.rule.pool.cells[one] })
}

// chooseCells adds a cell for each class, first for those that have no other. Rules that may
// not go grant what they have: each gets a cell for each class, which it may lose again.
func (c *choice) chooseCells() {
	if !c.model.o.does(OnlyRules) {
		for _, k := range c.classes {
			for _, o := range k.options {
				if o.rule.fixed == "" {
					o.rule.pool.cells[o.cells[0]] = true
				}
			}
		}
		return
	}
	order := slices.Clone(c.classes)
	freedom := func(k *class) int {
		n := 0
		for _, o := range k.options {
			if c.subjects[o.subject] && c.rules[o.rule] {
				n += max(1, len(o.cells))
			}
		}
		return n
	}
	degrees := make(map[*class]int, len(order))
	for _, k := range order {
		degrees[k] = freedom(k)
	}
	slices.SortStableFunc(order, func(a, b *class) int { return degrees[a] - degrees[b] })
	for _, k := range order {
		if len(k.options) == 0 || c.isSatisfied(k) {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(k.options), func(o option) bool { return !c.subjects[o.subject] || !c.rules[o.rule] })
		best := slices.MinFunc(kept, func(a, b option) int { return compareRules(a.rule, b.rule) })
		best.rule.pool.cells[best.cells[0]] = true
	}
}

// poolCell is a cell of a pool.
type poolCell struct {
	pool *pool
	cell cell
}

// takeBack takes subjects and cells that no class needs. A rule that may not go keeps a cell.
func (c *choice) takeBack() {
	bySubject, byCell := make(map[*subject][]*class), make(map[poolCell][]*class)
	for _, k := range c.classes {
		for _, o := range k.options {
			bySubject[o.subject] = append(bySubject[o.subject], k)
			for _, one := range o.cells {
				if o.rule.fixed == "" {
					at := poolCell{o.rule.pool, one}
					byCell[at] = append(byCell[at], k)
				}
			}
		}
	}
	isNeeded := func(classes []*class) bool {
		return slices.ContainsFunc(classes, func(k *class) bool { return !c.isSatisfied(k) })
	}
	for again := true; again; {
		again = false
		for _, b := range slices.Backward(c.model.bindings) {
			for _, s := range slices.Backward(b.subjects) {
				if s.fixed != "" || !c.subjects[s] {
					continue
				}
				c.subjects[s] = false
				if isNeeded(bySubject[s]) {
					c.subjects[s] = true
				} else {
					again = true
				}
			}
		}
		for _, p := range c.model.pools() {
			for _, one := range p.sorted() {
				if p.held[one] || len(p.cells) == 1 && !c.model.o.does(OnlyRules) {
					continue
				}
				delete(p.cells, one)
				if isNeeded(byCell[poolCell{p, one}]) {
					p.cells[one] = true
				} else {
					again = true
				}
			}
		}
	}
}

// pools returns those of roles that may change, the last first.
func (m *Model) pools() []*pool {
	var out []*pool
	for _, role := range slices.Backward(m.roles) {
		if role.fixed != "" {
			continue
		}
		var met []*pool
		for _, r := range role.rules {
			if r.pool != nil && !r.isDeny && !slices.Contains(met, r.pool) {
				met = append(met, r.pool)
			}
		}
		out = append(out, met...)
	}
	return out
}

// sorted returns the cells that stay, the widest first.
func (p *pool) sorted() []cell {
	out := make([]cell, 0, len(p.cells))
	for c := range p.cells {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b cell) int { return cmp.Or(b.wilds()-a.wilds(), slices.Compare(a[:], b[:])) })
	return out
}

func (c cell) wilds() int {
	n := 0
	for _, v := range c {
		if (entry{value: v}).isWild() {
			n++
		}
	}
	return n
}
