package evaluate

import (
	"context"
	"regexp"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
)

// assertionPrefix begins the names of assertions among tests.
const assertionPrefix = "assertions/"

// addAssertions proves the assertions that a filter selects. Those that fail are failed tests.
func (r *testReport) addAssertions(
	ctx context.Context, flags documents.Flags, s cli.Streams, b *bundles.Bundle, t *documents.Translation, filter *regexp.Regexp,
) error {
	isIncluded := func(id string) bool { return filter.MatchString(assertionPrefix + id) }
	proven, err := flags.Verify(ctx, s, b, t, time.Now(), isIncluded)
	if err != nil || proven == nil {
		return err
	}
	for i := range proven.Assertions {
		r.add(assertionCase(&proven.Assertions[i]))
	}
	return nil
}

func assertionCase(x *verify.Result) caseResult {
	c := caseResult{Kind: kindAssertion, Test: assertionPrefix + x.Document, Name: x.Name, Source: x.Source, Passed: !x.Failed}
	if c.Passed {
		return c
	}
	c.Why = x.Verdict + ": " + x.Text
	for _, d := range x.Documents {
		c.Why += "\n" + d.Title() + " (" + d.Source + ")"
	}
	if x.Witness != nil && len(x.Witness.Requests) > 0 {
		first := x.Witness.Requests[0]
		c.Request, c.Got = statement.Encode(first.Request), compact(first.Decision)
	}
	return c
}
