package document

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/writ-policy/writ/translator/diag"
)

var selectorOperators = []string{"In", "NotIn", "Exists", "DoesNotExist"}

// selector decodes a label selector by the API server's validation.
func (d *decoder) selector(n *node) Selector {
	s := Selector{At: d.at(n)}
	c := d.cursor(n, "a selector", false)
	if c == nil {
		return s
	}
	labels := c.labels("matchLabels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		s.Requirements = append(s.Requirements, Requirement{Key: key, Operator: "In", Values: []string{labels[key]}})
	}
	expressions, _ := c.list("matchExpressions")
	for _, e := range expressions {
		if r, ok := d.requirement(e); ok {
			s.Requirements = append(s.Requirements, r)
		}
	}
	c.done()
	return s
}

func (d *decoder) requirement(n *node) (Requirement, bool) {
	c := d.cursor(n, "a match expression", false)
	if c == nil {
		return Requirement{}, false
	}
	c.nulls = true
	key, operator := c.required("key"), c.required("operator")
	items, _ := c.texts("values")
	c.done()
	ok := key != nil && d.checkForm(key, diag.BadValue, "label", content.IsLabelKey(key.value))
	for _, v := range items {
		ok = d.checkForm(v, diag.BadValue, "label value", content.IsLabelValue(v.value)) && ok
	}
	if operator == nil || !d.operator(c, operator, len(items)) || !ok {
		return Requirement{}, false
	}
	return Requirement{Key: key.value, Operator: operator.value, Values: values(items)}, true
}

// operator checks an operator and whether it has values as it should.
func (d *decoder) operator(c *cursor, operator *node, count int) bool {
	switch operator.value {
	case "In", "NotIn":
		if count == 0 {
			c.missing("values", "")
			return false
		}
		return true
	case "Exists", "DoesNotExist":
		if count > 0 {
			c.fail(c.field("values").key, diag.BadValue, "leave values out", "operator %s takes no values", operator.value)
			return false
		}
		return true
	}
	hint := "one of In, NotIn, Exists, DoesNotExist"
	if near := diag.Suggest(operator.value, selectorOperators); near != "" {
		hint = "did you mean " + quote(near) + "?"
	}
	d.fail(operator, diag.BadValue, hint, "operator %s is not known", quote(operator.value))
	return false
}
