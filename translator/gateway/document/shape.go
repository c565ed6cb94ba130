package document

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// shape says what a value may be that is checked and not interpreted: a kind for
// a scalar, fields, listOf, mapOf, a reader, or nil for anything at all.
type shape any

type (
	// fields is a mapping with known fields, all optional.
	fields map[string]shape
	listOf struct{ item shape }
	// mapOf is a mapping with any names.
	mapOf struct{ value shape }
	// exclusive is a mapping of which at most one of some fields may be present.
	exclusive struct {
		fields
		names []string
		// emptyIsAbsent states that a field with an empty string counts as absent.
		emptyIsAbsent bool
	}
	// reader checks a value itself; key is the field that holds it.
	reader func(d *syntax.Decoder, key, n *syntax.Node)
)

// checkShape checks the fields of a mapping that are not interpreted. Others are left
// to the caller.
func checkShape(c *syntax.Cursor, s fields) {
	if c == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if f := c.Field(name); f != nil && !f.Value.IsNull() {
			checkValueShape(c.Decoder, f.Key, f.Value, s[name])
		}
	}
}

// checkValueShape checks a value that a key holds, or an item of a list there.
func checkValueShape(d *syntax.Decoder, key, n *syntax.Node, s shape) {
	switch s := s.(type) {
	case syntax.Type:
		if n.Type != s {
			hint := ""
			if s == syntax.String {
				hint = syntax.QuoteHint(n)
			}
			d.Fail(n, diag.WrongType, hint, "%s must be %s, not %s", key.Value, s, syntax.Describe(n))
		}
	case exclusive:
		s.check(d, n)
		checkValueShape(d, key, n, s.fields)
	case fields:
		if c := d.Cursor(n, key.Value, false); c != nil {
			c.At = key
			checkShape(c, s)
			c.Done()
		}
	case listOf:
		if n.Type != syntax.List {
			d.Fail(n, diag.WrongType, "", "%s must be a list, not %s", key.Value, syntax.Describe(n))
			return
		}
		for _, item := range n.Items {
			checkValueShape(d, key, item, s.item)
		}
	case mapOf:
		if n.Type != syntax.Mapping {
			d.Fail(n, diag.WrongType, "", "%s must be a mapping, not %s", key.Value, syntax.Describe(n))
			return
		}
		for _, f := range n.Fields {
			checkValueShape(d, f.Key, f.Value, s.value)
		}
	case reader:
		s(d, key, n)
	}
}

// check reports the fields behind the first one of those that exclude each other.
func (s exclusive) check(d *syntax.Decoder, n *syntax.Node) {
	first := ""
	for _, f := range n.Fields {
		name := f.Key.Value
		if !slices.Contains(s.names, name) || f.Value.IsNull() || s.emptyIsAbsent && f.Value.Type == syntax.String && f.Value.Value == "" {
			continue
		}
		if first != "" {
			d.Fail(f.Key, diag.Exclusive, "keep one of them", "%s next to %s: they exclude each other", name, first)
			continue
		}
		first = name
	}
}
