package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

// runTests runs the DecisionTests and the bundle's Rego tests. It returns an error if
// they cannot run; failed tests are in the report.
func runTests(
	ctx context.Context, b *bundles.Bundle, tests []*decisiontest.DecisionTest, filter *regexp.Regexp, span *progress.Span,
) (*testReport, error) {
	report, err := runDecisionTests(ctx, b, tests, filter, span)
	if err != nil {
		return nil, err
	}
	return report, runRegoTests(ctx, b, filter, func(c caseResult) { report.add(c); span.Count(1, "cases run") })
}

// DecisionTests runs the tests of a directory and of more files. It returns the cases that
// fail by a bundle, by TEST/CASE with why, and how many cases there are.
func DecisionTests(ctx context.Context, b *bundles.Bundle, d *directory.Directory, files []string) (failed map[string]string, count int, err error) {
	tests := directory.DocumentsOf[*decisiontest.DecisionTest](d)
	for _, file := range files {
		content, err := cli.ReadFile(file)
		if err != nil {
			return nil, 0, err
		}
		decoded := assertions.WithTests.Decode(file, content, syntax.Options{})
		if decoded.List.HasErrors() {
			return nil, 0, fmt.Errorf("%s: %s", file, documents.Summary(decoded.List))
		}
		for _, one := range decoded.Documents {
			if t, ok := one.(*decisiontest.DecisionTest); ok {
				tests = append(tests, t)
			}
		}
	}
	within, p := progress.Start(ctx, progress.Test)
	report, err := runDecisionTests(within, b, tests, regexp.MustCompile(""), p)
	p.End(err)
	if err != nil {
		return nil, 0, err
	}
	failed = make(map[string]string)
	for _, c := range report.Cases {
		if !c.Passed {
			failed[c.Test+"/"+c.Name] = c.Why
		}
	}
	return failed, len(report.Cases), nil
}

func runDecisionTests(
	ctx context.Context, b *bundles.Bundle, tests []*decisiontest.DecisionTest, filter *regexp.Regexp, span *progress.Span,
) (*testReport, error) {
	report := &testReport{Cases: []caseResult{}, hits: make(hits)}
	var at time.Time // zero means the current time
	e, err := documents.Activate(ctx, b, engine.Options{Now: func() time.Time {
		if at.IsZero() {
			return time.Now()
		}
		return at
	}})
	if err != nil {
		return nil, fmt.Errorf("activate: %w", err)
	}
	for _, t := range tests {
		for _, c := range t.Cases {
			if !filter.MatchString(t.Name + "/" + c.Name) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			at = time.Time{}
			now := cmp.Or(c.Now, t.Now)
			if now != nil {
				at = *now
			}
			report.clocked = false
			report.add(runCase(ctx, e, t, c, report))
			if report.clocked && now == nil {
				report.warnings = append(report.warnings, diag.Diagnostic{
					Position: c.At, Severity: diag.Warning, Code: diag.TestNeedsNow, Hint: "write now in the case or in spec",
					Message: fmt.Sprintf("the decision of case %s changes with the time, and nothing states the time", syntax.Quote(c.Name)),
				})
			}
			span.Count(1, "cases run")
		}
	}
	return report, nil
}

// runCase answers one request and compares the decision with the expected one.
func runCase(ctx context.Context, e *engine.Engine, t *decisiontest.DecisionTest, c decisiontest.DecisionCase, h *testReport) caseResult {
	result := caseResult{
		Kind: kindDecision, Test: t.Name, Name: c.Name,
		Source: c.At.Source(),
	}
	got, err := decide(ctx, e, t.Point, c.Request, h)
	if err == nil {
		result.Why, err = decisiontest.Difference(c.Expect, got)
	}
	if err != nil {
		result.Why = err.Error()
	}
	result.Passed = result.Why == ""
	if !result.Passed {
		result.Request, result.Want, result.Got = compact(c.Request), compact(c.Expect), got
	}
	return result
}

// decide returns the decision, or the error object, as an endpoint would write it.
func decide(ctx context.Context, e *engine.Engine, point string, request []byte, h *testReport) (json.RawMessage, error) {
	answer := pointAnswerer(recorded{e, h}, point, writeJSON, nil)
	if answer == nil {
		return nil, fmt.Errorf("point %q: %w", point, errPoint)
	}
	var out bytes.Buffer
	if err := answer(ctx, &out, request); err != nil {
		refuse(&out, err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func compact(data []byte) json.RawMessage {
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		return nil
	}
	return out.Bytes()
}
