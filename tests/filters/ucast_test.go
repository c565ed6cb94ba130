package filters

import (
	"encoding/json"
	"fmt"
	"testing"
)

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
