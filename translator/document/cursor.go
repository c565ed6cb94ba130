package document

import (
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
)

// decoder decodes the documents of one part of a file.
type decoder struct {
	file  string
	kinds Kinds
	diags diag.List
	out   []Document
	// dropped counts the diagnostics beyond maxDiagnostics.
	dropped      int
	droppedError bool
	// doubts are warnings that are told of a policy which has no mistakes.
	doubts diag.List
}

func (d *decoder) at(n *node) diag.Position {
	return diag.Position{File: d.file, Line: n.line, Column: n.column}
}

// fail reports an error at n and warn a warning. The message says what is wrong,
// with the value; the hint what to type, or nothing.
func (d *decoder) fail(n *node, code diag.Code, hint, format string, args ...any) {
	d.report(n, diag.Error, code, hint, format, args...)
}

func (d *decoder) warn(n *node, code diag.Code, hint, format string, args ...any) {
	d.report(n, diag.Warning, code, hint, format, args...)
}

func (d *decoder) report(n *node, s diag.Severity, code diag.Code, hint, format string, args ...any) {
	d.add(diag.Diagnostic{
		Position: d.at(n), Length: n.length(), Severity: s, Code: code,
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// add keeps a diagnostic, or counts it where there are too many.
func (d *decoder) add(g diag.Diagnostic) {
	if len(d.diags) < maxDiagnostics {
		d.diags.Add(g)
		return
	}
	d.dropped++
	d.droppedError = d.droppedError || g.Severity == diag.Error
}

func (d *decoder) text(n *node) Text { return Text{Value: n.value, At: d.at(n)} }

// cursor reads one mapping field by field and, at the end, reports every field
// nobody asked for. The nil cursor, for what is no mapping, has no fields and
// reports nothing.
type cursor struct {
	d *decoder
	n *node
	// what names the mapping in messages: "a rule", "metadata".
	what string
	// fold ignores the case of field names, as the flat form does.
	fold bool
	used []bool
	// asked are the names asked for: what a misspelt field may have meant.
	asked []string
	// hints say what to type instead of fields that belong somewhere else, by
	// lowered name.
	hints map[string]string
	// folded finds fields by their lowered name once there are many.
	folded map[string]int
	// at is where something missing is reported: the key of the mapping, the
	// mapping itself in a list, or the kind of a document.
	at *node
	// nulls makes a null in a list of strings an empty string, as the API server
	// reads it.
	nulls bool
}

// cursor begins to read n, which must be a mapping; otherwise that is reported
// and the nil cursor returned.
func (d *decoder) cursor(n *node, what string, fold bool) *cursor {
	if n.kind != mapping {
		d.fail(n, diag.WrongType, "", "%s is a mapping, this is %s", what, describe(n))
		return nil
	}
	c := &cursor{d: d, n: n, at: n, what: what, fold: fold, used: make([]bool, len(n.fields))}
	if fold {
		c.foldNames()
	}
	return c
}

// describe names a node in a message: its kind, and the value of a scalar.
func describe(n *node) string {
	switch n.kind {
	case null, list, mapping:
		return n.kind.String()
	}
	return n.kind.String() + " (" + quote(n.value) + ")"
}

// foldNames reports fields that are one and the same once case is ignored.
func (c *cursor) foldNames() {
	c.folded = make(map[string]int, len(c.n.fields))
	for i, f := range c.n.fields {
		name := canonicalField(fold(f.key.value))
		if first, twice := c.folded[name]; twice {
			c.used[i] = true
			c.fail(f.key, diag.DuplicateField, "keep one of them; this form ignores the case of field names",
				"field %s repeats %s", quote(f.key.value), quote(c.n.fields[first].key.value))
			continue
		}
		c.folded[name] = i
	}
}

// canonicalField is the folded name under which a field is found: the flat form
// says rule for rules.
func canonicalField(folded string) string {
	if folded == "rule" {
		return "rules"
	}
	return folded
}

func (c *cursor) fail(n *node, code diag.Code, hint, format string, args ...any) {
	c.d.fail(n, code, hint, format, args...)
}

// field returns the entry of that name, null ones included, or nil.
func (c *cursor) field(name string) *field {
	if c == nil {
		return nil
	}
	c.asked = append(c.asked, name)
	if c.fold {
		if i, found := c.folded[fold(name)]; found {
			c.used[i] = true
			return &c.n.fields[i]
		}
		return nil
	}
	for i := range c.n.fields {
		if c.n.fields[i].key.value == name {
			c.used[i] = true
			return &c.n.fields[i]
		}
	}
	return nil
}

// value returns the value of a field, or nil where it is absent or null.
func (c *cursor) value(name string) *node {
	if f := c.field(name); f != nil && !f.value.isNull() {
		return f.value
	}
	return nil
}

// missing reports that the mapping lacks a field, at the key where it is written
// without a value.
func (c *cursor) missing(name, hint string) {
	if c == nil {
		return
	}
	at := c.at
	if f := c.field(name); f != nil {
		at = f.key
	}
	c.fail(at, diag.Missing, hint, "%s has no %s", c.what, name)
}

// text returns an optional string. A wrong type is reported and reads as absent.
func (c *cursor) text(name string) *node {
	n := c.value(name)
	if n == nil || n.kind == text {
		return n
	}
	c.fail(n, diag.WrongType, quoted(n), "%s is a string, this is %s", name, describe(n))
	return nil
}

// quoted is the hint for a scalar where a string should be.
func quoted(n *node) string {
	if n.kind == integer || n.kind == float || n.kind == boolean {
		return "write it in quotes: " + quote(n.value)
	}
	return ""
}

// required returns a string that must be there and not be empty; otherwise that
// is reported and the result nil.
func (c *cursor) required(name string) *node {
	if c.value(name) == nil {
		c.missing(name, "")
		return nil
	}
	n := c.text(name)
	if n != nil && n.value == "" {
		c.fail(n, diag.Missing, "", "%s of %s is empty", name, c.what)
		return nil
	}
	return n
}

// boolean returns an optional boolean. quoted also takes the strings "true" and
// "false".
func (c *cursor) boolean(name string, quoted bool) (value bool, at *node) {
	n := c.value(name)
	switch {
	case n == nil:
		return false, nil
	case n.kind == boolean:
		return fold(n.value) == "true", n
	case quoted && n.kind == text && (n.value == "true" || n.value == "false"):
		return n.value == "true", n
	}
	hint := "write true or false"
	c.fail(n, diag.WrongType, hint, "%s is a boolean, this is %s", name, describe(n))
	return false, nil
}

// integer returns an optional integer between least and most; anything else is
// reported and reads as absent.
func (c *cursor) integer(name string, least, most int) (value int, at *node) {
	n := c.value(name)
	if n == nil {
		return 0, nil
	}
	value, ok := c.d.integer(n, name, least, most)
	if !ok {
		return 0, nil
	}
	return value, n
}

// mapping returns a cursor over an optional mapping, nil where it is absent.
func (c *cursor) mapping(name string) *cursor {
	n := c.value(name)
	if n == nil {
		return nil
	}
	inner := c.d.cursor(n, name, c.fold)
	if inner != nil {
		inner.at = c.field(name).key
	}
	return inner
}

// skip accepts fields without looking at them.
func (c *cursor) skip(names ...string) {
	for _, name := range names {
		c.field(name)
	}
}

// done reports the fields nobody asked for.
func (c *cursor) done() {
	if c == nil {
		return
	}
	for i, f := range c.n.fields {
		if c.used[i] {
			continue
		}
		name := f.key.value
		hint := c.hints[fold(name)]
		if hint == "" {
			if near := diag.Suggest(name, c.asked); near != "" {
				hint = "did you mean " + quote(near) + "?"
			}
		}
		c.fail(f.key, diag.UnknownField, hint, "%s has no field %s", c.what, quote(name))
	}
}
