package access

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// requirements are those of a selector that can be read, where servers apply it.
func requirements(r oracle.Request, selector string) oracle.Selector {
	verb := strings.ToLower(r.Verb)
	if r.Path != "" || r.Subresource != "" || verb != "list" && verb != "watch" && verb != "deletecollection" {
		return nil
	}
	var out oracle.Selector
	list, _ := r.Attributes[selector].([]any)
	for _, element := range list {
		if q, ok := requirement(element, selector == "labelSelector"); ok {
			out = append(out, q)
		}
	}
	return out
}

func requirement(element any, ofLabels bool) (q oracle.Requirement, ok bool) {
	object, _ := element.(map[string]any)
	q.Key, _ = object["key"].(string)
	q.Operator, _ = object["operator"].(string)
	list, isList := object["values"].([]any)
	if object["values"] != nil && !isList {
		return q, false
	}
	for _, value := range list {
		text, isText := value.(string)
		if !isText {
			return q, false
		}
		q.Values = append(q.Values, text)
	}
	switch q.Operator {
	case "In", "NotIn":
		return q, q.Key != "" && len(q.Values) > 0
	case "Exists", "DoesNotExist":
		return q, q.Key != "" && ofLabels && len(q.Values) == 0
	}
	return q, false
}

// hasFields looks at the field selector, and at the name and namespace of the request.
func hasFields(entries []string, r oracle.Request) oracle.Truth {
	known := requirements(r, "fieldSelector")
	if r.Name != "" {
		known = append(known, oracle.Requirement{Key: "metadata.name", Operator: "In", Values: []string{r.Name}})
	}
	if r.Namespace != "" {
		known = append(known, oracle.Requirement{Key: "metadata.namespace", Operator: "In", Values: []string{r.Namespace}})
	}
	return ofSelected(known, entries, false)
}

// ofSelected tries every object that requirements and entries tell apart: yes if all that
// are selected have the entries, no if none has.
func ofSelected(selector oracle.Selector, entries []string, mayBeAbsent bool) oracle.Truth {
	if len(selector) == 0 {
		return oracle.Undecidable
	}
	values := make(map[string][]string)
	for _, q := range selector {
		values[q.Key] = append(values[q.Key], q.Values...)
	}
	for _, entry := range entries {
		key, value, _ := strings.Cut(entry, "=")
		values[key] = append(values[key], value)
	}
	objects := []map[string]string{{}}
	for key, named := range values {
		var more []map[string]string
		for _, value := range append(slices.Compact(slices.Sorted(slices.Values(named))), "a value that nothing names") {
			for _, o := range objects {
				with := map[string]string{key: value}
				maps.Copy(with, o)
				more = append(more, with)
			}
		}
		if mayBeAbsent {
			more = append(more, objects...)
		}
		objects = more
	}
	all, some, any := true, false, false
	for _, o := range objects {
		if !selector.Fits(o) {
			continue
		}
		has := hasLabels(entries, oracle.Request{Labels: o}) == oracle.Yes
		any, all, some = true, all && has, some || has
	}
	if !any || all != some {
		return oracle.Undecidable
	}
	return oracle.Of(all)
}
