package decisionlog

import (
	"encoding/json"
	"reflect"
	"testing"
)

// The binding is named first: with a role of the API server it is the only place in a
// repository.
func TestSourcesNameTheBindingFirst(t *testing.T) {
	for text, want := range map[string][]any{
		`{"matched":[{"source":"bootstrap:kubernetes/1.36","binding":{"source":"teams.yaml:1"}}]}`: {"teams.yaml:1", "bootstrap:kubernetes/1.36"},
		`{"matched":[{"source":"deny.yaml:3"}]}`:                                                   {"deny.yaml:3"},
		`{"matched":[],"decidedBy":[{"rule":"rules.authentication.key","source":"edge.yaml:7"}]}`:  {"edge.yaml:7"},
		`{"matched":[]}`: {},
	} {
		var result any
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			t.Fatal(err)
		}
		if got := sourcesOf(result); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
