package visibility

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// olderHint is the hint for a section that the older form does not have.
const olderHint = "write the newer form: resources: [{type: TYPE}]"

// older decodes the sections of the older form.
func (e *entryReader) older(c *syntax.Cursor) {
	c.Hints = map[string]string{"alerts": olderHint, "events": olderHint}
	e.section(c, "nodes", e.olderNodes)
	e.section(c, "namespaces", func(c *syntax.Cursor, entry *VisibilityEntry) {
		entry.Names = ValueFilter{e.entries(c, "allowed", false), e.entries(c, "denied", false)}
	})
	e.section(c, "operators", func(c *syntax.Cursor, entry *VisibilityEntry) {
		entry.Names = ValueFilter{e.entries(c, "allowedNames", false), e.entries(c, "deniedNames", false)}
		entry.Namespaces = ValueFilter{e.entries(c, "allowedNamespaces", false), e.entries(c, "deniedNamespaces", false)}
	})
	e.section(c, "pods", func(c *syntax.Cursor, entry *VisibilityEntry) {
		entry.Namespaces.Allowed = e.entries(c, "allowedNamespaces", false)
	})
	if custom := c.FilledMapping("custom"); custom != nil {
		for i := range custom.Node.Fields {
			custom.Used[i] = true
			e.olderCustom(custom, &custom.Node.Fields[i])
		}
	}
	c.Done()
}

// section decodes the section of a standard type.
func (e *entryReader) section(c *syntax.Cursor, name string, filters func(*syntax.Cursor, *VisibilityEntry)) {
	inner := c.FilledMapping(name)
	if inner == nil {
		return
	}
	entry := e.add(inner.At)
	visibility := e.visibilityInto(inner, &entry)
	if f := inner.FilledMapping("filters"); f != nil {
		f.What = "filters of " + name
		filters(f, &entry)
		f.Done()
	}
	inner.Done()
	e.keep(inner, true, visibility, entry)
}

func (e *entryReader) olderNodes(c *syntax.Cursor, entry *VisibilityEntry) {
	entry.Labels = c.FilledPairs("labelSelector")
	entry.HideMasters, _ = c.Boolean("hideMasters", false)
	entry.HideByLabels = c.FilledPairs("hideByLabels")
}

// olderCustom decodes the section of a custom type.
func (e *entryReader) olderCustom(c *syntax.Cursor, f *syntax.Field) {
	if f.Key.Value == "" {
		e.Fail(f.Key, diag.Missing, "", "a type of custom is empty")
		return
	}
	inner := c.FilledEntry(f)
	if inner == nil {
		return
	}
	entry := e.add(f.Key)
	name := entry.Type.Value
	visibility := e.visibilityInto(inner, &entry)
	if filters := inner.FilledMapping("filters"); filters != nil {
		entry.Names, entry.Namespaces = e.valueFilter(filters, "names"), e.valueFilter(filters, "namespaces")
		if !entry.Namespaces.IsEmpty() {
			e.withoutNamespace(filters, name)
		}
		entry.Fields = e.fieldFilters(filters, true, name)
		filters.Done()
	}
	e.aggregations(inner, true, &entry)
	inner.Done()
	e.keep(inner, true, visibility, entry)
}
