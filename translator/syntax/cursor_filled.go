package syntax

import (
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
)

// RequiredMapping returns a cursor over a mapping that must be present; the hint may be
// empty.
func (c *Cursor) RequiredMapping(name, hint string) *Cursor {
	if c.Value(name) == nil {
		c.Missing(name, hint)
		return nil
	}
	return c.Mapping(name)
}

// FilledMapping returns a cursor over an optional mapping. A mapping without entries
// counts as absent, with a warning.
func (c *Cursor) FilledMapping(name string) *Cursor {
	f := c.Field(name)
	if f == nil {
		return nil
	}
	return c.FilledEntry(f)
}

// FilledEntry is FilledMapping for a field of a mapping with any names: to look for each by its name
// would take the square of their number.
func (c *Cursor) FilledEntry(f *Field) *Cursor {
	if f.Value.IsNull() {
		return nil
	}
	inner := c.Decoder.Cursor(f.Value, f.Key.Value, c.Fold)
	if inner == nil {
		return nil
	}
	inner.At = f.Key
	if len(inner.Node.Fields) == 0 {
		c.Decoder.Empty(inner.Node, f.Key.Value)
		return nil
	}
	return inner
}

// FilledList returns the items of an optional list. An empty list counts as absent, with
// a warning.
func (c *Cursor) FilledList(name string) []*Node {
	items, at := c.List(name)
	if at != nil && len(items) == 0 {
		c.Decoder.Empty(at, name)
	}
	return items
}

// FilledTexts is FilledList for strings; items of another type are reported and left
// out.
func (c *Cursor) FilledTexts(name string) []*Node {
	items, at := c.Texts(name)
	if at != nil && len(at.Items) == 0 {
		c.Decoder.Empty(at, name)
	}
	return items
}

// Empty warns that n, the field name, is empty.
func (d *Decoder) Empty(n *Node, name string) {
	d.Warn(n, diag.EmptyList, "leave it out", "%s is empty, which is the same as leaving it out", name)
}

// Pairs returns an optional map of strings, nil where it is absent. Keys and
// values may be any text: they are compared, not set.
func (c *Cursor) Pairs(name string) map[string]string {
	inner := c.Mapping(name)
	if inner == nil {
		return nil
	}
	out := make(map[string]string, len(inner.Node.Fields))
	for _, f := range inner.Node.Fields {
		if f.Value.Type != String {
			c.Fail(f.Value, diag.WrongType, QuoteHint(f.Value), "label %s of %s must be a string, not %s",
				Quote(f.Key.Value), name, Describe(f.Value))
			continue
		}
		out[f.Key.Value] = f.Value.Value
	}
	return out
}

// FilledPairs is Pairs for a map that counts as absent, with a warning, if it is empty.
func (c *Cursor) FilledPairs(name string) map[string]string {
	out := c.Pairs(name)
	if out != nil && len(c.Value(name).Fields) == 0 {
		c.Decoder.Empty(c.Value(name), name)
		return nil
	}
	return out
}

// Literal warns about a wildcard in a value that is compared literally.
func (d *Decoder) Literal(n *Node, name string) {
	if strings.ContainsAny(n.Value, "*?") {
		d.Warn(n, diag.LiteralPattern, "name each one", "%s compares %s as a whole: nothing in it is a wildcard", name, Quote(n.Value))
	}
}

// WrongSince reports whether errors were added after the first before diagnostics.
// Warnings that may result from such errors are omitted.
func (d *Decoder) WrongSince(before int) bool { return d.Diags[before:].HasErrors() }

// Boolean returns an optional boolean. quoted also takes the strings "true" and
// "false".
func (c *Cursor) Boolean(name string, quoted bool) (value bool, at *Node) {
	n := c.Value(name)
	switch {
	case n == nil:
		return false, nil
	case n.Type == Boolean:
		return Fold(n.Value) == "true", n
	case quoted && n.Type == String && (n.Value == "true" || n.Value == "false"):
		return n.Value == "true", n
	}
	hint := "write true or false"
	c.Fail(n, diag.WrongType, hint, "%s must be a boolean, not %s", name, Describe(n))
	return false, nil
}

// Integer returns an optional integer between least and most; anything else is
// reported and reads as absent.
func (c *Cursor) Integer(name string, least, most int) (value int, at *Node) {
	n := c.Value(name)
	if n == nil {
		return 0, nil
	}
	value, ok := c.Decoder.Integer(n, name, least, most)
	if !ok {
		return 0, nil
	}
	return value, n
}

// Instant returns the time that a field has, nil without one or after a mistake.
func (c *Cursor) Instant(name string) *time.Time {
	n := c.Text(name)
	if n == nil {
		return nil
	}
	at, err := dates.Parse(n.Value)
	if err != nil {
		c.Fail(n, diag.BadValue, dates.Hint, "%s %s %s", name, Quote(n.Value), err)
		return nil
	}
	return &at
}

// Skip accepts fields without reading them.
func (c *Cursor) Skip(names ...string) {
	for _, name := range names {
		c.Field(name)
	}
}
