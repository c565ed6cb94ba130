package diff

import (
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
)

// member is a statement of a class, and the revisions that have it.
type member struct {
	s  *statement.Statement
	in []string
}

func (d *side) own(s *statement.Statement) *member {
	return &member{s: named(s, d.xName), in: []string{d.xName}}
}

// named returns a copy whose documents name their revision.
func named(s *statement.Statement, in ...string) *statement.Statement {
	out := *s
	out.Documents = nil
	for _, d := range s.Documents {
		for _, name := range in {
			d.In = name
			out.Documents = append(out.Documents, d)
		}
	}
	return &out
}

// withEquals returns a list and, after it, the statements of all principals of the group
// that have the content of one in the list.
func (g *group) withEquals(list []*statement.Statement) []*statement.Statement {
	wanted := make(map[string]bool, len(list))
	seen := make(map[*statement.Statement]bool)
	out := slices.Clone(list)
	for _, s := range list {
		wanted[statement.ContentOf(s)], seen[s] = true, true
	}
	for _, r := range g.statements {
		for _, s := range slices.Concat(r.lowerX, r.lowerY, r.same, r.other) {
			if wanted[statement.ContentOf(s)] && !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// members returns statements as those of a class. A statement that both revisions have is
// one member.
func (d *side) members(list []*statement.Statement) []*member {
	return elements.Map(list, d.memberOf)
}

func (d *side) memberOf(t *statement.Statement) *member {
	inX, inY := d.x.find(t), d.y.find(t)
	var documents []statement.Document
	m := &member{}
	for _, found := range []struct {
		name string
		List []*statement.Statement
	}{{d.xName, inX}, {d.yName, inY}} {
		if len(found.List) == 0 {
			continue
		}
		m.in = append(m.in, found.name)
		for _, s := range found.List {
			documents = append(documents, named(s, found.name).Documents...)
		}
	}
	slices.Sort(m.in)
	copied := *t
	copied.Documents = statement.SortedDocuments(documents)
	m.s = &copied
	return m
}

// find returns the statements of a space with the content of t for all of its subjects,
// nil if some subject has none.
func (w *space) find(t *statement.Statement) []*statement.Statement {
	var out []*statement.Statement
	if t.Subjects == nil {
		for _, s := range w.everyone {
			if statement.ContentOf(s) == statement.ContentOf(t) {
				out = append(out, s)
			}
		}
		return out
	}
	for _, p := range t.Subjects {
		found := false
		for _, s := range w.in(p, t.Namespace) {
			if statement.ContentOf(s) == statement.ContentOf(t) {
				found = true
				if !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
		if !found {
			return nil
		}
	}
	return out
}

// joined returns one member for those of one content, with all subjects.
func joined(list []*member) []*member {
	by := make(map[string]*member)
	var out []*member
	for _, m := range list {
		key := statement.ContentOf(m.s) + statement.JSONText(m.in)
		into := by[key]
		if into == nil {
			all := *m.s
			all.Subjects, all.Documents = slices.Clone(all.Subjects), slices.Clone(all.Documents)
			by[key] = &member{s: &all, in: m.in}
			out = append(out, by[key])
			continue
		}
		into.s.Subjects = append(into.s.Subjects, m.s.Subjects...)
		into.s.Documents = append(into.s.Documents, m.s.Documents...)
	}
	for _, m := range out {
		slices.Sort(m.s.Subjects)
		m.s.Subjects = slices.Compact(m.s.Subjects)
	}
	return out
}
