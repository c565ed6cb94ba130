package projection

import (
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// appendLabelSelector appends what the label selector of a request says about what rules
// compare. Selectors that say the same share a key.
func (v *labels) appendLabelSelector(b []byte, r *decision.Request) []byte {
	if !counts(r, selector.LabelKey) {
		return append(b, absent)
	}
	if len(v.names) > maxLabels {
		return appendJSON(b, r.Attributes[selector.LabelKey])
	}
	requirements := selector.Labels(r.Attributes)
	return v.appendSelection(b, requirements, selector.OfLabels(requirements))
}

// appendFieldSelector appends the same of the field selector and of what the request itself
// says of fields, and of the latter alone: which of them decides is shown.
func (v *labels) appendFieldSelector(b []byte, r *decision.Request) []byte {
	if len(v.names) > maxLabels {
		return appendJSON(appendText(appendText(b, r.Name), r.Namespace), r.Attributes[selector.FieldKey])
	}
	requirements := fieldRequirements(r)
	b = v.appendSelection(b, requirements, selector.OfFields(requirements, r.Name, r.Namespace))
	return v.appendVerdicts(b, selector.OfFields(nil, r.Name, r.Namespace))
}

// appendNodeSelector appends what the field selector says about the requester's own node.
func appendNodeSelector(b []byte, r *decision.Request) []byte {
	requirements := fieldRequirements(r)
	if len(requirements) == 0 {
		return append(b, absent)
	}
	own, isNode := strings.CutPrefix(r.User, nodePrefix)
	if !isNode || own == "" {
		own, _ = r.Attributes["minion"].(string)
	}
	selected := selector.OfFields(requirements, r.Name, r.Namespace)
	return append(b, unnamed, verdict(selected, "spec.nodeName", &own))
}

func fieldRequirements(r *decision.Request) []selector.Requirement {
	if !counts(r, selector.FieldKey) {
		return nil
	}
	return selector.Fields(r.Attributes)
}

func counts(r *decision.Request, key string) bool {
	return r.Attributes[key] != nil && selector.Counts(r.Verb, r.Resource, r.Subresource)
}

func (v *labels) appendSelection(b []byte, requirements []selector.Requirement, s selector.Selection) []byte {
	if len(requirements) == 0 {
		b = append(b, absent)
	} else {
		b = append(b, unnamed)
	}
	if s.IsEmpty() {
		return append(b, absent)
	}
	return v.appendVerdicts(append(b, unnamed), s)
}

func (v *labels) appendVerdicts(b []byte, s selector.Selection) []byte {
	for i, key := range v.names {
		b = append(b, verdict(s, key, nil))
		for _, value := range v.sorted[i] {
			b = append(b, verdict(s, key, &value))
		}
	}
	return b
}

func verdict(s selector.Selection, key string, value *string) byte {
	return byte(s.Has([]tables.Entry{{Key: key, Value: value}}))
}
