package document

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
)

// list returns the items of an optional list.
func (c *cursor) list(name string) (items []*node, at *node) {
	n := c.value(name)
	if n == nil {
		return nil, nil
	}
	if n.kind != list {
		hint := ""
		if n.kind == text {
			hint = "write [" + quote(n.value) + "]"
		}
		c.fail(n, diag.WrongType, hint, "%s is a list, this is %s", name, describe(n))
		return nil, nil
	}
	return n.items, n
}

// texts returns the items of an optional list of strings; items of another type
// are reported and left out.
func (c *cursor) texts(name string) (items []*node, at *node) {
	all, at := c.list(name)
	if !slices.ContainsFunc(all, func(n *node) bool { return n.kind != text }) {
		return all, at
	}
	for _, item := range all {
		if item.kind == text {
			items = append(items, item)
			continue
		}
		if item.kind == null && c.nulls {
			items = append(items, &node{kind: text, line: item.line, column: item.column})
			continue
		}
		c.fail(item, diag.WrongType, quoted(item), "%s is a list of strings, this item is %s", name, describe(item))
	}
	return items, at
}

// requiredTexts is texts for a list that must have an item.
func (c *cursor) requiredTexts(name string) (items []*node, at *node) {
	if c == nil {
		return nil, nil
	}
	before := len(c.d.diags)
	items, at = c.texts(name)
	if len(items) == 0 && len(c.d.diags) == before {
		if at != nil {
			c.fail(c.field(name).key, diag.Missing, "", "%s of %s is empty", name, c.what)
		} else {
			c.missing(name, "")
		}
	}
	return items, at
}

// values are the strings of text nodes.
func values(nodes []*node) []string {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.value
	}
	return out
}
