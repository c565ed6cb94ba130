package deny

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// templateVariables are what a reason may speak of, in either spelling.
var templateVariables = []string{"score", "factors", "pod", "namespace"}

// decodeTemplate takes a reason apart. Anything but a variable between braces is a
// mistake: it would be printed as it stands.
func decodeTemplate(d *syntax.Decoder, n *syntax.Node) []tables.TemplatePart {
	var parts []tables.TemplatePart
	for rest := n.Value; rest != ""; {
		text, after, found := strings.Cut(rest, "{{")
		if text != "" {
			parts = append(parts, tables.TemplatePart{Text: text})
		}
		if !found {
			break
		}
		inside, next, closed := strings.Cut(after, "}}")
		if !closed {
			d.Fail(n, diag.BadTemplate, `close it with "}}"`, "reason has a \"{{\" that is not closed: %s", syntax.Quote("{{"+after))
			return nil
		}
		variable := templateVariable(inside)
		if variable == "" {
			d.Fail(n, diag.BadTemplate, templateHint(inside), "reason contains %s, which is not a variable", syntax.Quote("{{"+inside+"}}"))
			return nil
		}
		parts = append(parts, tables.TemplatePart{Variable: variable})
		rest = next
	}
	return parts
}

// templateVariable is the variable between braces, or "".
func templateVariable(inside string) string {
	name, dotted := strings.CutPrefix(strings.Trim(inside, " \t\r\n"), ".")
	if !dotted || name == "" {
		return ""
	}
	lower := strings.ToLower(name[:1]) + name[1:]
	if !slices.Contains(templateVariables, lower) {
		return ""
	}
	return lower
}

func templateHint(inside string) string {
	word := strings.TrimPrefix(strings.Trim(inside, " \t\r\n-"), ".")
	if slices.Contains(templateVariables, syntax.Fold(word)) {
		return "write {{." + syntax.Fold(word) + "}}"
	}
	if near := diag.Suggest(word, templateVariables); near != "" {
		return "did you mean {{." + near + "}}?"
	}
	return "one of {{.score}}, {{.factors}}, {{.pod}}, {{.namespace}}"
}

// parseGlobs parses the entries of the list of globs with a name.
type parseGlobs func(d *syntax.Decoder, items []*syntax.Node, name string) []tables.PathGlob

// decodeNamespaces decodes a namespace filter in either of its spellings: a list of
// globs, or a mapping of patterns and selectorTerms. The result is nil for an empty
// filter; what that means depends on the place. parse parses the patterns.
func decodeNamespaces(d *syntax.Decoder, c *syntax.Cursor, name string, parse parseGlobs) *tables.NamespaceFilter {
	n := c.Value(name)
	if n == nil {
		return nil
	}
	f := &tables.NamespaceFilter{}
	switch n.Type {
	case syntax.List:
		items, _ := c.Texts(name)
		f.Patterns = parse(d, items, name)
	case syntax.Mapping:
		inner := c.Mapping(name)
		inner.Hints = map[string]string{
			"matchlabels":      "write selectorTerms: [{matchLabels: {KEY: VALUE}}]",
			"matchexpressions": "write selectorTerms: [{matchExpressions: [...]}]",
			"names":            "write patterns",
		}
		items, _ := inner.Texts("patterns")
		f.Patterns = parse(d, items, name+".patterns")
		terms, _ := inner.List("selectorTerms")
		for _, term := range terms {
			f.Terms = append(f.Terms, decodeSelectorTerm(d, term, name))
		}
		inner.Done()
	default:
		hint := ""
		if n.Type == syntax.String {
			hint = "write [" + syntax.Quote(n.Value) + "]"
		}
		c.Fail(n, diag.WrongType, hint, "%s must be a list of patterns or a mapping, not %s", name, syntax.Describe(n))
	}
	if len(f.Patterns)+len(f.Terms) == 0 {
		return nil
	}
	return f
}

// decodeSelectorTerm is a selector that must require something.
func decodeSelectorTerm(d *syntax.Decoder, n *syntax.Node, name string) []tables.LabelRequirement {
	before := d.Reported()
	s := d.Selector(n)
	if len(s.Requirements) == 0 && d.Reported() == before {
		d.Fail(n, diag.Missing, `write patterns: ["*"] to mean every namespace`,
			"an entry of selectorTerms of %s requires nothing: it would fit every namespace", name)
	}
	requirements := make([]tables.LabelRequirement, 0, len(s.Requirements))
	for _, r := range s.Requirements {
		requirement := tables.LabelRequirement{Key: r.Key, Operator: tables.Operator(r.Operator)}
		if len(r.Values) > 0 {
			requirement.Values = tables.Entries(r.Values)
		}
		requirements = append(requirements, requirement)
	}
	return requirements
}
