package document

// aggregation decodes one of a MetricSource's aggregations.
func (s *sourceReader) aggregation(n *node, names map[string]*node) {
	c := s.cursor(n, "an entry of aggregations", false)
	if c == nil {
		return
	}
	var a Aggregation
	if name := c.required("name"); name != nil && name.value != "" && s.unique(name, "aggregation", names) {
		a.Name = name.value
	}
	function := c.required("function")
	if function != nil && function.value != "" && s.oneOf(function, "function", functions...) {
		a.Function = function.value
	}
	s.aggregationField(c, &a)
	if percentile, at := c.integer("percentile", 0, 100); at != nil {
		if a.Function == "percentile" {
			a.Percentile = percentile
		}
	} else if a.Function == "percentile" && c.value("percentile") == nil {
		c.missing("percentile", "write percentile: 50 for the median")
	}
	a.GroupBy = s.known(c.text("groupBy"), "groupBy", itemFields...)
	a.Filter = s.aggregationFilter(c.filledMapping("filter"))
	c.done()
	if a.Name != "" && a.Function != "" {
		s.into.Aggregations = append(s.into.Aggregations, a)
	}
}

// aggregationField decodes what an aggregation is of, which only count can do
// without.
func (s *sourceReader) aggregationField(c *cursor, a *Aggregation) {
	if n := c.value("field"); n == nil && a.Function != "" && a.Function != "count" {
		c.missing("field", "write field: NAME, or function: count")
	}
	a.Field = s.known(c.text("field"), "field", itemFields...)
}

// aggregationFilter decodes which items an aggregation is over.
func (s *sourceReader) aggregationFilter(c *cursor) *AggregationFilter {
	if c == nil {
		return nil
	}
	var f AggregationFilter
	if n := c.required("field"); n != nil && n.value != "" {
		f.Field = s.known(n, "field of filter", itemFields...)
	}
	if n := c.required("operator"); n != nil && n.value != "" && s.oneOf(n, "operator", operators...) {
		f.Operator = n.value
	}
	if c.value("value") == nil {
		c.missing("value", "")
	}
	if n := c.text("value"); n != nil {
		f.Value = n.value
		if f.Operator == "matches" {
			s.regularExpression(n, "value")
		}
	}
	c.done()
	return &f
}
