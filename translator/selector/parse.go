package selector

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// ParseLabels reads a label selector as kubectl takes it, such as "tier=gold,!old". It
// returns an error for one that is malformed, or that compares numbers: such a requirement
// decides nothing.
func ParseLabels(text string) ([]Requirement, error) {
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	var out []Requirement
	requirements, _ := parsed.Requirements()
	for _, q := range requirements {
		operator, ok := operators[q.Operator()]
		if !ok {
			return nil, fmt.Errorf("the operator %s of %q is not supported", q.Operator(), text)
		}
		out = append(out, Requirement{q.Key(), operator, q.Values().List()})
	}
	return out, nil
}

// ParseFields reads a field selector, such as "spec.nodeName=node-1,type!=Opaque".
func ParseFields(text string) ([]Requirement, error) {
	parsed, err := fields.ParseSelector(text)
	if err != nil {
		return nil, err
	}
	var out []Requirement
	for _, q := range parsed.Requirements() {
		out = append(out, Requirement{q.Field, operators[q.Operator], []string{q.Value}})
	}
	return out, nil
}

// operators are those of requirements by the words of kubectl. "gt" and "lt" have none.
var operators = map[selection.Operator]string{
	selection.In: in, selection.Equals: in, selection.DoubleEquals: in,
	selection.NotIn: notIn, selection.NotEquals: notIn,
	selection.Exists: exists, selection.DoesNotExist: doesNotExist,
}
