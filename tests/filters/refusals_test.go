package filters

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/filters"
)

// A refusal names what is in the way, what it reads, the pattern and its line.
func TestRefusals(t *testing.T) {
	names := func(key string, values ...string) map[string]any {
		return map[string]any{"names": map[string]any{key: values}}
	}
	var many []string
	for i := range 33_000 {
		many = append(many, fmt.Sprintf("n%d", i))
	}
	for _, row := range []struct {
		filters map[string]any
		target  string
		want    []string
		message string
	}{
		{names("allowed", "a*"), "ucast+linq", []string{"operator name a* d0.json:1"}, `pattern "a*" (d0.json:1) cannot be said in ucast+linq: the variant lacks the operator`},
		{map[string]any{"names": map[string]any{"allowed": []string{"b"}, "denied": []string{"*b*"}}}, "ucast+minimal", []string{"operator name *b* d0.json:1"}, `pattern "*b*" (d0.json:1) cannot be said in ucast+minimal: the variant lacks the operator`},
		{names("allowed", "a\x00*"), "sql+postgresql", []string{"nul name a\x00* d0.json:1"}, `pattern "a\x00*" (d0.json:1) cannot be said in sql+postgresql: it has the character U+0000`},
		{names("allowed", "a\x00"), "sql+mysql", []string{"nul name a\x00 "}, `pattern "a\x00" cannot be said in sql+mysql: it has the character U+0000`},
		{map[string]any{"labels": map[string]string{"k\x00": "v\x00"}}, "sql+sqlite", []string{"nul labels.k\x00 k\x00 ", "nul labels.k\x00 v\x00 "}, `pattern "k\x00" cannot be said in sql+sqlite: it has the character U+0000, and 1 more`},
		{names("allowed", many...), "sql+sqlite", []string{"too-large   "}, "the filter cannot be said in sql+sqlite: it is too large for the database"},
	} {
		p := activate(t, []map[string]any{policyOf([]any{map[string]any{"type": "pods", "filters": row.filters}})})
		q, err := filters.OfVisibility(&decision.VisibilityRequest{User: "u", Cluster: decision.Cluster{Name: "c"}, Type: "pods"}, filters.Options{
			Target: row.target, Columns: map[string]any{"name": []any{"t", "n"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Answer(t.Context(), p)
		var refused *filter.UntranslatableError
		if !errors.As(err, &refused) {
			t.Errorf("got %v, want %s", err, row.message)
			continue
		}
		var got []string
		for _, c := range refused.Constructs {
			got = append(got, strings.Join([]string{c.Construct, c.Attribute, c.Value, c.Source}, " "))
		}
		if !slices.Equal(got, row.want) || err.Error() != row.message {
			t.Errorf("%s: got the constructs %q, want %q\n%s\n%s", row.target, got, row.want, err, row.message)
		}
	}
}
