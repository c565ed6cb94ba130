package visibility

import (
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

var (
	fieldTypes    = []string{"string", "integer", "float", "boolean", "quantity", "timestamp", "arrayLength"}
	computedTypes = []string{"string", "integer", "float", "boolean"}
	functions     = []string{"count", "sum", "avg", "min", "max", "percentile", "distinct"}
	operators     = []string{
		"equals", "notEquals", "contains", "startsWith", "endsWith", "greaterThan", "lessThan", "in", "matches",
	}
	// itemFields are the names by which aggregations refer to an item's own name and
	// namespace.
	itemFields = []string{"name", "namespace", "_name", "_namespace"}
)

// sourceReader reads the spec of one MetricSource.
type sourceReader struct {
	*syntax.Decoder
	into *MetricSource
	// names of fields and computed fields.
	names map[string]*syntax.Node
	// unread means that some of these names could not be read, so that an unknown name
	// is not reported.
	unread bool
}

// decodeMetricSource decodes the spec of a MetricSource.
func decodeMetricSource(d *syntax.Decoder, c *syntax.Cursor, into *MetricSource) {
	if c == nil {
		return
	}
	s := &sourceReader{Decoder: d, into: into, names: map[string]*syntax.Node{}}
	s.source(c.RequiredMapping("source", ""))
	s.fields(c)
	for _, n := range c.FilledList("computed") {
		s.computed(n)
	}
	aggregations := map[string]*syntax.Node{}
	for _, n := range c.FilledList("aggregations") {
		s.aggregation(n, aggregations)
	}
	s.checkCollection(c.FilledMapping("collection"))
	if rbac := c.Mapping("rbac"); rbac != nil {
		s.rbac(rbac)
	}
}

// source decodes the resource that the collector reads.
func (s *sourceReader) source(c *syntax.Cursor) {
	if c == nil {
		return
	}
	s.into.Of.APIVersion, s.into.Of.Kind = c.Required("apiVersion").Text(), c.Required("kind").Text()
	if n := c.Text("scope"); n != nil && s.CheckOneOf(n, "scope", "Namespaced", "Cluster") {
		s.into.Of.Scope = n.Value
	}
	if namespaces := c.FilledMapping("namespaces"); namespaces != nil {
		for _, name := range []string{"include", "exclude"} {
			for _, n := range namespaces.FilledTexts(name) {
				if n.Value == "" {
					s.Fail(n, diag.BadValue, "leave it out", "an entry \"\" of %s is empty: no namespace has such a name", name)
				}
			}
		}
		namespaces.Done()
	}
	if n := c.Value("labelSelector"); n != nil {
		s.Selector(n)
	}
	c.Done()
}

// fields decodes the fields; at least one is required.
func (s *sourceReader) fields(c *syntax.Cursor) {
	items, at := c.List("fields")
	s.unread = len(items) == 0
	switch {
	case c.Value("fields") == nil:
		c.Missing("fields", "write fields: [{name: NAME, path: PATH}]")
	case at != nil && len(items) == 0:
		s.Fail(c.Field("fields").Key, diag.Missing, "write fields: [{name: NAME, path: PATH}]", "fields of spec is empty")
	}
	for _, n := range items {
		f := s.Cursor(n, "an entry of fields", false)
		if f == nil {
			s.unread = true
			continue
		}
		s.into.Fields = append(s.into.Fields, s.fieldName(f)...)
		f.Required("path")
		if t := f.Text("type"); t != nil {
			s.CheckOneOf(t, "type", fieldTypes...)
		}
		f.Skip("default")
		f.Done()
	}
}

func (s *sourceReader) computed(n *syntax.Node) {
	c := s.Cursor(n, "an entry of computed", false)
	if c == nil {
		s.unread = true
		return
	}
	s.into.Computed = append(s.into.Computed, s.fieldName(c)...)
	c.Required("expression")
	if t := c.Text("type"); t != nil {
		s.CheckOneOf(t, "type", computedTypes...)
	}
	c.Done()
}

// fieldName decodes the name of a field or computed field, which must be unique.
func (s *sourceReader) fieldName(c *syntax.Cursor) []string {
	n := c.Required("name")
	if n == nil || n.Value == "" {
		s.unread = true
		return nil
	}
	if !s.unique(n, "field", s.names) {
		return nil
	}
	return []string{n.Value}
}

// unique reports a repeated name, and whether the name is unique.
func (s *sourceReader) unique(n *syntax.Node, what string, names map[string]*syntax.Node) bool {
	if first := names[n.Value]; first != nil {
		s.Fail(n, diag.RepeatedName, "give it a name of its own", "%s %s is there twice, first on line %d", what, syntax.Quote(n.Value), first.Line)
		return false
	}
	names[n.Value] = n
	return true
}

// collectionLimits are the minimum values of the fields of collection.
var collectionLimits = []struct {
	name  string
	least int
}{
	{"intervalSeconds", 30}, {"timeoutSeconds", 5}, {"maxResources", 1},
	{"batchSize", 10}, {"retryAttempts", 0}, {"parallelism", 1},
}

// checkCollection checks the settings of the collector, which do not affect decisions.
func (s *sourceReader) checkCollection(c *syntax.Cursor) {
	for _, limit := range collectionLimits {
		c.Integer(limit.name, limit.least, syntax.MaxInteger)
	}
	c.Done()
}

// rbac decodes how policies refer to a source.
func (s *sourceReader) rbac(c *syntax.Cursor) {
	if n := c.Required("resourceTypeName"); n != nil && n.Value != "" {
		if isStandardType(n.Value) {
			s.Fail(n, diag.BadValue, "give it a name of its own", "resourceTypeName %s is a standard type", syntax.Quote(n.Value))
		} else {
			s.into.Type = s.Text(n)
		}
	}
	if identifiers := c.FilledMapping("identifiers"); identifiers != nil {
		s.into.NamespaceField = s.known(identifiers.Text("namespace"), "namespace of identifiers")
		s.into.NameField = s.known(identifiers.Text("name"), "name of identifiers")
		identifiers.Done()
	}
	for _, n := range c.FilledTexts("filterableFields") {
		if name := s.known(n, "filterableFields"); name != "" {
			s.into.Filterable = append(s.into.Filterable, name)
		}
	}
	if filter, at := c.Boolean("filterAggregations", false); at != nil {
		if s.into.FilterAggregations = filter; !filter {
			s.Warn(at, diag.RawAggregations, "leave it out",
				"filterAggregations false shows who may see some items the aggregations over all of them")
		}
	}
	c.Done()
}

// known returns the name of a field or computed field, or one of more. It reports any
// other name and returns "".
func (s *sourceReader) known(n *syntax.Node, what string, more ...string) string {
	if n == nil {
		return ""
	}
	if s.names[n.Value] != nil || s.unread || slices.Contains(more, n.Value) {
		return n.Value
	}
	candidates := slices.Concat(s.into.Fields, s.into.Computed, more)
	hint := diag.Meant(n.Value, candidates, "declare it in fields")
	s.Fail(n, diag.DanglingField, hint, "%s names %s, which is not a field", what, syntax.Quote(n.Value))
	return ""
}

// aggregation decodes one of a MetricSource's aggregations.
func (s *sourceReader) aggregation(n *syntax.Node, names map[string]*syntax.Node) {
	c := s.Cursor(n, "an entry of aggregations", false)
	if c == nil {
		return
	}
	var a Aggregation
	if name := c.Required("name"); name != nil && name.Value != "" && s.unique(name, "aggregation", names) {
		a.Name = name.Value
	}
	function := c.Required("function")
	if function != nil && function.Value != "" && s.CheckOneOf(function, "function", functions...) {
		a.Function = function.Value
	}
	s.aggregationField(c, &a)
	if percentile, at := c.Integer("percentile", 0, 100); at != nil {
		if a.Function == "percentile" {
			a.Percentile = percentile
		}
	} else if a.Function == "percentile" && c.Value("percentile") == nil {
		c.Missing("percentile", "write percentile: 50 for the median")
	}
	a.GroupBy = s.known(c.Text("groupBy"), "groupBy", itemFields...)
	a.Filter = s.aggregationFilter(c.FilledMapping("filter"))
	c.Done()
	if a.Name != "" && a.Function != "" {
		s.into.Aggregations = append(s.into.Aggregations, a)
	}
}

// aggregationField decodes the field of an aggregation, which only count does not
// require.
func (s *sourceReader) aggregationField(c *syntax.Cursor, a *Aggregation) {
	if n := c.Value("field"); n == nil && a.Function != "" && a.Function != "count" {
		c.Missing("field", "write field: NAME, or function: count")
	}
	a.Field = s.known(c.Text("field"), "field", itemFields...)
}

// aggregationFilter decodes the filter that selects the items of an aggregation.
func (s *sourceReader) aggregationFilter(c *syntax.Cursor) *AggregationFilter {
	if c == nil {
		return nil
	}
	var f AggregationFilter
	if n := c.Required("field"); n != nil && n.Value != "" {
		f.Field = s.known(n, "field of filter", itemFields...)
	}
	if n := c.Required("operator"); n != nil && n.Value != "" && s.CheckOneOf(n, "operator", operators...) {
		f.Operator = n.Value
	}
	if c.Value("value") == nil {
		c.Missing("value", "")
	}
	if n := c.Text("value"); n != nil {
		f.Value = n.Value
		if f.Operator == "matches" {
			checkRegularExpression(s.Decoder, n, "value")
		}
	}
	c.Done()
	return &f
}
