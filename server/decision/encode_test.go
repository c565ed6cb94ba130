package decision

import (
	"encoding/json"
	"testing"
)

func TestEncode(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    Request
		want string
	}{
		{
			"the least", Request{User: "u", Verb: "get", Path: "/"},
			`{"user":"u","groups":[],"extra":{},"verb":"get","apiGroup":"","resource":"","subresource":"","namespace":"","name":"","path":"/","cluster":"","tenant":"","session":"","escalation":"","podError":"","attributes":{}}`,
		},
		{
			"known to be empty", Request{User: "<é\x01\n", Groups: []string{"a", "b"}, Fields: []string{}, Labels: map[string]string{}, Pod: map[string]any{}},
			`{"user":"<é\u0001\n","groups":["a","b"],"extra":{},"verb":"","apiGroup":"","resource":"","subresource":"","namespace":"","name":"","path":"","cluster":"","tenant":"","session":"","escalation":"","fields":[],"labels":{},"pod":{},"podError":"","attributes":{}}`,
		},
		{
			"keys in order", Request{
				Extra: map[string][]string{"b": nil, "a": {"x"}}, NamespaceLabels: map[string]string{"z": "1", "y": "2"},
				Attributes: map[string]any{"s": []string{"q"}, "n": json.Number("1.0"), "l": []any{nil, true, map[string]any{"k": 7}}},
			},
			`{"user":"","groups":[],"extra":{"a":["x"],"b":[]},"verb":"","apiGroup":"","resource":"","subresource":"","namespace":"","name":"","path":"","cluster":"","tenant":"","session":"","escalation":"","namespaceLabels":{"y":"2","z":"1"},"podError":"","attributes":{"l":[null,true,{"k":7}],"n":1.0,"s":["q"]}}`,
		},
	} {
		if got := string(tt.r.Encode()); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestDecisionAppendJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    Decision
		want string
	}{
		{"the zero value", Decision{}, `{"allowed":false,"denied":false,"reason":"","warnings":[],"matched":[]}`},
		{
			"everything", Decision{
				Allowed: true, Reason: `by "x" <y>`, Warnings: []string{"w"}, EvaluationError: "hidden", Revision: "hidden",
				Matched: []Matched{
					{Kind: "RoleBinding", Namespace: "n", Name: "b", Rule: 2, Source: "a.yaml:3", Effect: "allow", APIVersion: "writ.dev/v1", Role: &RoleRef{Kind: "Role", Namespace: "m", Name: "r"}, Binding: BindingRef{Source: "b.yaml:1"}},
					{Kind: "DenyPolicy", Rule: -1},
				},
			},
			`{"allowed":true,"denied":false,"reason":"by \"x\" <y>","warnings":["w"],"matched":[` +
				`{"kind":"RoleBinding","namespace":"n","name":"b","rule":2,"source":"a.yaml:3","effect":"allow","apiVersion":"writ.dev/v1","role":{"kind":"Role","namespace":"m","name":"r"},"binding":{"source":"b.yaml:1"}},` +
				`{"kind":"DenyPolicy","namespace":"","name":"","rule":-1,"source":"","effect":"","apiVersion":""}]}`,
		},
	} {
		if got := string(tt.d.AppendJSON(nil)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		var again Decision
		if err := json.Unmarshal(tt.d.AppendJSON(nil), &again); err != nil || again.Reason != tt.d.Reason {
			t.Errorf("%s: read back %+v, %v", tt.name, again, err)
		}
	}
}
