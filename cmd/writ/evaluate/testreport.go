package evaluate

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/junit"
	"github.com/writ-policy/writ/translator/diag"
)

// Kinds of cases.
const (
	kindDecision = "decision" // a case of a DecisionTest
	kindRego     = "rego"     // a Rego test of the bundle, generated or part of an extension
	// kindAssertion is an assertion of the directory.
	kindAssertion = "assertion"
)

// caseResult is the result of one case.
type caseResult struct {
	Kind   string `json:"kind"`
	Test   string `json:"test"`
	Name   string `json:"name"`
	Source string `json:"source"`
	Passed bool   `json:"passed"`
	// Why describes the difference. Want is set for decisions only, Request and Got also for the
	// witness of an assertion.
	Why     string          `json:"why,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Want    json.RawMessage `json:"want,omitempty"`
	Got     json.RawMessage `json:"got,omitempty"`
}

// testReport is the outcome of a run, in the order of the tests.
type testReport struct {
	Cases    []caseResult       `json:"cases"`
	Passed   int                `json:"passed"`
	Failed   int                `json:"failed"`
	Coverage []documentCoverage `json:"coverage,omitempty"`

	hits     hits
	clocked  bool // the decision of the present case changes with the time
	warnings diag.List
}

func (r *testReport) add(c caseResult) {
	r.Cases = append(r.Cases, c)
	if c.Passed {
		r.Passed++
	} else {
		r.Failed++
	}
}

func (r *testReport) write(w io.Writer, o testOptions) error {
	switch o.format {
	case "json":
		return diag.WriteIndented(w, r)
	case "junit":
		return r.writeJUnit(w)
	}
	out := &strings.Builder{}
	paint := painter(cli.Colours(w))
	for _, group := range r.groups() {
		group.write(out, paint, o.verbose)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", r.Passed, r.Failed)
	if o.coverage {
		writeCoverage(out, r.Coverage)
	}
	return cli.Print(w, out.String())
}

// testGroup holds the cases of one DecisionTest, or all Rego tests.
type testGroup struct {
	name   string
	cases  []caseResult
	failed int
}

func (r *testReport) groups() []*testGroup {
	var groups []*testGroup
	byName := make(map[string]*testGroup)
	for _, c := range r.Cases {
		name := c.Test
		if c.Kind == kindRego {
			name = "Rego tests of the bundle"
		}
		g := byName[c.Kind+name]
		if g == nil {
			g = &testGroup{name: name}
			byName[c.Kind+name] = g
			groups = append(groups, g)
		}
		g.cases = append(g.cases, c)
		if !c.Passed {
			g.failed++
		}
	}
	return groups
}

func (g *testGroup) write(out *strings.Builder, paint paint, verbose bool) {
	if g.failed == 0 {
		fmt.Fprintf(out, "%s  %s: %s\n", paint(green, "ok"), diag.Line(g.name), diag.Counted(len(g.cases), "case"))
	} else {
		fmt.Fprintf(out, "%s %s: %d of %s\n", paint(red, "FAIL"), diag.Line(g.name), g.failed, diag.Counted(len(g.cases), "case"))
	}
	for _, c := range g.cases {
		switch {
		case !c.Passed:
			c.write(out, paint)
		case verbose:
			fmt.Fprintf(out, "     %s: %s\n", c.Source, diag.Line(c.title()))
		}
	}
}

func (c caseResult) title() string {
	if c.Kind == kindRego {
		return c.Test + "." + c.Name
	}
	return c.Name
}

func (c caseResult) write(out *strings.Builder, paint paint) {
	fmt.Fprintf(out, "     %s: %s\n", paint(bold, c.Source), diag.Line(c.title()))
	for _, part := range [...]struct{ name, text string }{
		{"why", c.Why}, {"request", string(c.Request)}, {"want", string(c.Want)}, {"got", string(c.Got)},
	} {
		if part.text != "" {
			lines := strings.Split(strings.TrimSpace(part.text), "\n")
			for i, line := range lines {
				lines[i] = diag.Line(line)
			}
			fmt.Fprintf(out, "       %-8s%s\n", part.name, strings.Join(lines, "\n               "))
		}
	}
}

func writeCoverage(out *strings.Builder, list []documentCoverage) {
	rules, matched := 0, 0
	fmt.Fprintln(out, "\ncoverage by DecisionTests: matched rules / rules of the document")
	for _, d := range list {
		name := d.Name
		if d.Namespace != "" {
			name = d.Namespace + "/" + name
		}
		fmt.Fprintf(out, "%5d/%-5d %s %s (%s)\n", d.Matched, d.Rules, d.Kind, diag.Line(name), d.Source)
		for _, rule := range d.Unmatched {
			fmt.Fprintf(out, "            rule %d is never matched (%s)\n", rule.Rule, rule.Source)
		}
		rules, matched = rules+d.Rules, matched+d.Matched
	}
	fmt.Fprintf(out, "%5d/%-5d total\n", matched, rules)
}

// writeJUnit writes the report in the format of build servers: a suite for each document.
func (r *testReport) writeJUnit(w io.Writer) error {
	var all junit.Report
	for _, g := range r.groups() {
		for _, c := range g.cases {
			row := junit.Case{Class: c.Test, Name: c.Name, File: c.Source}
			if !c.Passed {
				text := &strings.Builder{}
				c.write(text, painter(false))
				row.Failure = &junit.Failure{Message: c.Why, Text: text.String()}
			}
			all.Add(g.name, row)
		}
	}
	text, err := all.Encode()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// paint wraps text in a colour, or returns it unchanged.
type paint func(colour, text string) string

const (
	red   = "31"
	green = "32"
	bold  = "1"
)

func painter(on bool) paint {
	return func(colour, text string) string {
		if !on {
			return text
		}
		return "\x1b[" + colour + "m" + text + "\x1b[0m"
	}
}
