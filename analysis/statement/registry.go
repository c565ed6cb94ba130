package statement

import (
	"cmp"
	"slices"
	"strings"
)

// Registry numbers the statements of a report. Statements of the same rule in the same
// place are one, with all their subjects and documents.
type Registry struct {
	entries map[string]*Entry
	hasOwn  bool // AddOwn was called
}

// Entry is a statement of a report.
type Entry struct {
	JSON
	effect Statement
	key    string
}

// Add adds a statement, which is in the revisions of in, and returns its entry.
func (g *Registry) Add(s *Statement, in []string) *Entry { return g.addAs(s, in, "") }

// AddOwn adds a statement that a class requires. It is not joined with those of other
// subjects: the class concerns its own alone.
func (g *Registry) AddOwn(s *Statement, in []string) *Entry {
	g.hasOwn = true
	return g.addAs(s, in, strings.Join(s.Subjects, "\x00"))
}

func (g *Registry) addAs(s *Statement, in []string, subjects string) *Entry {
	if g.entries == nil {
		g.entries = make(map[string]*Entry)
	}
	key := ContentOf(s) + "\x00" + strings.Join(in, ",") + "\x00" + subjects
	from, until := "", ""
	if in == nil { // those of a comparison hold at the same time
		from, until = s.Dates.Begin(), s.Dates.End()
		key += "\x00" + from + "\x00" + until
	}
	e := g.entries[key]
	if e == nil {
		e = &Entry{effect: *s, key: key, JSON: s.JSON()}
		e.In, e.From, e.Until, e.Subjects, e.Documents = in, from, until, nil, nil
		g.entries[key] = e
	}
	if s.Subjects != nil {
		e.Subjects = append(e.Subjects, s.Subjects...)
	}
	first := len(e.Documents)
	e.Documents = append(e.Documents, s.Documents...)
	if in == nil { // a statement of one revision is of one binding
		for i := range e.Documents[first:] {
			e.Documents[first+i].Subjects = s.Subjects
		}
	}
	return e
}

// JSON returns the statement as reports show it, without an ID.
func (s *Statement) JSON() JSON {
	out := JSON{Family: s.family, Effect: s.Effect, Step: Step(s.Step), Namespace: s.Namespace, Subjects: s.Subjects, Documents: s.Documents}
	if s.family == familyVisibility {
		out.Step = noStep
	}
	if s.Session != nil {
		out.Session = s.Session.Name
	}
	s.Condition.Describe(&out)
	return out
}

// Number sorts the statements and gives each its ID. Entries that read alike have one.
func (g *Registry) Number() []JSON {
	all := make([]*Entry, 0, len(g.entries))
	for _, e := range g.entries {
		e.Documents = SortedDocuments(e.Documents)
		slices.Sort(e.Subjects)
		e.Subjects = slices.Compact(e.Subjects)
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.key, b.key))
	})
	out := make([]JSON, 0, len(all))
	known := make(map[string]int)
	for _, e := range all {
		if g.hasOwn { // only these may repeat others; an answer may have 100,000 statements
			text := JSONText(e.JSON)
			if id, ok := known[text]; ok {
				e.ID = id
				continue
			}
			known[text] = len(out)
		}
		e.ID = len(out)
		out = append(out, e.JSON)
	}
	return out
}

func compareDocuments(a, b Document) int {
	return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Source, b.Source))
}

// SortedDocuments sorts a list in place and returns each document of it once.
func SortedDocuments(list []Document) []Document {
	slices.SortFunc(list, compareDocuments)
	return slices.CompactFunc(list, func(a, b Document) bool { return compareDocuments(a, b) == 0 })
}
