package visibility

import "github.com/writ-policy/writ/translator/syntax"

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
