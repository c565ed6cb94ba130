package change

import (
	"cmp"
	"slices"
	"strings"
)

// registry numbers the statements of a report. Statements of the same rule in the same
// place are one, with all their subjects and documents.
type registry struct {
	entries map[string]*entry
}

// entry is a statement of a report.
type entry struct {
	Statement
	effect statement
	key    string
}

// add adds a statement, which is in the revisions of in, and returns its entry.
func (g *registry) add(s *statement, in []string) *entry { return g.addAs(s, in, "") }

// addOwn adds a statement that a class requires. It is not joined with those of other
// subjects: the class concerns its own alone.
func (g *registry) addOwn(s *statement, in []string) *entry {
	return g.addAs(s, in, strings.Join(s.subjects, "\x00"))
}

func (g *registry) addAs(s *statement, in []string, subjects string) *entry {
	if g.entries == nil {
		g.entries = make(map[string]*entry)
	}
	key := contentOf(s) + "\x00" + strings.Join(in, ",") + "\x00" + subjects
	e := g.entries[key]
	if e == nil {
		e = &entry{effect: *s, key: key}
		e.Statement = Statement{In: in, Family: s.family, Effect: s.effect, Step: s.step, Namespace: s.namespace}
		s.condition.describe(&e.Statement)
		g.entries[key] = e
	}
	if s.subjects != nil {
		e.Subjects = slices.Compact(slices.Sorted(slices.Values(append(e.Subjects, s.subjects...))))
	}
	e.Documents = append(e.Documents, s.documents...)
	return e
}

// number sorts the statements and gives each its ID.
func (g *registry) number() []Statement {
	all := make([]*entry, 0, len(g.entries))
	for _, e := range g.entries {
		e.Documents = sortedDocuments(e.Documents)
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.key, b.key))
	})
	out := make([]Statement, 0, len(all))
	for i, e := range all {
		e.ID = i
		out = append(out, e.Statement)
	}
	return out
}

func compareDocuments(a, b Document) int {
	return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Source, b.Source))
}

func sortedDocuments(list []Document) []Document {
	slices.SortFunc(list, compareDocuments)
	return slices.Compact(list)
}
