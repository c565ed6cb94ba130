package decision

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-policy/writ/internal/jsontext"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Request
	}{
		{
			"the least", `{"user":"u","verb":"get","resource":"pods"}`,
			Request{User: "u", Verb: "get", Resource: "pods"},
		},
		{
			"everything", `{"user":"alice","groups":["dev","dev"],"extra":{"k":["a","b"],"none":[]},"verb":"get","apiGroup":"apps",
			"resource":"pods","subresource":"log","namespace":"hammer","name":"web-0","cluster":"prod","tenant":"bank",
			"session":"s","escalation":"e","fields":["spec.x"],"labels":{"a":"b"},"namespaceLabels":{"c":"d"},
			"pod":{"spec":{"containers":[{"name":"c","cpu":1.50}]}},"podError":"gone","attributes":{"n":1e3,"t":true,"z":null}}`,
			Request{
				User: "alice", Groups: []string{"dev", "dev"}, Extra: map[string][]string{"k": {"a", "b"}, "none": {}},
				Verb: "get", APIGroup: "apps", Resource: "pods", Subresource: "log", Namespace: "hammer", Name: "web-0",
				Cluster: "prod", Tenant: "bank", Session: "s", Escalation: "e", Fields: []string{"spec.x"},
				Labels: map[string]string{"a": "b"}, NamespaceLabels: map[string]string{"c": "d"},
				Pod: map[string]any{"spec": map[string]any{"containers": []any{
					map[string]any{"name": "c", "cpu": json.Number("1.50")},
				}}},
				PodError:   "gone",
				Attributes: map[string]any{"n": json.Number("1e3"), "t": true, "z": nil},
			},
		},
		{
			"a group alone", `{"user":"","groups":["dev"],"verb":"get","path":"/healthz"}`,
			Request{Groups: []string{"dev"}, Verb: "get", Path: "/healthz"},
		},
		{
			"null is absent", `{"user":"u","groups":null,"extra":null,"verb":"get","apiGroup":null,"resource":"pods","path":null,
			"fields":null,"labels":null,"namespaceLabels":null,"pod":null,"podError":null,"attributes":null}`,
			Request{User: "u", Verb: "get", Resource: "pods"},
		},
		{
			"empty is known", `{"user":"u","groups":[],"extra":{},"verb":"get","resource":"pods",
			"fields":[],"labels":{},"namespaceLabels":{},"pod":{},"attributes":{}}`,
			Request{
				User: "u", Verb: "get", Resource: "pods", Fields: []string{}, Labels: map[string]string{},
				NamespaceLabels: map[string]string{}, Pod: map[string]any{},
			},
		},
		{
			"escapes in keys and values", ` {"us\u0065r":"\ud83d\ude00\/\"\\\b\f\n\r\t\u0000","verb":"gét","resource":"pods"}` + "\n",
			Request{User: "😀/\"\\\b\f\n\r\t\x00", Verb: "gét", Resource: "pods"},
		},
		{
			"the replacement character is a name", `{"user":"\ufffd�","verb":"get","resource":"pods"}`,
			Request{User: "��", Verb: "get", Resource: "pods"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode[Request]([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got %#v, want %#v", *got, tt.want)
			}
			again, err := Decode[Request](got.Encode())
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("encoded and decoded: got %#v, %v, want %#v", again, err, got)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	with := func(member string) string { return `{"user":"u","verb":"get","resource":"pods",` + member + `}` }
	for _, tt := range []struct{ name, body, field, message string }{
		{"nothing", "", "", "empty"},
		{"only space", " \n", "", "empty"},
		{"a list", `[]`, "", "not a JSON object"},
		{"null", `null`, "", "not a JSON object"},
		{"not JSON", `{"user":`, "", "ends too early"},
		{"a second value", `{"user":"u","verb":"get","resource":"pods"} {}`, "", "goes on"},
		{"no user", `{"groups":["g"],"verb":"get","resource":"pods"}`, "user", "missing"},
		{"user null", `{"user":null,"groups":["g"],"verb":"get","resource":"pods"}`, "user", "string"},
		{"no user", `{"user":"","verb":"get","resource":"pods"}`, "user", "groups"},
		{"no user in no groups", `{"user":"","groups":[],"verb":"get","resource":"pods"}`, "user", "groups"},
		{"no verb", `{"user":"u","resource":"pods"}`, "verb", "not empty"},
		{"an empty verb", `{"user":"u","verb":"","resource":"pods"}`, "verb", "not empty"},
		{"verb null", `{"user":"u","verb":null,"resource":"pods"}`, "verb", "not empty"},
		{"verb a list", `{"user":"u","verb":["get"],"resource":"pods"}`, "verb", "string"},
		{"neither resource nor path", `{"user":"u","verb":"get"}`, "resource", `"path"`},
		{"path and resource", with(`"path":"/x"`), "resource", `beside "path"`},
		{"path and group", `{"user":"u","verb":"get","path":"/x","apiGroup":"a"}`, "apiGroup", "path"},
		{"path and subresource", `{"user":"u","verb":"get","path":"/x","subresource":"a"}`, "subresource", "path"},
		{"path and namespace", `{"user":"u","verb":"get","path":"/x","namespace":"a"}`, "namespace", "path"},
		{"path and name", `{"user":"u","verb":"get","path":"/x","name":"a"}`, "name", "path"},
		{"another case", with(`"Groups":["a"]`), "Groups", `unknown key "Groups"`},
		{"an unknown key", with(`"clutser":"prod"`), "clutser", `unknown key "clutser"`},
		{"a derived key", with(`"derived":{"subjects":[]}`), "derived", "unknown key"},
		{"a key twice", with(`"user":"root"`), "user", "twice"},
		{"a key twice, once escaped", with(`"\u0075ser":"root"`), "user", "twice"},
		{"a key twice far inside", with(`"attributes":{"a":[{"b":1,"c":2,"b":3}]}`), "b", "twice"},
		{"groups a string", with(`"groups":"dev"`), "groups", "list of strings"},
		{"a group that is a number", with(`"groups":["a",1]`), "groups", "element 1"},
		{"a group that is null", with(`"groups":[null]`), "groups", "element 0"},
		{"fields an object", with(`"fields":{}`), "fields", "list of strings"},
		{"labels a list", with(`"labels":[]`), "labels", "object of strings"},
		{"a label that is a number", with(`"labels":{"a":1}`), "labels", `"a"`},
		{"a label that is null", with(`"namespaceLabels":{"a":null}`), "namespaceLabels", `"a"`},
		{"extra of strings", with(`"extra":{"k":"v"}`), "extra", `"k"`},
		{"extra null inside", with(`"extra":{"k":null}`), "extra", `"k"`},
		{"pod a list", with(`"pod":[]`), "pod", "object"},
		{"attributes a string", with(`"attributes":"a"`), "attributes", "object"},
		{"attributes an empty list", with(`"attributes":[]`), "attributes", "object"},
		{"a number for a name", with(`"name":7`), "name", "string"},
		{"a byte that is not UTF-8", with(`"name":"` + "\xff" + `"`), "", "UTF-8"},
		{"a rune cut short", with(`"name":"` + "\xe2\x82" + `"`), "", "UTF-8"},
		{"an encoded surrogate", with(`"name":"` + "\xed\xa0\x80" + `"`), "", "UTF-8"},
		{"a byte outside of strings", with("\xff"), "", "UTF-8"},
		{"a lone high surrogate", with(`"name":"\ud800"`), "", "surrogate"},
		{"a lone low surrogate", with(`"name":"\udc00x"`), "", "surrogate"},
		{"surrogates the wrong way round", with(`"name":"\udc00\ud800"`), "", "surrogate"},
		{"a surrogate and a letter", with(`"name":"\ud800\u0041"`), "", "surrogate"},
		{"a lone surrogate in a key", with(`"attributes":{"\ud800":1}`), "", "surrogate"},
		{"a bare control character", with("\"name\":\"a\nb\""), "", "control"},
		{"too deep", with(`"attributes":{"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`), "", "deeper"},
		{"a number too large to calculate with", with(`"attributes":{"a":1e999999999}`), "", "exponent"},
		{"a number too long", with(`"attributes":{"a":` + strings.Repeat("9", 200) + `}`), "", "characters"},
		{"a byte order mark", "\ufeff" + `{}`, "", "not JSON"},
		{"a leading zero", with(`"attributes":{"a":01}`), "", "not JSON"},
		{"a comma too many", `{"user":"u",}`, "", "not JSON"},
		{"brackets crossed", with(`"attributes":{"a":[}]`), "", "not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode[Request]([]byte(tt.body))
			if err == nil {
				t.Fatalf("got %+v, want a refusal", got)
			}
			refusal, ok := err.(*InvalidRequest)
			if !ok {
				t.Fatalf("got a %T, want an *InvalidRequest", err)
			}
			if refusal.Code != CodeInvalidRequest || refusal.Field != tt.field || !strings.Contains(refusal.Message, tt.message) {
				t.Errorf("got %+v, want field %q and %q in the message", *refusal, tt.field, tt.message)
			}
			var body struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal(refusal.Body(), &body); err != nil || body.Error.Code != refusal.Code || body.Error.Message != refusal.Error() {
				t.Errorf("got the body %s, %v", refusal.Body(), err)
			}
			if len(refusal.Message) > 200 {
				t.Errorf("got a message of %d bytes", len(refusal.Message))
			}
		})
	}
}

// A body of nothing but keys must not cost the square of its size.
func TestCheckJSONManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"a":0`)
	for i := range 100_000 {
		b.WriteString(`,"`)
		b.WriteString(strings.Repeat("k", i%7))
		b.WriteString(strings.ToUpper(string(rune('a' + i%26))))
		b.WriteString(json.Number(itoa(i)).String())
		b.WriteString(`":0`)
	}
	if err := checkJSON([]byte(b.String() + "}")); err != nil {
		t.Error(err)
	}
	if err := checkJSON([]byte(b.String() + `,"a":1}`)); err == nil {
		t.Error("a key written twice among many was accepted")
	}
}

// checkJSON makes the checks of Parse.
func checkJSON(data []byte) error {
	if err := jsontext.Check(data, jsontext.Limits{}); err != nil {
		return invalidJSON(err, len(data))
	}
	return nil
}

func itoa(i int) string { b, _ := json.Marshal(i); return string(b) }

func TestCheckJSONAllocatesNothing(t *testing.T) {
	body := (&Request{User: "u", Verb: "get", Resource: "pods", Attributes: map[string]any{"a": "ü"}}).Encode()
	if got := testing.AllocsPerRun(100, func() {
		if err := jsontext.Check(body, jsontext.Limits{}); err != nil {
			t.Fatal(err)
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
