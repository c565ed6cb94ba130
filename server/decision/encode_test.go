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

// Any two of these requests differ, and most are made so that a key joined by
// delimiters would take some for equal.
func TestKeyIsUnique(t *testing.T) {
	requests := []Request{
		{},
		{User: "a"}, {Verb: "a"}, {APIGroup: "a"}, {Resource: "a"}, {Subresource: "a"}, {Namespace: "a"}, {Name: "a"},
		{Path: "a"}, {Cluster: "a"}, {Tenant: "a"}, {Session: "a"}, {Escalation: "a"}, {PodError: "a"},
		{User: "ab"}, {User: "a", Verb: "b"}, {User: "a\x00", Verb: "b"}, {User: "a", Verb: "\x00b"},
		{Groups: []string{"a"}}, {Groups: []string{"a", "b"}}, {Groups: []string{"b", "a"}}, {Groups: []string{"a,b"}},
		{Groups: []string{"ab"}}, {Groups: []string{"a\x01b"}}, {Groups: []string{""}}, {Groups: []string{"", ""}},
		{Fields: []string{}}, {Fields: []string{""}}, {Fields: []string{"a"}},
		{Labels: map[string]string{}}, {NamespaceLabels: map[string]string{}},
		{Labels: map[string]string{"a": "b"}}, {NamespaceLabels: map[string]string{"a": "b"}},
		{Labels: map[string]string{"a": "", "b": ""}}, {Labels: map[string]string{"a": "b", "": ""}},
		{Extra: map[string][]string{"a": nil}}, {Extra: map[string][]string{"a": {"b"}}}, {Extra: map[string][]string{"a": {}, "b": {}}},
		{Pod: map[string]any{}}, {Pod: map[string]any{"a": nil}}, {Attributes: map[string]any{"a": nil}},
		{Attributes: map[string]any{"a": "1"}}, {Attributes: map[string]any{"a": json.Number("1")}},
		{Attributes: map[string]any{"a": json.Number("12")}}, {Attributes: map[string]any{"a": json.Number("1"), "b": json.Number("2")}},
		{Attributes: map[string]any{"a": []any{}}}, {Attributes: map[string]any{"a": map[string]any{}}},
		{Attributes: map[string]any{"a": []any{"b", "c"}}}, {Attributes: map[string]any{"a": []any{"b,c"}}},
		{Attributes: map[string]any{"a": []any{[]any{"b"}, "c"}}}, {Attributes: map[string]any{"a": []any{[]any{"b", "c"}}}},
	}
	seen := map[string]int{}
	for i := range requests {
		key := requests[i].Key("")
		if earlier, ok := seen[key]; ok {
			t.Errorf("got one key for %+v and %+v", requests[earlier], requests[i])
		}
		seen[key] = i
	}
}

func TestCanonicalIsStable(t *testing.T) {
	decode := func(body string) *Request {
		r, err := Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a := decode(`{"user":"u","verb":"get","resource":"pods","labels":{"a":"1","b":"2","c":"3"},"attributes":{"x":1,"y":{"p":2,"q":3}},"groups":[]}`)
	b := decode(`{"attributes":{"y":{"q":3,"p":2},"x":1},"labels":{"c":"3","b":"2","a":"1"},"resource":"pods","verb":"get","user":"u","name":""}`)
	for range 20 {
		if a.Key("") != b.Key("") {
			t.Fatal("got two keys for one request")
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
					{Kind: "RoleBinding", Namespace: "n", Name: "b", Rule: 2, Source: "a.yaml:3", Effect: "allow", APIVersion: "writ.dev/v1", Role: &RoleRef{Kind: "Role", Namespace: "m", Name: "r"}},
					{Kind: "DenyPolicy", Rule: -1},
				},
			},
			`{"allowed":true,"denied":false,"reason":"by \"x\" <y>","warnings":["w"],"matched":[` +
				`{"kind":"RoleBinding","namespace":"n","name":"b","rule":2,"source":"a.yaml:3","effect":"allow","apiVersion":"writ.dev/v1","role":{"kind":"Role","namespace":"m","name":"r"}},` +
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
