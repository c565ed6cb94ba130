package document

import "github.com/writ-policy/writ/translator/diag"

// olderHint is what to type for a section the older form does not have.
const olderHint = "write the newer form: resources: [{type: TYPE}]"

// older decodes the sections of the older form.
func (e *entryReader) older(c *cursor) {
	c.hints = map[string]string{"alerts": olderHint, "events": olderHint}
	e.section(c, "nodes", e.olderNodes)
	e.section(c, "namespaces", func(c *cursor, entry *VisibilityEntry) {
		entry.Names = ValueFilter{e.entries(c, "allowed", false), e.entries(c, "denied", false)}
	})
	e.section(c, "operators", func(c *cursor, entry *VisibilityEntry) {
		entry.Names = ValueFilter{e.entries(c, "allowedNames", false), e.entries(c, "deniedNames", false)}
		entry.Namespaces = ValueFilter{e.entries(c, "allowedNamespaces", false), e.entries(c, "deniedNamespaces", false)}
	})
	e.section(c, "pods", func(c *cursor, entry *VisibilityEntry) {
		entry.Namespaces.Allowed = e.entries(c, "allowedNamespaces", false)
	})
	if custom := c.filledMapping("custom"); custom != nil {
		for i, f := range custom.n.fields {
			custom.used[i] = true
			e.olderCustom(custom, f)
		}
	}
	c.done()
}

// section decodes the section of a standard type.
func (e *entryReader) section(c *cursor, name string, filters func(*cursor, *VisibilityEntry)) {
	inner := c.filledMapping(name)
	if inner == nil {
		return
	}
	entry := e.add(inner.at)
	visibility := e.visibilityInto(inner, &entry)
	if f := inner.filledMapping("filters"); f != nil {
		f.what = "filters of " + name
		filters(f, &entry)
		f.done()
	}
	inner.done()
	e.keep(inner, true, visibility, entry)
}

func (e *entryReader) olderNodes(c *cursor, entry *VisibilityEntry) {
	entry.Labels = c.filledPairs("labelSelector")
	entry.HideMasters, _ = c.boolean("hideMasters", false)
	entry.HideByLabels = c.filledPairs("hideByLabels")
}

// olderCustom decodes the section of a custom type.
func (e *entryReader) olderCustom(c *cursor, f field) {
	if f.key.value == "" {
		e.fail(f.key, diag.Missing, "", "a type of custom is empty")
		return
	}
	inner := c.filledMapping(f.key.value)
	if inner == nil {
		return
	}
	entry := e.add(f.key)
	name := entry.Type.Value
	visibility := e.visibilityInto(inner, &entry)
	if filters := inner.filledMapping("filters"); filters != nil {
		entry.Names = e.valueFilter(filters, "names", false)
		entry.Namespaces = e.valueFilter(filters, "namespaces", false)
		if !entry.Namespaces.Empty() {
			e.withoutNamespace(filters, name)
		}
		entry.Fields = e.fieldFilters(filters, true, name)
		filters.done()
	}
	e.aggregations(inner, true, &entry)
	inner.done()
	e.keep(inner, true, visibility, entry)
}
