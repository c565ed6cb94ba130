package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/writ-policy/writ/bundles"
)

// regoTestTimeout ends a Rego test that does not end by itself. OPA's default of five
// seconds is too short for large tables on a busy machine.
const regoTestTimeout = 2 * time.Minute

// runRegoTests runs the bundle's Rego tests as `opa test --bundle` does, on the packed
// bundle and without the engine. It returns an error if they do not compile; failed
// tests are passed to add.
func runRegoTests(ctx context.Context, b *bundles.Bundle, filter *regexp.Regexp, add func(caseResult)) error {
	var packed bytes.Buffer
	if err := b.WriteTar(&packed); err != nil {
		return fmt.Errorf("pack the bundle: %w", err)
	}
	unpacked, err := bundle.NewReader(&packed).Read()
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	store := inmem.NewWithOpts(inmem.OptRoundTripOnWrite(false))
	txn, err := store.NewTransaction(ctx, storage.WriteParams)
	if err != nil {
		return err
	}
	defer store.Abort(ctx, txn)
	results, err := tester.NewRunner().SetStore(store).SetTimeout(regoTestTimeout).
		SetBundles(map[string]*bundle.Bundle{"bundle": &unpacked}).RunTests(ctx, txn)
	if err != nil {
		return fmt.Errorf("compile the tests: %w", err)
	}
	var cases []caseResult
	for result := range results {
		if result != nil {
			cases = append(cases, regoCases(result)...)
		}
	}
	slices.SortFunc(cases, func(x, y caseResult) int {
		return cmp.Or(cmp.Compare(x.Test, y.Test), cmp.Compare(x.Source, y.Source), cmp.Compare(x.Name, y.Name))
	})
	for _, c := range cases {
		if filter.MatchString(c.Test + "/" + c.Name) {
			add(c)
		}
	}
	return ctx.Err()
}

// regoCases returns the cases of a test rule: one for each row, if it has rows.
func regoCases(r *tester.Result) []caseResult {
	c := caseResult{Kind: kindRego, Test: strings.TrimPrefix(r.Package, "data."), Name: r.Name}
	if r.Location != nil {
		c.Source = fmt.Sprintf("%s:%d", strings.TrimPrefix(r.Location.File, "bundle/"), r.Location.Row)
	}
	var cases []caseResult
	for names, sub := range r.SubResults.Iter {
		if len(sub.SubResults) > 0 {
			continue
		}
		row := c
		row.Name += "/" + strings.Join(names, "/")
		row.Passed = !sub.Fail
		if sub.Fail {
			row.Why = "the rule is not true for this row"
		}
		cases = append(cases, row)
	}
	if len(cases) > 0 && r.Error == nil {
		return cases
	}
	c.Passed = r.Pass() || r.Skip
	switch {
	case r.Error != nil:
		c.Passed, c.Why = false, r.Error.Error()
	case !c.Passed:
		c.Why = "the rule is not true"
	}
	return append(cases, c)
}
