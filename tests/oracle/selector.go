package oracle

import (
	"slices"

	"github.com/writ-policy/writ/tests/oracle/yaml"
)

// Selector is a list of requirements, all of which must hold.
type Selector []Requirement

// Requirement is one condition on a label: In, NotIn, Exists, DoesNotExist.
type Requirement struct {
	Key      string
	Operator string
	Values   []string
}

// Fits reports whether labels meet all requirements.
func (s Selector) Fits(labels map[string]string) bool {
	for _, q := range s {
		value, there := labels[q.Key]
		switch q.Operator {
		case "In":
			if !there || !slices.Contains(q.Values, value) {
				return false
			}
		case "NotIn":
			if there && slices.Contains(q.Values, value) {
				return false
			}
		case "Exists":
			if !there {
				return false
			}
		case "DoesNotExist":
			if there {
				return false
			}
		}
	}
	return true
}

// Has reports whether the list has one of the wanted entries.
func Has(list []string, wanted ...string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return slices.Contains(wanted, entry) })
}

// Body writes requirements of one value as matchLabels where it may.
func (s Selector) Body() yaml.Object {
	var labels yaml.Object
	expressions := yaml.List{}
	for _, q := range s {
		if q.Operator == "In" && len(q.Values) == 1 && !slices.ContainsFunc(labels, func(m yaml.Member) bool { return m.Key() == q.Key }) {
			labels = append(labels, yaml.Member{q.Key, q.Values[0]})
			continue
		}
		body := yaml.Object{{"key", q.Key}, {"operator", q.Operator}}
		if q.Values != nil {
			body = append(body, yaml.Member{"values", yaml.Texts(q.Values)})
		}
		expressions = append(expressions, body)
	}
	body := yaml.Object{}
	if labels != nil {
		body = append(body, yaml.Member{"matchLabels", labels})
	}
	if len(expressions) > 0 {
		body = append(body, yaml.Member{"matchExpressions", expressions})
	}
	return body
}
