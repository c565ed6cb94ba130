package document

import "github.com/writ-policy/writ/translator/diag"

// namespaces decodes a namespace filter in either of its spellings: a list of
// globs, or a mapping of patterns and selectorTerms. It is nil where nothing is
// in it; what that means depends on the place. check sees the patterns.
func (d *decoder) namespaces(c *cursor, name string, check func(d *decoder, items []*node, name string)) *NamespaceFilter {
	n := c.value(name)
	if n == nil {
		return nil
	}
	f := &NamespaceFilter{}
	switch n.kind {
	case list:
		items, _ := c.texts(name)
		check(d, items, name)
		f.Patterns = values(items)
	case mapping:
		inner := c.mapping(name)
		inner.hints = map[string]string{
			"matchlabels":      "write selectorTerms: [{matchLabels: {KEY: VALUE}}]",
			"matchexpressions": "write selectorTerms: [{matchExpressions: [...]}]",
			"names":            "write patterns",
		}
		items, _ := inner.texts("patterns")
		check(d, items, name+".patterns")
		f.Patterns = values(items)
		terms, _ := inner.list("selectorTerms")
		for _, term := range terms {
			f.Terms = append(f.Terms, d.selectorTerm(term, name))
		}
		inner.done()
	default:
		hint := ""
		if n.kind == text {
			hint = "write [" + quote(n.value) + "]"
		}
		c.fail(n, diag.WrongType, hint, "%s is a list of patterns or a mapping, this is %s", name, describe(n))
	}
	if len(f.Patterns)+len(f.Terms) == 0 {
		return nil
	}
	return f
}

// selectorTerm is a selector that must require something.
func (d *decoder) selectorTerm(n *node, name string) Selector {
	before := len(d.diags) + d.dropped
	s := d.selector(n)
	if len(s.Requirements) == 0 && len(d.diags)+d.dropped == before {
		d.fail(n, diag.Missing, `write patterns: ["*"] to mean every namespace`,
			"an entry of selectorTerms of %s requires nothing: it would fit every namespace", name)
	}
	return s
}
