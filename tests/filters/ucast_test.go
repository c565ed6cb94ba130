package filters

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// node is a node of UCAST.
type node struct {
	Type, Operator, Field string
	Value                 json.RawMessage
}

// unknown is the third truth value of evaluators that know NULL.
const unknown = 2

// evaluate returns 0, 1 or unknown. isSQL states that comparing a missing field is unknown;
// otherwise a missing field is unequal to every value.
func evaluate(t *testing.T, n node, row map[string]any, isSQL bool) int {
	t.Helper()
	if n.Type == "compound" {
		var nodes []node
		if err := json.Unmarshal(n.Value, &nodes); err != nil || len(nodes) == 0 {
			t.Fatalf("%s of %s", n.Operator, n.Value)
		}
		var values []int
		for _, kid := range nodes {
			values = append(values, evaluate(t, kid, row, isSQL))
		}
		decides := map[string]int{"and": 0, "or": 1}[n.Operator]
		switch {
		case n.Operator == "not" && values[0] == unknown:
			return unknown
		case n.Operator == "not":
			return 1 - values[0]
		case slices.Contains(values, decides):
			return decides
		case slices.Contains(values, unknown):
			return unknown
		}
		return 1 - decides
	}
	var want any
	if err := json.Unmarshal(n.Value, &want); err != nil {
		t.Fatal(err)
	}
	got, found := row[n.Field]
	truth := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	switch {
	case want == nil:
		return truth(!found == (n.Operator == "eq"))
	case !found && isSQL:
		return unknown
	}
	text, _ := got.(string)
	prefix, _ := want.(string)
	switch n.Operator {
	case "eq":
		return truth(got == want)
	case "ne":
		return truth(got != want)
	case "in":
		return truth(slices.Contains(want.([]any), got))
	case "startswith":
		return truth(found && strings.HasPrefix(text, prefix))
	case "endswith":
		return truth(found && strings.HasSuffix(text, prefix))
	case "contains":
		return truth(found && strings.Contains(text, prefix))
	}
	t.Fatalf("operator %s", n.Operator)
	return 0
}

// fieldsOf returns the fields of a row as UCAST names them.
func fieldsOf(t *testing.T, row map[string]any) map[string]any {
	t.Helper()
	var plain map[string]any // with the numbers of JSON
	if err := json.Unmarshal(encode(row), &plain); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, key := range []string{"name", "namespace"} {
		if v, ok := plain[key]; ok {
			out[key] = v
		}
	}
	for key, name := range map[string]string{"labels": "labels", "namespaceLabels": "nsl"} {
		labels, ok := plain[key].(map[string]any)
		if !ok {
			continue
		}
		out[name] = labels
		for k, v := range labels {
			out[name+"."+k] = v
		}
	}
	if labels, ok := plain["labels"].(map[string]any); ok {
		for at, key := range labelKeys {
			if v, ok := labels[key]; ok {
				out[fmt.Sprintf("l%d", at)] = v
			}
		}
	}
	fields, _ := plain["fields"].(map[string]any)
	for k, v := range fields {
		out["fields."+k] = v
		name := map[string]string{"available_in_namespaces": "available", "display_name": "display"}[k]
		if name == "" {
			name = k
		}
		out[name] = v
	}
	return out
}
