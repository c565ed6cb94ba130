package visibility

import (
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// standardTypes are the types that every cluster has.
var standardTypes = []string{"nodes", "namespaces", "operators", "pods", "alerts", "events"}

// isStandardType reports whether a type is one of those every cluster has.
func isStandardType(name string) bool { return slices.Contains(standardTypes, name) }

// entryReader reads the entries of one rule, in the newer and the older form.
type entryReader struct {
	*syntax.Decoder
	rule *ClusterRule
	seen map[string]*syntax.Node // by type
}

// decodeResources decodes the entries of a rule: a list in the newer form, a mapping in
// the older one.
func decodeResources(d *syntax.Decoder, c *syntax.Cursor, r *ClusterRule) {
	n := c.Value("resources")
	if n == nil {
		return
	}
	e := &entryReader{Decoder: d, rule: r, seen: map[string]*syntax.Node{}}
	switch {
	case n.Type != syntax.List && n.Type != syntax.Mapping:
		d.Fail(n, diag.WrongType, "write [{type: TYPE}]", "resources must be a list, not %s", syntax.Describe(n))
	case len(n.Items)+len(n.Fields) == 0:
		d.Empty(n, "resources")
	case n.Type == syntax.List:
		for _, item := range n.Items {
			e.newer(item)
		}
	default:
		e.older(c.Mapping("resources"))
	}
}

// add returns a new entry for a type, positioned at its name, and reports a type that
// the rule has twice.
func (e *entryReader) add(at *syntax.Node) VisibilityEntry {
	if first := e.seen[at.Value]; first != nil {
		second := at // the sections of the older form are read in a fixed order, not that of the file
		if at.Line < first.Line || at.Line == first.Line && at.Column < first.Column {
			first, second = at, first
		}
		e.Fail(second, diag.RepeatedName, "keep one of them", "type %s is there twice, first on line %d", syntax.Quote(at.Value), first.Line)
	} else {
		e.seen[at.Value] = at
	}
	return VisibilityEntry{Type: e.Text(at)}
}

// newer decodes an entry of the newer form.
func (e *entryReader) newer(n *syntax.Node) {
	c := e.Cursor(n, "an entry of resources", false)
	if c == nil {
		return
	}
	var entry VisibilityEntry
	at := c.Required("type")
	known := at != nil && at.Value != ""
	if known {
		entry = e.add(at)
	}
	visibility := e.visibilityInto(c, &entry)
	if filters := c.FilledMapping("filters"); filters != nil {
		e.newerFilters(filters, known, &entry)
		filters.Done()
	}
	e.aggregations(c, known, &entry)
	c.Done()
	e.keep(c, known, visibility, entry)
}

// newerFilters decodes filters of the newer form. If the type is unknown, filters that
// only some types have are not reported.
func (e *entryReader) newerFilters(c *syntax.Cursor, known bool, entry *VisibilityEntry) {
	entry.Names, entry.Namespaces = e.valueFilter(c, "names"), e.valueFilter(c, "namespaces")
	if !entry.Namespaces.IsEmpty() && known {
		e.withoutNamespace(c, entry.Type.Value)
	}
	entry.Labels = c.FilledPairs("labels")
	entry.Fields = e.fieldFilters(c, known, entry.Type.Value)
}

// withoutNamespace reports a filter on namespaces for a type without them.
func (e *entryReader) withoutNamespace(c *syntax.Cursor, name string) {
	switch name {
	case "namespaces":
		e.Fail(c.Field("namespaces").Key, diag.BadValue, "write names", "namespaces are filtered by names, not by namespaces")
	case "nodes":
		e.Fail(c.Field("namespaces").Key, diag.BadValue, "write names or labels", "nodes have no namespace: they are filtered by names or labels, not by namespaces")
	}
}

// fieldFilters decodes the filters on fields, which only custom types have.
func (e *entryReader) fieldFilters(c *syntax.Cursor, known bool, name string) []FieldFilter {
	fields := c.FilledMapping("fields")
	if fields == nil {
		return nil
	}
	if known && isStandardType(name) {
		e.Fail(fields.At, diag.BadValue, "fields are of custom types", "%s has no fields to filter by", name)
	}
	var out []FieldFilter
	for i := range fields.Node.Fields {
		f := &fields.Node.Fields[i]
		fields.Used[i] = true
		if filter := e.valueFilterOf(fields.FilledEntry(f), f.Key.Value, true); !filter.IsEmpty() {
			out = append(out, FieldFilter{Field: e.Text(f.Key), ValueFilter: filter})
		}
	}
	return out
}

// valueFilter decodes {allowed, denied} of names.
func (e *entryReader) valueFilter(c *syntax.Cursor, name string) ValueFilter {
	return e.valueFilterOf(c.FilledMapping(name), name, false)
}

// valueFilterOf decodes {allowed, denied}. Values of fields may be empty, names may not.
func (e *entryReader) valueFilterOf(inner *syntax.Cursor, name string, field bool) ValueFilter {
	if inner == nil {
		return ValueFilter{}
	}
	if field {
		inner.What = "field " + syntax.Quote(name)
		inner.Hints = map[string]string{"conditions": "write allowed or denied; conditions are not evaluated"}
	}
	out := ValueFilter{Allowed: e.entries(inner, "allowed", field), Denied: e.entries(inner, "denied", field)}
	inner.Done()
	return out
}

// entries decodes a list of literals and patterns.
func (e *entryReader) entries(c *syntax.Cursor, name string, empty bool) Values {
	var out Values
	for _, n := range c.FilledTexts(name) {
		switch {
		case n.Value == "" && !empty:
			e.Fail(n, diag.BadValue, "leave it out", "an entry \"\" of %s of %s is empty: nothing has such a name", name, c.What)
		case tables.IsGlob(n.Value):
			out.Patterns = append(out.Patterns, ValuePattern{n.Value, tables.ParseGlob(n.Value)})
		default:
			out.Literals = append(out.Literals, n.Value)
		}
	}
	return out
}

// aggregations decodes which aggregations are visible; only custom types have them.
func (e *entryReader) aggregations(c *syntax.Cursor, known bool, entry *VisibilityEntry) {
	a := c.FilledMapping("aggregations")
	if a == nil {
		return
	}
	if known && isStandardType(entry.Type.Value) {
		e.Fail(a.At, diag.BadValue, "aggregations are of custom types", "%s has no aggregations", entry.Type.Value)
	}
	entry.Include = append(entry.Include, elements.Map(a.FilledTexts("include"), e.Text)...)
	isIncluded := make(map[string]bool, len(entry.Include))
	for _, text := range entry.Include {
		isIncluded[text.Value] = true
	}
	for _, n := range a.FilledTexts("exclude") {
		entry.Exclude = append(entry.Exclude, e.Text(n))
		if isIncluded[n.Value] {
			e.Warn(n, diag.IgnoredFilter, "keep one of them", "aggregation %s is in include and in exclude: only include counts", syntax.Quote(n.Value))
		}
	}
	a.Done()
}

// visibilityInto decodes the visibility of an entry into entry and returns its node.
func (e *entryReader) visibilityInto(c *syntax.Cursor, entry *VisibilityEntry) *syntax.Node {
	n := c.Text("visibility")
	if n != nil && e.CheckOneOf(n, "visibility", "all", "none", "filtered") {
		entry.Visibility = n.Value
	}
	return n
}

// keep adds a valid entry to the rule, and warns if its visibility has no effect.
func (e *entryReader) keep(c *syntax.Cursor, known bool, visibility *syntax.Node, entry VisibilityEntry) {
	if !known {
		return
	}
	e.rule.Entries = append(e.rule.Entries, entry)
	standard := isStandardType(entry.Type.Value)
	switch {
	case entry.Visibility == "filtered" && !entry.Includes():
		about := "every item is visible that is not denied"
		if standard {
			about = "no item is visible"
		}
		e.Warn(visibility, diag.NoCriteria, "write what is allowed, or visibility: all",
			"visibility filtered of %s without allowed, labels or fields: %s", syntax.Quote(entry.Type.Value), about)
	case entry.Visibility == "all" && standard:
		e.ignoredUnderAll(c.Value("filters"))
	}
}

// Includes reports whether an entry has an inclusion criterion, which makes the default
// visibility filtered.
func (v *VisibilityEntry) Includes() bool {
	return !v.Names.Allowed.IsEmpty() || !v.Namespaces.Allowed.IsEmpty() || len(v.Labels)+len(v.Fields) > 0
}

// inclusions are the filters, in both forms, that have no effect under visibility: all.
var inclusions = []string{"allowed", "labels", "labelSelector", "allowedNames", "allowedNamespaces"}

// ignoredUnderAll warns about the inclusion filters below n, which have no effect under
// visibility: all.
func (e *entryReader) ignoredUnderAll(n *syntax.Node) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		name := f.Key.Value
		switch {
		case slices.Contains(inclusions, name) && len(f.Value.Items)+len(f.Value.Fields) > 0:
			e.Warn(f.Key, diag.IgnoredFilter, "leave visibility out, or write filtered",
				"%s is not looked at under visibility: all", name)
		case name == "names" || name == "namespaces":
			e.ignoredUnderAll(f.Value)
		}
	}
}
