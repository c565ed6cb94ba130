package shrink

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/shrink/edit"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

// The parts of documents that Options.Only selects.
const (
	OnlyRules     = "rules"
	OnlySubjects  = "subjects"
	OnlyBindings  = "bindings"
	OnlyEntries   = "entries"
	OnlyWildcards = "wildcards"
)

// Options say what may be changed.
type Options struct {
	// Keep are patterns of documents, KIND/[NAMESPACE/]NAME, or of files that stay.
	Keep []tables.PathGlob
	// KeepSubjects and BreakGlass are principals.
	KeepSubjects, BreakGlass []string
	// Earlier, if not nil, is the directory at an earlier time: what it lacks stays.
	Earlier *directory.Directory
	// Now, unless it is zero, is when bindings must have begun: others stay, as no log shows their
	// use.
	Now dates.Instant
	// Only selects what is changed; empty stands for everything.
	Only []string
	// NoSplit makes no rule several ones.
	NoSplit bool
	// SplitRoles makes a copy of a role for each binding that needs less of it than others.
	SplitRoles bool
}

func (o *Options) does(what string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, what) }

// isKept reports whether a pattern fits a document or its file.
func (o *Options) isKept(d *document) bool {
	bare := d.header.Kind + "/" + d.header.Name
	name := bare
	if d.header.Namespace != "" {
		name = strings.Join([]string{d.header.Kind, d.header.Namespace, d.header.Name}, "/")
	}
	return slices.ContainsFunc(o.Keep, func(g tables.PathGlob) bool {
		return g.Match(name) || g.Match(bare) || g.Match(d.header.At.File)
	})
}

// Change is what a log leaves of the documents.
type Change struct {
	// Files are the texts that change, by path; nil is a file that is deleted.
	Files map[string][]byte
	Edits []Edit
	// NotEdited are rules and subjects whose text cannot be changed alone.
	NotEdited []NotEdited
	// Lost are classes of held-out events that the choice would refuse, or, unless PutBack,
	// refuses.
	Lost    []Loss
	PutBack bool

	training []*class
}

// NotEdited is a part of a document that stays for its text.
type NotEdited struct {
	Source string `json:"source"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

// Loss is held-out events that the choice refuses.
type Loss struct {
	Count   int      `json:"count"`
	Log     string   `json:"log"`
	Line    int      `json:"line"`
	Request any      `json:"request"`
	Sources []string `json:"sources"` // of the grants that allow them
}

// Shrink decides what goes. Events held out that would be lost count as used, unless strict
// is set. It must be called once.
func (m *Model) Shrink(u *Use, strict bool) (*Change, error) {
	for {
		out := &Change{Files: make(map[string][]byte), PutBack: !strict}
		c := m.chooseFrom(u, strict, out)
		m.removeDocuments(c)
		err := m.write(u, out)
		if !errors.Is(err, edit.ErrLayout) { // what has such a text is marked, and stays
			return out, err
		}
	}
}

// chooseFrom chooses from the events that take part, and those held out that it would lose.
func (m *Model) chooseFrom(u *Use, strict bool, out *Change) *choice {
	var heldOut []*class
	for _, k := range u.sorted() {
		if k.isHeld {
			heldOut = append(heldOut, k)
		} else {
			out.training = append(out.training, k)
		}
	}
	for {
		m.reset()
		c := m.choose(out.training)
		c.makeParts()
		lost := slices.DeleteFunc(slices.Clone(heldOut), func(k *class) bool { return !c.isLost(k) })
		out.Lost = append(out.Lost, elements.Map(lost, (*class).loss)...)
		if len(lost) == 0 || strict {
			return c
		}
		out.training = append(out.training, lost...)
		heldOut = slices.DeleteFunc(heldOut, func(k *class) bool { return slices.Contains(lost, k) })
	}
}

// reset forgets the cells and parts of an earlier choice.
func (m *Model) reset() {
	for _, r := range m.roles {
		for _, p := range r.pools {
			p.cells = maps.Clone(p.held)
		}
		for _, one := range r.rules {
			one.parts = nil
		}
	}
}

// isLost reports whether what stays refuses a class.
func (c *choice) isLost(k *class) bool {
	return len(k.options) > 0 && !slices.ContainsFunc(k.options, func(o option) bool { return c.subjects[o.subject] && o.isGranted() })
}

// isGranted reports whether the parts of a pool have a cell of an option.
func (o *option) isGranted() bool {
	if o.rule.fixed != "" {
		return true
	}
	return slices.ContainsFunc(o.cells, func(one cell) bool {
		return slices.ContainsFunc(o.rule.pool.rules, func(r *rule) bool {
			return slices.ContainsFunc(r.parts, func(p part) bool { return p.has(one) })
		})
	})
}

func (k *class) loss() Loss {
	out := Loss{Count: k.held, Log: k.event.Event.Log, Line: k.event.Event.Line, Request: k.event.Event.Question}
	for _, o := range k.options {
		out.Sources = append(out.Sources, o.subject.binding.line(o.subject.at), o.rule.source)
	}
	slices.Sort(out.Sources)
	out.Sources = slices.Compact(out.Sources)
	return out
}

// removeDocuments marks what goes as a whole: subjects, bindings without subjects or rules,
// roles that no binding names any more.
func (m *Model) removeDocuments(c *choice) {
	for _, b := range m.bindings {
		for _, s := range b.subjects {
			s.gone = !c.subjects[s]
		}
		if b.fixed != "" || b.role == nil || !m.o.does(OnlyBindings) {
			continue
		}
		isHeld := func(s *subject) bool { return s.fixed != "" && s.fixed != fixedOnly }
		isLeft := func(s *subject) bool { return !s.gone }
		b.gone = !slices.ContainsFunc(b.subjects, isLeft) || !m.hasRules(b.role) && !slices.ContainsFunc(b.subjects, isHeld)
	}
	for _, r := range m.roles {
		isBound := slices.ContainsFunc(r.bindings, func(b *binding) bool { return b.role == r && !b.gone })
		r.gone = r.fixed == "" && m.o.does(OnlyBindings) && r.own > 0 && !isBound && !r.isCollected
	}
}

// hasRules reports whether a role, or one that it collects, has a rule left.
func (m *Model) hasRules(r *role) bool {
	return slices.ContainsFunc(append([]*role{r}, r.collects...), func(r *role) bool {
		return slices.ContainsFunc(r.rules, func(one *rule) bool { return one.fixed != "" || len(one.parts) > 0 || !m.o.does(OnlyRules) })
	})
}
