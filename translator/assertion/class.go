package assertion

import (
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// Class is a set of requests: those that fit every key that is written. A nil value is a
// key that is not written.
type Class struct {
	Holds *Holds
	// Texts are the keys whose values are texts, by name.
	Texts map[string]*Value
	// Labels are the keys whose values are labels, by name.
	Labels map[string]*Labels
	// Item is the item of a request at the point visibility.
	Item *Class
}

// Text returns the value of a key, nil if it is not written.
func (c *Class) Text(key string) *Value { return c.Texts[key] }

// Value is a set of texts. A text fits if it fits any part.
type Value struct {
	Texts    []string
	Globs    []tables.PathGlob
	Prefixes []string
	Not      []*Value
}

// IsLiteral reports whether the set is that of its texts.
func (v *Value) IsLiteral() bool { return v != nil && len(v.Globs)+len(v.Prefixes)+len(v.Not) == 0 }

// Fits reports whether a text is in the set. Everything is in the nil set.
func (v *Value) Fits(text string) bool {
	return v == nil || slices.Contains(v.Texts, text) || fitsPattern(v.Globs, v.Prefixes, text) ||
		slices.ContainsFunc(v.Not, func(n *Value) bool { return !n.Fits(text) })
}

func fitsPattern(globs []tables.PathGlob, prefixes []string, text string) bool {
	return slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return g.Match(text) }) ||
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// Words returns every literal of the set and of what it excludes.
func (v *Value) Words() []string {
	if v == nil {
		return nil
	}
	out := slices.Clone(v.Texts)
	for _, n := range v.Not {
		out = append(out, n.Words()...)
	}
	return out
}

// Expressions returns the patterns of the set, and of what it excludes, as RE2 expressions
// for whole values.
func (v *Value) Expressions() []string {
	if v == nil {
		return nil
	}
	out := expressions(v.Globs, v.Prefixes)
	for _, n := range v.Not {
		out = append(out, n.Expressions()...)
	}
	return out
}

func expressions(globs []tables.PathGlob, prefixes []string) []string {
	var out []string
	for _, g := range globs {
		if !g.MatchesAll() {
			out = append(out, g.Expression())
		}
	}
	return append(out, elements.Map(prefixes, func(p string) string { return "^" + regexp.QuoteMeta(p) })...)
}

// Samples returns made-up texts for the patterns of the set, the plainest first.
func (v *Value) Samples() []string {
	if v == nil {
		return nil
	}
	out := samples(v.Globs, v.Prefixes)
	for _, n := range v.Not {
		out = append(out, n.Samples()...)
	}
	return out
}

func samples(globs []tables.PathGlob, prefixes []string) []string {
	out := elements.Map(globs, func(g tables.PathGlob) string { return g.Named(MadeUp) })
	return append(out, elements.Map(prefixes, func(p string) string { return p + MadeUp })...)
}

// MadeUp is the word for what no document names.
const MadeUp = "example"

// Labels are a condition on labels.
type Labels struct {
	// Unknown states that the request does not give the labels.
	Unknown bool
	Terms   []LabelTerm
}

// LabelTerm is a condition on one label.
type LabelTerm struct {
	Key string
	// Value is what the label fits; nil: Exists decides.
	Value  *Value
	Exists bool
}

// IsUnknown reports whether only labels that the request does not give fit.
func (l *Labels) IsUnknown() bool { return l != nil && l.Unknown }

// Fits reports whether labels fit; nil labels are unknown.
func (l *Labels) Fits(labels map[string]string) bool {
	if l == nil {
		return true
	}
	if l.Unknown || labels == nil {
		return l.Unknown && labels == nil
	}
	return !slices.ContainsFunc(l.Terms, func(t LabelTerm) bool { return !t.fits(labels) })
}

func (t *LabelTerm) fits(labels map[string]string) bool {
	value, has := labels[t.Key]
	switch {
	case t.Value == nil:
		return has == t.Exists
	case !has:
		return len(t.Value.Not) > 0
	}
	return t.Value.Fits(value)
}

// Holds is a condition on the principals that a request holds. Exactly one part is set.
type Holds struct {
	Any       []*Holds
	Principal string
	All       []string
	Only      []string
	Globs     []tables.PathGlob
	Prefixes  []string
	Not       *Holds
}

// Fits reports whether principals fit. named reports whether a document names one.
func (h *Holds) Fits(held []string, named func(string) bool) bool {
	switch {
	case h == nil:
		return true
	case h.Not != nil:
		return !h.Not.Fits(held, named)
	case h.Any != nil:
		return slices.ContainsFunc(h.Any, func(o *Holds) bool { return o.Fits(held, named) })
	case h.Principal != "":
		return slices.Contains(held, h.Principal)
	case h.All != nil:
		return !slices.ContainsFunc(h.All, func(p string) bool { return !slices.Contains(held, p) })
	case h.Only != nil:
		return slices.ContainsFunc(held, func(p string) bool { return slices.Contains(h.Only, p) }) &&
			!slices.ContainsFunc(held, func(p string) bool { return named(p) && !slices.Contains(h.Only, p) })
	}
	return slices.ContainsFunc(held, h.FitsPrincipal)
}

// FitsPrincipal reports whether a pattern fits one principal.
func (h *Holds) FitsPrincipal(p string) bool { return fitsPattern(h.Globs, h.Prefixes, p) }

// Each calls a function with the condition and all conditions within it.
func (h *Holds) Each(visit func(*Holds)) {
	if h == nil {
		return
	}
	visit(h)
	h.Not.Each(visit)
	for _, o := range h.Any {
		o.Each(visit)
	}
}

// Words returns every principal that the condition names.
func (h *Holds) Words() []string {
	var out []string
	h.Each(func(o *Holds) {
		if o.Principal != "" {
			out = append(out, o.Principal)
		}
		out = append(append(out, o.All...), o.Only...)
	})
	return out
}

// Expressions returns the patterns of the condition as RE2 expressions.
func (h *Holds) Expressions() []string {
	var out []string
	h.Each(func(o *Holds) { out = append(out, expressions(o.Globs, o.Prefixes)...) })
	return out
}

// Samples returns made-up principals for the patterns of the condition.
func (h *Holds) Samples() []string {
	var out []string
	h.Each(func(o *Holds) { out = append(out, samples(o.Globs, o.Prefixes)...) })
	return out
}
