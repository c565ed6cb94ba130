package reach

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
)

// memory is what the worlds of a search have in common. Most of them grant and deny the same to
// an identity, so that a question is asked in one of them.
type memory struct {
	known    map[string]verdict // by what decides; see likeness
	asks     int                // questions that were not known
	shapes   map[target]*shape
	contents map[string]int // statements, by content
	names    map[statement.Condition][]string
	holdings map[string]int // of what identities hold
	answers  map[asked]verdict
}

// asked is a request of all who hold the same; see holding.
type asked struct {
	holding int
	target
	anyName bool
	stated  string
}

func newMemory() *memory {
	return &memory{
		known: make(map[string]verdict), shapes: make(map[target]*shape), contents: make(map[string]int),
		names: make(map[statement.Condition][]string), holdings: make(map[string]int), answers: make(map[asked]verdict),
	}
}

// maxAnswers bounds the memory of answers: about 100 MB. Few documents lead to as many.
const maxAnswers = 500_000

// keep keeps an answer, in place of all if there are too many.
func (m *memory) keep(a asked, v verdict) {
	if len(m.answers) == maxAnswers {
		clear(m.answers)
	}
	m.answers[a] = v
}

// namesOf returns the names of objects that the condition of a statement tells apart.
func (w *world) namesOf(s *statement.Statement) []string {
	found, known := w.names[s.Condition]
	if !known {
		found = s.Names()
		w.names[s.Condition] = found
	}
	return found
}

// readsPlace reports whether a statement may read the name or the namespace of a request, beside
// that it holds in a namespace.
func readsPlace(s *statement.Statement) bool {
	switch c := s.Condition.(type) {
	case *statement.KubernetesRule:
		return len(c.Names) > 0
	case *statement.OriginRule:
		return c.Restrictions != nil
	}
	return true
}

// holding identifies what decides the requests of an identity, whose statements are held, in
// whatever world. It returns false if that is not known.
func (w *world) holding(i *Identity, held []*statement.Statement) (int, bool) {
	if w.sealed {
		return 0, false
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%q %q", i.Session, i.Escalation)
	if i.Acting != nil && i.Acting.Mode != legacy {
		by, known := w.holding(i.Acting.By, w.held(i.Acting.By))
		if !known {
			return 0, false
		}
		fmt.Fprintf(&key, " %s %d", i.Acting.Mode, by)
	}
	for _, c := range w.changes {
		if c.kind == kindDenyPolicy {
			fmt.Fprintf(&key, " %q", c.key())
		}
	}
	if slices.ContainsFunc(w.Deny, (*statement.Statement).ReadsPod) {
		fmt.Fprintf(&key, " %q", i.key()+w.key)
	}
	for _, s := range held {
		switch {
		case s.Opaque != "":
			return 0, false
		case s.ReadsUser() && strings.HasPrefix(i.User, nodePrefix):
			fmt.Fprintf(&key, " %q", i.User)
		}
		fmt.Fprintf(&key, " %d", w.number(s))
	}
	n, known := w.holdings[key.String()]
	if !known {
		n = len(w.holdings)
		w.holdings[key.String()] = n
	}
	return n, true
}

// likeness identifies what decides a target, in whatever world. It returns false if that is not
// known.
func (w *world) likeness(i *Identity, fits, denials []*statement.Statement, t *target, anyName bool, stated map[string]any) (string, bool) {
	if w.sealed {
		return "", false
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%v %v %q %q %s", *t, anyName, i.Session, i.Escalation, statement.JSONText(stated))
	if slices.ContainsFunc(denials, (*statement.Statement).ReadsPod) {
		for _, e := range w.Escalations() {
			fmt.Fprintf(&key, " %t", statement.MayOverride(e, i.Principals()))
		}
		fmt.Fprintf(&key, " %q", w.key) // the documents decide
	}
	for _, s := range denials {
		fmt.Fprintf(&key, "\x00%d", w.number(s))
	}
	for _, s := range fits {
		switch {
		case s.Opaque != "":
			return "", false
		case s.ReadsUser() && strings.HasPrefix(i.User, nodePrefix): // it compares nodes
			fmt.Fprintf(&key, "\x00%q", i.User)
		}
		fmt.Fprintf(&key, "\x00%d", w.number(s))
	}
	return key.String(), true
}

// number identifies the content of a statement, in whatever world it is.
func (w *world) number(s *statement.Statement) int {
	if n, known := w.numbers[s]; known {
		return n
	}
	own := *s // others may read the statement
	content := statement.ContentOf(&own)
	n, known := w.contents[content]
	if !known {
		n = len(w.contents)
		w.contents[content] = n
	}
	w.numbers[s] = n
	return n
}
