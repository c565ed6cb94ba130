package document

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
)

// shape says what a value may be that is checked and not interpreted: a kind for
// a scalar, fields, listOf, mapOf, a reader, or nil for anything at all.
type shape any

type (
	// fields is a mapping with known fields, none of which must be there.
	fields map[string]shape
	listOf struct{ item shape }
	// mapOf is a mapping with names of one's own.
	mapOf struct{ value shape }
	// reader checks a value itself; key is the field that holds it.
	reader func(d *decoder, key, n *node)
)

// shaped checks the fields of a mapping that are not interpreted. Others are left
// to whoever asks for them.
func (c *cursor) shaped(s fields) {
	if c == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if f := c.field(name); f != nil && !f.value.isNull() {
			c.d.shaped(f.key, f.value, s[name])
		}
	}
}

// shaped checks a value that a key holds, or an item of a list there.
func (d *decoder) shaped(key, n *node, s shape) {
	switch s := s.(type) {
	case kind:
		if n.kind != s {
			hint := ""
			if s == text {
				hint = quoted(n)
			}
			d.fail(n, diag.WrongType, hint, "%s is %s, this is %s", key.value, s, describe(n))
		}
	case fields:
		if c := d.cursor(n, key.value, false); c != nil {
			c.at = key
			c.shaped(s)
			c.done()
		}
	case listOf:
		if n.kind != list {
			d.fail(n, diag.WrongType, "", "%s is a list, this is %s", key.value, describe(n))
			return
		}
		for _, item := range n.items {
			d.shaped(key, item, s.item)
		}
	case mapOf:
		if n.kind != mapping {
			d.fail(n, diag.WrongType, "", "%s is a mapping, this is %s", key.value, describe(n))
			return
		}
		for _, f := range n.fields {
			d.shaped(f.key, f.value, s.value)
		}
	case reader:
		s(d, key, n)
	}
}
