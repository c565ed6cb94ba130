package deny

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// decodeNamespaces decodes a namespace filter in either of its spellings: a list of
// globs, or a mapping of patterns and selectorTerms. The result is nil for an empty
// filter; what that means depends on the place. parse parses the patterns.
func decodeNamespaces(d *syntax.Decoder, c *syntax.Cursor, name string, parse func(d *syntax.Decoder, items []*syntax.Node, name string) []tables.PathGlob) *tables.NamespaceFilter {
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
