package statement

import (
	"maps"
	"regexp"
	"slices"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// MaxOpaqueTries is how many variants of a request are tried for an opaque statement.
const MaxOpaqueTries = 64

// Variants returns a request and others that differ in what no statement reads, at most
// limit: pods where pod security may look at one, attributes where an opaque rule of t
// may read them.
func Variants(w *World, r *Request, t *Statement, limit int) []map[string]any {
	base := r.Object(PointAccess)
	out := []map[string]any{base}
	if isPod(r) && r.Subresource != "" || rule.IsStream(r.Verb) {
		if _, given := base["pod"]; !given {
			for _, pod := range PodsOf(w) {
				out = append(out, With(base, "pod", pod))
			}
		}
	}
	if t != nil && t.Opaque != "" {
		if _, given := base["attributes"]; !given {
			for _, attributes := range guesses(w.text(t)) {
				out = append(out, With(base, "attributes", attributes))
			}
		}
	}
	return out[:min(len(out), limit)]
}

// With returns a copy of an object in which a member has another value.
func With(object map[string]any, key string, value any) map[string]any {
	out := maps.Clone(object)
	out[key] = value
	return out
}

// ExemptLabels returns the labels of pods that some pod security exempts.
func (w *World) ExemptLabels() []map[string]string {
	var out []map[string]string
	for _, s := range w.Deny {
		if p, ok := s.Condition.(*podRule); ok && len(p.p.ExemptLabels) > 0 {
			out = append(out, p.p.ExemptLabels)
		}
	}
	return out
}

// text returns what an opaque rule evaluates.
func (w *World) text(t *Statement) string {
	o, ok := t.Rule().(*OriginRule)
	switch {
	case !ok || o.Restrictions == nil:
		return ""
	case o.Restrictions.Extension != "":
		return w.code(o.Restrictions.Extension) + JSONText(o.Restrictions.Params)
	}
	return o.Restrictions.Expression
}

var (
	attributeNames = regexp.MustCompile(`attributes(?:\.(\w+)|\["([^"]+)"\])`)
	textLiterals   = regexp.MustCompile("\"([^\"\\\\]*)\"|'([^'\\\\]*)'")
)

// guesses returns attributes that set a name in a text to a literal in it.
func guesses(text string) []map[string]any {
	names, literals := Submatches(attributeNames, text), Submatches(textLiterals, text)
	var out []map[string]any
	for _, name := range names {
		for _, literal := range literals {
			out = append(out, map[string]any{name: literal})
		}
		out = append(out, map[string]any{name: true})
	}
	return out
}

// Submatches returns the longest group of each match in a text, each value once.
func Submatches(expression *regexp.Regexp, text string) []string {
	var out []string
	for _, found := range expression.FindAllStringSubmatch(text, -1) {
		out = append(out, slices.MaxFunc(found[1:], func(a, b string) int { return len(a) - len(b) }))
	}
	return tables.Once(out)
}
