package document

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
)

// standardTypes are those every cluster has.
var standardTypes = []string{"nodes", "namespaces", "operators", "pods", "alerts", "events"}

// StandardType reports whether a type is one of those every cluster has.
func StandardType(name string) bool { return slices.Contains(standardTypes, name) }

// entryReader reads the entries of one rule, in either form.
type entryReader struct {
	*decoder
	rule *ClusterRule
	seen map[string]*node // by type
}

// resources decodes what a rule says of types: a list in the newer form, a
// mapping in the older one.
func (d *decoder) resources(c *cursor, r *ClusterRule) {
	n := c.value("resources")
	if n == nil {
		return
	}
	e := &entryReader{decoder: d, rule: r, seen: map[string]*node{}}
	switch {
	case n.kind != list && n.kind != mapping:
		d.fail(n, diag.WrongType, "write [{type: TYPE}]", "resources is a list, this is %s", describe(n))
	case len(n.items)+len(n.fields) == 0:
		d.empty(n, "resources")
	case n.kind == list:
		for _, item := range n.items {
			e.newer(item)
		}
	default:
		e.older(c.mapping("resources"))
	}
}

// add begins the entry of a type, which a rule has once. Its place is where the
// type is said.
func (e *entryReader) add(at *node) VisibilityEntry {
	if first := e.seen[at.value]; first != nil {
		second := at // the sections of the older form are in no order
		if at.line < first.line || at.line == first.line && at.column < first.column {
			first, second = at, first
		}
		e.fail(second, diag.RepeatedName, "keep one of them", "type %s is there twice, first on line %d", quote(at.value), first.line)
	} else {
		e.seen[at.value] = at
	}
	return VisibilityEntry{Type: e.text(at)}
}

// newer decodes an entry of the newer form.
func (e *entryReader) newer(n *node) {
	c := e.cursor(n, "an entry of resources", false)
	if c == nil {
		return
	}
	var entry VisibilityEntry
	at := c.required("type")
	known := at != nil && at.value != ""
	if known {
		entry = e.add(at)
	}
	visibility := e.visibilityInto(c, &entry)
	if filters := c.filledMapping("filters"); filters != nil {
		e.newerFilters(filters, known, &entry)
		filters.done()
	}
	e.aggregations(c, known, &entry)
	c.done()
	e.keep(c, known, visibility, entry)
}

// newerFilters decodes filters of the newer form. Without a type that is known,
// what only some types have is let through.
func (e *entryReader) newerFilters(c *cursor, known bool, entry *VisibilityEntry) {
	entry.Names = e.valueFilter(c, "names", false)
	entry.Namespaces = e.valueFilter(c, "namespaces", false)
	if !entry.Namespaces.Empty() && known {
		e.withoutNamespace(c, entry.Type.Value)
	}
	entry.Labels = c.filledPairs("labels")
	entry.Fields = e.fieldFilters(c, known, entry.Type.Value)
}

// withoutNamespace reports a filter on the namespace of what has none.
func (e *entryReader) withoutNamespace(c *cursor, name string) {
	switch name {
	case "namespaces":
		e.fail(c.field("namespaces").key, diag.BadValue, "write names", "namespaces are filtered by names, not by namespaces")
	case "nodes":
		e.fail(c.field("namespaces").key, diag.BadValue, "write names or labels", "nodes have no namespace: they are filtered by names or labels, not by namespaces")
	}
}

// fieldFilters decodes the filters of fields, which only custom types have.
func (e *entryReader) fieldFilters(c *cursor, known bool, name string) []FieldFilter {
	fields := c.filledMapping("fields")
	if fields == nil {
		return nil
	}
	if known && StandardType(name) {
		e.fail(fields.at, diag.BadValue, "fields are of custom types", "%s has no fields to filter by", name)
	}
	var out []FieldFilter
	for i, f := range fields.n.fields {
		fields.used[i] = true
		if filter := e.valueFilter(fields, f.key.value, true); !filter.Empty() {
			out = append(out, FieldFilter{Field: e.text(f.key), ValueFilter: filter})
		}
	}
	return out
}

