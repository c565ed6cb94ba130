// Package ucast evaluates conditions in UCAST on rows, for tests of filters.
package ucast

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Node is a node of UCAST.
type Node struct {
	Type, Operator, Field string
	Value                 json.RawMessage
}

// Unknown is the third truth value of evaluators that know NULL.
const Unknown = 2

// Evaluate returns 0, 1 or Unknown. isSQL states that comparing a missing field is unknown;
// otherwise a missing field is unequal to every value.
func Evaluate(t testing.TB, n Node, row map[string]any, isSQL bool) int {
	t.Helper()
	if n.Type == "compound" {
		var nodes []Node
		if err := json.Unmarshal(n.Value, &nodes); err != nil || len(nodes) == 0 {
			t.Fatalf("%s of %s", n.Operator, n.Value)
		}
		var values []int
		for _, kid := range nodes {
			values = append(values, Evaluate(t, kid, row, isSQL))
		}
		decides := map[string]int{"and": 0, "or": 1}[n.Operator]
		switch {
		case n.Operator == "not" && values[0] == Unknown:
			return Unknown
		case n.Operator == "not":
			return 1 - values[0]
		case slices.Contains(values, decides):
			return decides
		case slices.Contains(values, Unknown):
			return Unknown
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
		return Unknown
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
