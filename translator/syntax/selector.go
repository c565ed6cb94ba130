package syntax

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/writ-policy/writ/translator/diag"
)

// MetaIn is the operator as documents write it; selection.In is the one of
// label queries.
const MetaIn = "In"

var operators = map[string]selection.Operator{
	MetaIn:         selection.In,
	"NotIn":        selection.NotIn,
	"Exists":       selection.Exists,
	"DoesNotExist": selection.DoesNotExist,
}

// CompileSelector converts a selector to Kubernetes' type. A selector without
// requirements matches everything. It returns an error if a requirement is invalid.
func CompileSelector(s Selector) (labels.Selector, error) {
	requirements := make([]labels.Requirement, 0, len(s.Requirements))
	for _, q := range s.Requirements {
		operator, ok := operators[q.Operator]
		if !ok {
			return nil, fmt.Errorf("unknown operator %q", q.Operator)
		}
		requirement, err := labels.NewRequirement(q.Key, operator, q.Values)
		if err != nil {
			return nil, err
		}
		requirements = append(requirements, *requirement)
	}
	return labels.NewSelector().Add(requirements...), nil // which sorts them
}

var selectorOperators = []string{"In", "NotIn", "Exists", "DoesNotExist"}

// Selector decodes a label selector by the API server's validation.
func (d *Decoder) Selector(n *Node) Selector {
	s := Selector{At: d.At(n)}
	c := d.Cursor(n, "a selector", false)
	if c == nil {
		return s
	}
	labels := c.Labels("matchLabels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		s.Requirements = append(s.Requirements, Requirement{Key: key, Operator: "In", Values: []string{labels[key]}})
	}
	expressions, _ := c.List("matchExpressions")
	for _, e := range expressions {
		if r, ok := d.requirement(e); ok {
			s.Requirements = append(s.Requirements, r)
		}
	}
	c.Done()
	return s
}

func (d *Decoder) requirement(n *Node) (Requirement, bool) {
	c := d.Cursor(n, "a match expression", false)
	if c == nil {
		return Requirement{}, false
	}
	c.Nulls = true
	key, operator := c.Required("key"), c.Required("operator")
	items, _ := c.Texts("values")
	c.Done()
	ok := key != nil && d.CheckForm(key, diag.BadValue, "label", content.IsLabelKey(key.Value))
	for _, v := range items {
		ok = d.CheckForm(v, diag.BadValue, "label value", content.IsLabelValue(v.Value)) && ok
	}
	if operator == nil || !d.checkOperator(c, operator, len(items)) || !ok {
		return Requirement{}, false
	}
	return Requirement{Key: key.Value, Operator: operator.Value, Values: Values(items)}, true
}

// checkOperator reports an unknown operator or a wrong number of values. It returns
// whether both are valid.
func (d *Decoder) checkOperator(c *Cursor, operator *Node, count int) bool {
	d.Only(operator, selectorOperators)
	switch operator.Value {
	case "In", "NotIn":
		if count == 0 {
			c.Missing("values", "")
			return false
		}
		return true
	case "Exists", "DoesNotExist":
		if count > 0 {
			c.Fail(c.Field("values").Key, diag.BadValue, "leave values out", "operator %s takes no values", operator.Value)
			return false
		}
		return true
	}
	hint := diag.Meant(operator.Value, selectorOperators, "one of In, NotIn, Exists, DoesNotExist")
	d.Fail(operator, diag.BadValue, hint, "operator %s is not known", Quote(operator.Value))
	return false
}
