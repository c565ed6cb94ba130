package main

import "slices"

// plan is the answer of Cerbos' PlanResources API.
type plan struct {
	Kind      string
	Condition map[string]any
}

// accepts reports whether resources of the namespace may be seen.
func (p *plan) accepts(namespace string) bool {
	return p.Kind == "KIND_ALWAYS_ALLOWED" || p.Kind == "KIND_CONDITIONAL" && planned(p.Condition, namespace) == true
}

// planned is the value of a condition of Cerbos' PlanResources API, whose only variable is the
// namespace.
func planned(condition map[string]any, namespace string) any {
	expression, ok := condition["expression"].(map[string]any)
	if !ok {
		if value, ok := condition["value"]; ok {
			return value
		}
		return namespace
	}
	operands, _ := expression["operands"].([]any)
	values := mapped(operands, func(o any) any { inner, _ := o.(map[string]any); return planned(inner, namespace) })
	switch expression["operator"] {
	case "and":
		return !slices.Contains(values, any(false))
	case "or":
		return slices.Contains(values, any(true))
	case "not":
		return values[0] == false
	case "eq":
		return values[0] == values[1]
	case "in":
		list, _ := values[1].([]any)
		return slices.Contains(list, values[0])
	}
	return nil
}
