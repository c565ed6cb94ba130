package syntax

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
)

// maxBootstrapColumns is more than the columns of a line of bootstrap documents.
const maxBootstrapColumns = 1 << 20

// Cursor reads a mapping field by field; Done reports the fields that were not read.
// The nil cursor stands for a value that is not a mapping: it has no fields and reports
// nothing.
type Cursor struct {
	Decoder *Decoder
	Node    *Node
	// What names the mapping in messages: "a rule", "metadata".
	What string
	// Fold ignores the case of field names, as the flat form does.
	Fold bool
	Used []bool
	// Asked are the names of the fields that were read, for hints on misspelt fields.
	Asked []string
	// Hints hold, by lower-case name, what to write instead of fields that belong
	// elsewhere.
	Hints map[string]string
	// folded finds fields by their lowered name once there are many.
	folded map[string]int
	// At is where something missing is reported: the key of the mapping, the
	// mapping itself in a list, or the kind of a document.
	At *Node
	// Nulls makes a null in a list of strings an empty string, as the API server
	// reads it.
	Nulls bool
}

// Cursor returns a cursor over n. If n is not a mapping, it reports that and returns the
// nil cursor.
func (d *Decoder) Cursor(n *Node, what string, fold bool) *Cursor {
	if n.Type != Mapping {
		d.Fail(n, diag.WrongType, "", "%s must be a mapping, not %s", what, Describe(n))
		return nil
	}
	c := &Cursor{Decoder: d, Node: n, At: n, What: what, Fold: fold, Used: make([]bool, len(n.Fields)), Asked: make([]string, 0, 8)}
	if fold {
		c.foldNames()
	}
	return c
}

// Describe describes a node for a message: its type, and the value of a scalar.
func Describe(n *Node) string {
	switch n.Type {
	case null, List, Mapping:
		return n.Type.String()
	default: // a scalar has a value
	}
	return n.Type.String() + " (" + Quote(n.Value) + ")"
}

// foldNames reports fields whose names differ only in case.
func (c *Cursor) foldNames() {
	c.folded = make(map[string]int, len(c.Node.Fields))
	for i, f := range c.Node.Fields {
		name := canonicalField(Fold(f.Key.Value))
		if first, twice := c.folded[name]; twice {
			c.Used[i] = true
			c.Fail(f.Key, diag.DuplicateField, "keep one of them; this form ignores the case of field names",
				"field %s repeats %s", Quote(f.Key.Value), Quote(c.Node.Fields[first].Key.Value))
			continue
		}
		c.folded[name] = i
	}
}

// canonicalField returns the name of a field for look-ups: rules for rule, which the
// flat form also accepts.
func canonicalField(folded string) string {
	if folded == "rule" {
		return "rules"
	}
	return folded
}

// Fail reports an error at n.
func (c *Cursor) Fail(n *Node, code diag.Code, hint, format string, args ...any) {
	c.Decoder.Fail(n, code, hint, format, args...)
}

// Field returns the entry of that name, null ones included, or nil.
func (c *Cursor) Field(name string) *Field {
	if c == nil {
		return nil
	}
	c.Asked = append(c.Asked, name)
	if c.Fold {
		if i, found := c.folded[Fold(name)]; found {
			c.Used[i] = true
			return &c.Node.Fields[i]
		}
		return nil
	}
	for i := range c.Node.Fields {
		if c.Node.Fields[i].Key.Value == name {
			c.Used[i] = true
			return &c.Node.Fields[i]
		}
	}
	return nil
}

// Value returns the value of a field, or nil if it is absent or null.
func (c *Cursor) Value(name string) *Node {
	if f := c.Field(name); f != nil && !f.Value.IsNull() {
		return f.Value
	}
	return nil
}

// Missing reports that the mapping lacks a field, at the key where it is written
// without a value.
func (c *Cursor) Missing(name, hint string) {
	if c == nil {
		return
	}
	at := c.At
	if f := c.Field(name); f != nil {
		at = f.Key
	}
	c.Fail(at, diag.Missing, hint, "%s has no %s", c.What, name)
}

// Text returns an optional string. A wrong type is reported and reads as absent.
func (c *Cursor) Text(name string) *Node {
	n := c.Value(name)
	if n == nil || n.Type == String {
		return n
	}
	c.Fail(n, diag.WrongType, QuoteHint(n), "%s must be a string, not %s", name, Describe(n))
	return nil
}

// QuoteHint is the hint for a scalar where a string should be.
func QuoteHint(n *Node) string {
	if n.Type == Integer || n.Type == float || n.Type == Boolean {
		return "write it in quotes: " + Quote(n.Value)
	}
	return ""
}

// Required returns a string that must be present and not empty. Otherwise it reports
// that and returns nil.
func (c *Cursor) Required(name string) *Node {
	if c.Value(name) == nil {
		c.Missing(name, "")
		return nil
	}
	n := c.Text(name)
	if n != nil && n.Value == "" {
		c.Fail(n, diag.Missing, "", "%s of %s is empty", name, c.What)
		return nil
	}
	return n
}

// Mapping returns a cursor over an optional mapping, nil if it is absent.
func (c *Cursor) Mapping(name string) *Cursor {
	n := c.Value(name)
	if n == nil {
		return nil
	}
	inner := c.Decoder.Cursor(n, name, c.Fold)
	if inner != nil {
		inner.At = c.Field(name).Key
	}
	return inner
}

// DoneWithSlips reports fields that look like misspelt ones of those that were read, in
// another case or one edit away, and ignores all others.
func (c *Cursor) DoneWithSlips() {
	if c == nil {
		return
	}
	for i, f := range c.Node.Fields {
		isSlip := func(known string) bool { return diag.AreNear(f.Key.Value, known) }
		c.Used[i] = c.Used[i] || !slices.ContainsFunc(c.Asked, isSlip)
	}
	c.Decoder.Observer.opened(c.Node)
	c.Done()
}

// Done reports the fields that were not read.
func (c *Cursor) Done() {
	if c == nil {
		return
	}
	c.Decoder.Observer.done(c)
	for i, f := range c.Node.Fields {
		if c.Used[i] {
			continue
		}
		name := f.Key.Value
		hint := cmp.Or(c.Hints[Fold(name)], diag.Meant(name, c.Asked, ""))
		c.Fail(f.Key, diag.UnknownField, hint, "%s has no field %s", c.What, Quote(name))
	}
}
