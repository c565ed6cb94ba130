package generated

import (
	"context"
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	library "github.com/writ-policy/writ/rego"
)

// The tests that fail are those that fail in OPA's runner: none of the bundle as it is, and some
// of every kind, with and without cases, if tables are missing.
func TestFailingIsWhatFailsInTheRunner(t *testing.T) {
	t.Parallel()
	b := newBundle(t, "../../examples/policies")
	for _, row := range []struct {
		name   string
		data   any
		isFail bool
	}{
		{"as it is", b.data, false},
		{"without its tables", map[string]any{"features": b.data["features"]}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := slices.Sorted(slices.Values(b.failed(t, row.data, isTested)))
			if want := b.failedByRunner(t, row.data); !slices.Equal(got, want) || len(got) > 0 != row.isFail {
				t.Errorf("got %q\nwant %q, any: %v", got, want, row.isFail)
			}
		})
	}
}

func (b *tested) failedByRunner(t *testing.T, data any) []string {
	t.Helper()
	ctx := context.Background()
	store := inmem.NewFromObject(map[string]any{"compiled": data})
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(ctx, txn)
	var results chan *tester.Result
	library.Compile(func() {
		results, err = tester.NewRunner().SetCompiler(ast.NewCompiler()).SetStore(store).SetModules(b.modules).RunTests(ctx, txn)
	})
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for result := range results {
		if !result.Pass() {
			failed = append(failed, result.Package+"."+result.Name)
		}
	}
	slices.Sort(failed)
	return failed
}
