package document

import (
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// requiredMapping returns a cursor over a mapping that must be there.
func (c *cursor) requiredMapping(name string) *cursor {
	if c.value(name) == nil {
		c.missing(name, "")
		return nil
	}
	return c.mapping(name)
}

// filledMapping returns a cursor over an optional mapping. One without entries
// is absent, with a warning.
func (c *cursor) filledMapping(name string) *cursor {
	inner := c.mapping(name)
	if inner != nil && len(inner.n.fields) == 0 {
		c.d.empty(inner.n, name)
		return nil
	}
	return inner
}

// filledList returns the items of an optional list. One without items is absent,
// with a warning.
func (c *cursor) filledList(name string) []*node {
	items, at := c.list(name)
	if at != nil && len(items) == 0 {
		c.d.empty(at, name)
	}
	return items
}

// filledTexts is filledList for strings; items of another type are reported and
// left out.
func (c *cursor) filledTexts(name string) []*node {
	items, at := c.texts(name)
	if at != nil && len(at.items) == 0 {
		c.d.empty(at, name)
	}
	return items
}

func (d *decoder) empty(n *node, name string) {
	d.warn(n, diag.EmptyList, "leave it out", "%s is empty, which is the same as leaving it out", name)
}

// pairs returns an optional map of strings, nil where it is absent. Keys and
// values may be any text: they are compared, not set.
func (c *cursor) pairs(name string) map[string]string {
	inner := c.mapping(name)
	if inner == nil {
		return nil
	}
	out := make(map[string]string, len(inner.n.fields))
	for _, f := range inner.n.fields {
		if f.value.kind != text {
			c.fail(f.value, diag.WrongType, quoted(f.value), "label %s of %s is a string, this is %s",
				quote(f.key.value), name, describe(f.value))
			continue
		}
		out[f.key.value] = f.value.value
	}
	return out
}

// filledPairs is pairs for a map that is absent where it has no entries.
func (c *cursor) filledPairs(name string) map[string]string {
	out := c.pairs(name)
	if out != nil && len(c.value(name).fields) == 0 {
		c.d.empty(c.value(name), name)
		return nil
	}
	return out
}

// literal warns of a wildcard in what is compared as a whole.
func (d *decoder) literal(n *node, name string) {
	if strings.ContainsAny(n.value, "*?") {
		d.warn(n, diag.LiteralPattern, "name each one", "%s compares %s as a whole: nothing in it is a wildcard", name, quote(n.value))
	}
}

// wrongSince reports whether there is an error after the first so many
// diagnostics: what is missing because of it is not worth a warning.
func (d *decoder) wrongSince(before int) bool { return d.diags[before:].HasErrors() }
