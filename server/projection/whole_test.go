package projection

import (
	"encoding/json"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// keyOf is the key of a request without a footprint.
func keyOf(r *decision.Request) string {
	return string(NewAccessKeys(nil, nil, nil, nil).AccessKey(nil, r))
}

// Any two of these requests differ, and most are made so that a key joined by
// delimiters would take some for equal.
func TestKeyIsUnique(t *testing.T) {
	requests := []decision.Request{
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
		key := keyOf(&requests[i])
		if earlier, ok := seen[key]; ok {
			t.Errorf("got one key for %+v and %+v", requests[earlier], requests[i])
		}
		seen[key] = i
	}
}

func TestCanonicalIsStable(t *testing.T) {
	decode := func(body string) *decision.Request {
		r, err := decision.Decode[decision.Request]([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a := decode(`{"user":"u","verb":"get","resource":"pods","labels":{"a":"1","b":"2","c":"3"},"attributes":{"x":1,"y":{"p":2,"q":3}},"groups":[]}`)
	b := decode(`{"attributes":{"y":{"q":3,"p":2},"x":1},"labels":{"c":"3","b":"2","a":"1"},"resource":"pods","verb":"get","user":"u","name":""}`)
	for range 20 {
		if keyOf(a) != keyOf(b) {
			t.Fatal("got two keys for one request")
		}
	}
}
