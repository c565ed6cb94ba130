package filters

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
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

// A variant that lacks an operator is refused with the pattern that needs it, and its line.
func TestVariantsWithoutOperators(t *testing.T) {
	entry := map[string]any{"type": "pods", "filters": map[string]any{"names": map[string]any{"allowed": []string{"a*"}, "denied": []string{"*b*"}}}}
	p := activate(t, []map[string]any{policyOf([]any{entry})})
	for _, target := range []string{"ucast+linq", "ucast+minimal"} {
		q, err := filters.OfVisibility(&decision.VisibilityRequest{User: "u", Cluster: decision.Cluster{Name: "c"}, Type: "pods"}, filters.Options{
			Target: target, Columns: map[string]any{"name": []any{"t", "n"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Answer(t.Context(), p)
		var refused *filter.UntranslatableError
		if !errors.As(err, &refused) {
			t.Fatalf("%s: got %v, want a refusal", target, err)
		}
		var got []string
		for _, c := range refused.Constructs {
			got = append(got, strings.Join([]string{c.Construct, c.Attribute, c.Value, c.Source}, " "))
		}
		if want := []string{"operator name *b* d0.json:1", "operator name a* d0.json:1"}; !slices.Equal(got, want) {
			t.Errorf("%s: got the constructs %q, want %q", target, got, want)
		}
	}
}
