package change

import (
	"maps"
	"regexp"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// somePod is a pod that has no risk factor.
func somePod() map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}}
}

// variants returns a request and others that differ in what no statement reads, at most
// limit: pods where pod security may look at one, attributes where an opaque rule of t
// may read them.
func variants(w *World, r *request, t *statement, limit int) []map[string]any {
	base := r.object(PointAccess)
	out := []map[string]any{base}
	if isKind("pods", r.resource) && r.subresource != "" || r.verb == "exec" || r.verb == "proxy" {
		if _, given := base["pod"]; !given {
			out = append(out, with(base, "pod", somePod()))
			for _, labels := range w.exemptLabels() {
				pod := somePod()
				pod["metadata"] = map[string]any{"labels": labels}
				out = append(out, with(base, "pod", pod))
			}
		}
	}
	if t != nil && t.opaque != "" {
		if _, given := base["attributes"]; !given {
			for _, attributes := range guesses(w.text(t)) {
				out = append(out, with(base, "attributes", attributes))
			}
		}
	}
	return out[:min(len(out), limit)]
}

func with(object map[string]any, key string, value any) map[string]any {
	out := maps.Clone(object)
	out[key] = value
	return out
}

func (w *World) exemptLabels() []map[string]string {
	var out []map[string]string
	for _, s := range w.deny {
		if p, ok := s.condition.(*podRule); ok && len(p.p.ExemptLabels) > 0 {
			out = append(out, p.p.ExemptLabels)
		}
	}
	return out
}

// text returns what an opaque rule evaluates.
func (w *World) text(t *statement) string {
	rule, ok := t.condition.(*originRule)
	switch {
	case !ok || rule.restrictions == nil:
		return ""
	case rule.restrictions.Extension != "":
		return w.code(rule.restrictions.Extension) + jsonText(rule.restrictions.Params)
	}
	return rule.restrictions.Expression
}

var (
	attributeNames = regexp.MustCompile(`attributes(?:\.(\w+)|\["([^"]+)"\])`)
	textLiterals   = regexp.MustCompile("\"([^\"\\\\]*)\"|'([^'\\\\]*)'")
)

// guesses returns attributes that set a name in a text to a literal in it.
func guesses(text string) []map[string]any {
	names, literals := submatches(attributeNames, text), submatches(textLiterals, text)
	var out []map[string]any
	for _, name := range names {
		for _, literal := range literals {
			out = append(out, map[string]any{name: literal})
		}
		out = append(out, map[string]any{name: true})
	}
	return out
}

func submatches(expression *regexp.Regexp, text string) []string {
	var out []string
	for _, found := range expression.FindAllStringSubmatch(text, -1) {
		out = append(out, slices.MaxFunc(found[1:], func(a, b string) int { return len(a) - len(b) }))
	}
	return tables.Once(out)
}
