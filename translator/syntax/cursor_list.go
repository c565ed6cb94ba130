package syntax

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/translator/diag"
)

// List returns the items of an optional list.
func (c *Cursor) List(name string) (items []*Node, at *Node) {
	n := c.Value(name)
	if n == nil {
		return nil, nil
	}
	if n.Type != List {
		hint := ""
		if n.Type == String {
			hint = "write [" + Quote(n.Value) + "]"
		}
		c.Fail(n, diag.WrongType, hint, "%s must be a list, not %s", name, Describe(n))
		return nil, nil
	}
	return n.Items, n
}

// RequiredList is List for a list that must have an item.
func (c *Cursor) RequiredList(name string) []*Node {
	items, at := c.List(name)
	switch {
	case c.Value(name) == nil:
		c.Missing(name, "")
	case at != nil && len(items) == 0:
		c.Fail(c.Field(name).Key, diag.Missing, "", "%s of %s is empty", name, c.What)
	}
	return items
}

// Texts returns the items of an optional list of strings; items of another type
// are reported and left out.
func (c *Cursor) Texts(name string) (items []*Node, at *Node) {
	all, at := c.List(name)
	if !slices.ContainsFunc(all, func(n *Node) bool { return n.Type != String }) {
		return all, at
	}
	for i, item := range all {
		if item.Type == String {
			items = append(items, item)
			continue
		}
		if item.Type == null && c.Nulls {
			items = append(items, &Node{Type: String, Line: item.Line, Column: item.Column})
			continue
		}
		c.Fail(item, diag.WrongType, QuoteHint(item), "%s[%d] must be a string, not %s", name, i, Describe(item))
	}
	return items, at
}

// RequiredTexts is Texts for a list that must have an item.
func (c *Cursor) RequiredTexts(name string) (items []*Node, at *Node) {
	if c == nil {
		return nil, nil
	}
	before := len(c.Decoder.Diags)
	items, at = c.Texts(name)
	if len(items) == 0 && len(c.Decoder.Diags) == before {
		if at != nil {
			c.Fail(c.Field(name).Key, diag.Missing, "", "%s of %s is empty", name, c.What)
		} else {
			c.Missing(name, "")
		}
	}
	return items, at
}

// Values returns the strings of text nodes.
func Values(nodes []*Node) []string {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Value
	}
	return out
}

// SharedValues is Values for lists that documents are likely to repeat: equal lists are one,
// which must not be modified.
func (d *Decoder) SharedValues(nodes []*Node) []string {
	if d.Shared == nil || len(nodes) == 0 {
		return Values(nodes)
	}
	return d.Shared.values(nodes)
}

// Share returns the value of a key that was given first, which must not be modified.
func Share[V any](d *Decoder, key any, value *V) *V {
	if d.Shared == nil {
		return value
	}
	d.Shared.mu.Lock()
	defer d.Shared.mu.Unlock()
	if known, ok := d.Shared.known[key]; ok {
		return known.(*V)
	}
	if d.Shared.known == nil || len(d.Shared.known) == mostShared {
		d.Shared.known = make(map[any]any)
	}
	d.Shared.known[key] = value
	return value
}

// Shared are values that documents have in common: lists, by their entries with lengths, and what
// is made of them. It is safe for concurrent use.
type Shared struct {
	mu    sync.Mutex // held to read and write the fields below
	lists map[string][]string
	known map[any]any
	key   []byte // a buffer
}

// mostShared bounds how many lists, and how many other values, are shared.
const mostShared = 1 << 14

func (s *Shared) values(nodes []*Node) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = s.key[:0]
	for _, n := range nodes {
		s.key = append(binary.AppendUvarint(s.key, uint64(len(n.Value))), n.Value...)
	}
	if known, ok := s.lists[string(s.key)]; ok {
		return known
	}
	out := Values(nodes)
	if s.lists == nil || len(s.lists) == mostShared {
		s.lists = make(map[string][]string) // what is common comes again
	}
	s.lists[string(s.key)] = out
	return out
}

// Examples states some values that n may be, for editors.
func (d *Decoder) Examples(n *Node, values []string) { d.Observer.note(n, Words{Examples: values}) }

// Only states all values that n may be, for editors. The caller reports others.
func (d *Decoder) Only(n *Node, known []string) { d.Observer.note(n, Words{Only: known}) }

// CheckOneOf reports a value that is not one of the known values, and whether it is.
func (d *Decoder) CheckOneOf(n *Node, name string, known ...string) bool {
	d.Only(n, known)
	if slices.Contains(known, n.Value) {
		return true
	}
	hint := diag.Meant(n.Value, known, "write "+strings.Join(known, " or "))
	d.Fail(n, diag.BadValue, hint, "%s %s is not known", name, Quote(n.Value))
	return false
}
