package document

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
)

var (
	fieldTypes    = []string{"string", "integer", "float", "boolean", "quantity", "timestamp", "arrayLength"}
	computedTypes = []string{"string", "integer", "float", "boolean"}
	functions     = []string{"count", "sum", "avg", "min", "max", "percentile", "distinct"}
	operators     = []string{
		"equals", "notEquals", "contains", "startsWith", "endsWith", "greaterThan", "lessThan", "in", "matches",
	}
	// itemFields are an item's own name and namespace, as aggregations may name
	// them.
	itemFields = []string{"name", "namespace", "_name", "_namespace"}
)

// sourceReader reads the spec of one MetricSource.
type sourceReader struct {
	*decoder
	into *MetricSource
	// names are those of fields and computed fields.
	names map[string]*node
	// unread says that some of those names could not be read: a name may be one.
	unread bool
}

// metricSource decodes the spec of a MetricSource.
func (d *decoder) metricSource(c *cursor, into *MetricSource) {
	if c == nil {
		return
	}
	s := &sourceReader{decoder: d, into: into, names: map[string]*node{}}
	s.source(c.requiredMapping("source"))
	s.fields(c)
	for _, n := range c.filledList("computed") {
		s.computed(n)
	}
	aggregations := map[string]*node{}
	for _, n := range c.filledList("aggregations") {
		s.aggregation(n, aggregations)
	}
	s.collection(c.filledMapping("collection"))
	if rbac := c.mapping("rbac"); rbac != nil {
		s.rbac(rbac)
	}
}

// source decodes what the collector reads.
func (s *sourceReader) source(c *cursor) {
	if c == nil {
		return
	}
	if n := c.required("apiVersion"); n != nil {
		s.into.Of.APIVersion = n.value
	}
	if n := c.required("kind"); n != nil {
		s.into.Of.Kind = n.value
	}
	if n := c.text("scope"); n != nil && s.oneOf(n, "scope", "Namespaced", "Cluster") {
		s.into.Of.Scope = n.value
	}
	if namespaces := c.filledMapping("namespaces"); namespaces != nil {
		for _, name := range []string{"include", "exclude"} {
			for _, n := range namespaces.filledTexts(name) {
				if n.value == "" {
					s.fail(n, diag.BadValue, "leave it out", "an entry \"\" of %s is empty: no namespace has such a name", name)
				}
			}
		}
		namespaces.done()
	}
	if n := c.value("labelSelector"); n != nil {
		s.selector(n)
	}
	c.done()
}

// fields decodes the fields, of which there is at least one.
func (s *sourceReader) fields(c *cursor) {
	items, at := c.list("fields")
	s.unread = len(items) == 0
	switch {
	case c.value("fields") == nil:
		c.missing("fields", "write fields: [{name: NAME, path: PATH}]")
	case at != nil && len(items) == 0:
		s.fail(c.field("fields").key, diag.Missing, "write fields: [{name: NAME, path: PATH}]", "fields of spec is empty")
	}
	for _, n := range items {
		f := s.cursor(n, "an entry of fields", false)
		if f == nil {
			s.unread = true
			continue
		}
		s.into.Fields = append(s.into.Fields, s.fieldName(f)...)
		f.required("path")
		if t := f.text("type"); t != nil {
			s.oneOf(t, "type", fieldTypes...)
		}
		f.skip("default")
		f.done()
	}
}

func (s *sourceReader) computed(n *node) {
	c := s.cursor(n, "an entry of computed", false)
	if c == nil {
		s.unread = true
		return
	}
	s.into.Computed = append(s.into.Computed, s.fieldName(c)...)
	c.required("expression")
	if t := c.text("type"); t != nil {
		s.oneOf(t, "type", computedTypes...)
	}
	c.done()
}

// fieldName decodes the name of a field or computed field, which no other has.
func (s *sourceReader) fieldName(c *cursor) []string {
	n := c.required("name")
	if n == nil || n.value == "" {
		s.unread = true
		return nil
	}
	if !s.unique(n, "field", s.names) {
		return nil
	}
	return []string{n.value}
}

// unique reports a name that is taken.
func (s *sourceReader) unique(n *node, what string, names map[string]*node) bool {
	if first := names[n.value]; first != nil {
		s.fail(n, diag.RepeatedName, "give it a name of its own", "%s %s is there twice, first on line %d", what, quote(n.value), first.line)
		return false
	}
	names[n.value] = n
	return true
}

// collectionLimits are the least numbers of collection.
var collectionLimits = []struct {
	name  string
	least int
}{
	{"intervalSeconds", 30}, {"timeoutSeconds", 5}, {"maxResources", 1},
	{"batchSize", 10}, {"retryAttempts", 0}, {"parallelism", 1},
}

// collection checks how a source is collected, which no decision depends on.
func (s *sourceReader) collection(c *cursor) {
	for _, limit := range collectionLimits {
		c.integer(limit.name, limit.least, maxInteger)
	}
	c.done()
}

// rbac decodes how policies refer to a source.
func (s *sourceReader) rbac(c *cursor) {
	if n := c.required("resourceTypeName"); n != nil && n.value != "" {
		if StandardType(n.value) {
			s.fail(n, diag.BadValue, "give it a name of its own", "resourceTypeName %s is a standard type", quote(n.value))
		} else {
			s.into.Type = s.text(n)
		}
	}
	if identifiers := c.filledMapping("identifiers"); identifiers != nil {
		s.into.NamespaceField = s.known(identifiers.text("namespace"), "namespace of identifiers")
		s.into.NameField = s.known(identifiers.text("name"), "name of identifiers")
		identifiers.done()
	}
	for _, n := range c.filledTexts("filterableFields") {
		if name := s.known(n, "filterableFields"); name != "" {
			s.into.Filterable = append(s.into.Filterable, name)
		}
	}
	if filter, at := c.boolean("filterAggregations", false); at != nil {
		if s.into.FilterAggregations = filter; !filter {
			s.warn(at, diag.RawAggregations, "leave it out",
				"filterAggregations false shows who may see some items the aggregations over all of them")
		}
	}
	c.done()
}

// known returns the name of a field or computed field, or one of more; anything
// else is reported.
func (s *sourceReader) known(n *node, what string, more ...string) string {
	if n == nil {
		return ""
	}
	if s.names[n.value] != nil || s.unread || slices.Contains(more, n.value) {
		return n.value
	}
	candidates := slices.Concat(s.into.Fields, s.into.Computed, more)
	hint := "declare it in fields"
	if near := diag.Suggest(n.value, candidates); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	s.fail(n, diag.DanglingField, hint, "%s names %s, which is no field", what, quote(n.value))
	return ""
}