// valueFilter decodes {allowed, denied}. Only values of fields may be empty: no
// name is.
func (e *entryReader) valueFilter(c *cursor, name string, field bool) ValueFilter {
	inner := c.filledMapping(name)
	if inner == nil {
		return ValueFilter{}
	}
	if field {
		inner.what = "field " + quote(name)
		inner.hints = map[string]string{"conditions": "write allowed or denied; conditions are not evaluated"}
	}
	out := ValueFilter{Allowed: e.entries(inner, "allowed", field), Denied: e.entries(inner, "denied", field)}
	inner.done()
	return out
}

// entries decodes a list of literals and globs.
func (e *entryReader) entries(c *cursor, name string, empty bool) []string {
	var out []string
	for _, n := range c.filledTexts(name) {
		if n.value == "" && !empty {
			e.fail(n, diag.BadValue, "leave it out", "an entry \"\" of %s of %s is empty: nothing has such a name", name, c.what)
			continue
		}
		out = append(out, n.value)
	}
	return out
}

// aggregations decodes which aggregations are shown, which only custom types have.
func (e *entryReader) aggregations(c *cursor, known bool, entry *VisibilityEntry) {
	a := c.filledMapping("aggregations")
	if a == nil {
		return
	}
	if known && StandardType(entry.Type.Value) {
		e.fail(a.at, diag.BadValue, "aggregations are of custom types", "%s has no aggregations", entry.Type.Value)
	}
	for _, n := range a.filledTexts("include") {
		entry.Include = append(entry.Include, e.text(n))
	}
	for _, n := range a.filledTexts("exclude") {
		entry.Exclude = append(entry.Exclude, e.text(n))
		if slices.ContainsFunc(entry.Include, func(t Text) bool { return t.Value == n.value }) {
			e.warn(n, diag.IgnoredFilter, "keep one of them", "aggregation %s is in include and in exclude: only include counts", quote(n.value))
		}
	}
	a.done()
}

// visibilityInto decodes the visibility of an entry and returns where it is.
func (e *entryReader) visibilityInto(c *cursor, entry *VisibilityEntry) *node {
	n := c.text("visibility")
	if n != nil && e.oneOf(n, "visibility", "all", "none", "filtered") {
		entry.Visibility = n.value
	}
	return n
}

// keep adds an entry that is whole, with what is odd about its visibility.
func (e *entryReader) keep(c *cursor, known bool, visibility *node, entry VisibilityEntry) {
	if !known {
		return
	}
	e.rule.Entries = append(e.rule.Entries, entry)
	standard := StandardType(entry.Type.Value)
	switch {
	case entry.Visibility == "filtered" && !entry.Includes():
		about := "every item is visible that is not denied"
		if standard {
			about = "no item is visible"
		}
		e.warn(visibility, diag.NoCriteria, "write what is allowed, or visibility: all",
			"visibility filtered of %s without allowed, labels or fields: %s", quote(entry.Type.Value), about)
	case entry.Visibility == "all" && standard:
		e.ignoredUnderAll(c.value("filters"))
	}
}

// Includes reports whether an entry has an inclusion criterion, which is what
// filters where visibility is left out.
func (v *VisibilityEntry) Includes() bool {
	return len(v.Names.Allowed)+len(v.Namespaces.Allowed)+len(v.Labels)+len(v.Fields) > 0
}

// inclusions are the filters, in either form, that all makes void.
var inclusions = []string{"allowed", "labels", "labelSelector", "allowedNames", "allowedNamespaces"}

// ignoredUnderAll warns of the filters below n that say what is allowed where
// everything is.
func (e *entryReader) ignoredUnderAll(n *node) {
	if n == nil {
		return
	}
	for _, f := range n.fields {
		name := f.key.value
		switch {
		case slices.Contains(inclusions, name) && len(f.value.items)+len(f.value.fields) > 0:
			e.warn(f.key, diag.IgnoredFilter, "leave visibility out, or write filtered",
				"%s is not looked at under visibility: all", name)
		case name == "names" || name == "namespaces":
			e.ignoredUnderAll(f.value)
		}
	}
}
