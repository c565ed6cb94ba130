package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/junit"
	"github.com/writ-policy/writ/translator/diag"
)

// labels are the words of verdicts in a text.
var labels = map[string]string{Holds: "ok", Fails: "FAIL", Excepted: "excepted", Unknown: "unknown", Vacuous: "vacuous"}

// inOrder returns the results that a reader should see, those that fail the run first.
func (r *Report) inOrder() []*Result {
	var out []*Result
	for i := range r.Assertions {
		out = append(out, &r.Assertions[i])
	}
	rank := func(x *Result) int {
		switch {
		case x.Old:
			return 5
		case x.Failed:
			return slices.Index([]string{Fails, Unknown, Vacuous}, x.Verdict)
		case x.Verdict != Holds:
			return 3
		}
		return 4
	}
	slices.SortStableFunc(out, func(x, y *Result) int { return rank(x) - rank(y) })
	return out
}

// Text returns the report for a terminal.
func (r *Report) Text() string {
	var out, notes diag.Lines
	for _, x := range r.inOrder() {
		if x.Verdict != Holds {
			old := ""
			if x.Old {
				old = " (old)"
			}
			out.Addf("%s %s (%s)%s", labels[x.Verdict], diag.Line(x.ID()), diag.Line(x.Source), old)
			out.Addf("    %s", diag.Line(x.Text))
		}
		for _, d := range x.Documents {
			out.Addf("    %s (%s)", diag.Line(d.Title()), diag.Line(d.Source))
		}
		if x.Witness != nil {
			for _, q := range x.Witness.Requests {
				out.Addf("    %s", diag.Line(string(statement.Encode(q.Request))))
			}
		}
		for _, n := range x.Notes {
			notes.Addf("note %s: %s: %s", n.Code, diag.Line(x.ID()), diag.Line(n.Text))
		}
	}
	for _, n := range r.Notes {
		notes.Addf("note %s: %s", n.Code, diag.Line(n.Text))
	}
	notes.Addf("%s", r.counted())
	return out.String() + notes.String()
}

// counted returns how many assertions hold.
func (r *Report) counted() string {
	return fmt.Sprintf("%d of %d hold.", r.Summary.Holds, len(r.Assertions))
}

// Markdown returns the report as a comment of a pull request.
func (r *Report) Markdown() string {
	var out diag.Lines
	out.Addf("<!-- writ verify -->")
	out.Addf("### %s", r.counted())
	const most = 50
	shown := 0
	for _, x := range r.inOrder() {
		if !x.Failed {
			continue
		}
		if shown++; shown > most {
			continue
		}
		if shown == 1 {
			out.Addf("")
			out.Addf("| verdict | assertion | |")
			out.Addf("| --- | --- | --- |")
		}
		lines := elements.Map(x.Documents, func(d Document) string { return d.Source })
		text := x.Text
		if len(lines) > 0 {
			text += " (" + strings.Join(lines, ", ") + ")"
		}
		out.Addf("| %s | %s (%s) | %s |", x.Verdict, diff.EscapeMarkdown(x.ID()), diff.EscapeMarkdown(x.Source), diff.EscapeMarkdown(text))
	}
	if shown > most {
		out.Addf("")
		out.Addf("%d more; -o json lists them.", shown-most)
	}
	return out.String()
}

// JUnit returns the report in the format of build servers: a suite for each document.
func (r *Report) JUnit() ([]byte, error) {
	var all junit.Report
	for i := range r.Assertions {
		x := &r.Assertions[i]
		row := junit.Case{Class: x.Document, Name: x.Name, File: x.Source}
		if x.Failed {
			row.Failure = &junit.Failure{Message: x.Verdict, Text: x.Text}
		}
		all.Add(x.Document, row)
	}
	return all.Encode()
}

// SARIF returns the report in the Static Analysis Results Interchange Format: a result for
// each assertion that fails the run, at the first line that is responsible.
func (r *Report) SARIF(version string) ([]byte, error) {
	rules, results := r.SARIFResults(0)
	return diff.EncodeSARIF(version, rules, results)
}

// SARIFResults returns the rules and results of a report, whose first rule has an index.
func (r *Report) SARIFResults(first int) (described, results []any) {
	rules := []string{Fails, Unknown, Vacuous}
	results = []any{}
	for _, x := range r.inOrder() {
		if !x.Failed {
			continue
		}
		at := x.Source
		if len(x.Documents) > 0 {
			at = x.Documents[0].Place()
		}
		results = append(results, map[string]any{
			"ruleId": "assertion-" + x.Verdict, "ruleIndex": first + slices.Index(rules, x.Verdict), "level": "error",
			"message":          map[string]any{"text": x.ID() + ": " + x.Text},
			"locations":        []any{diff.SARIFLocation(at)},
			"relatedLocations": []any{diff.SARIFLocation(x.Source)}, "partialFingerprints": map[string]any{"writ": x.ID()},
		})
	}
	texts := map[string]string{Fails: "A request breaks an assertion", Unknown: "An assertion is not proven", Vacuous: "An assertion says nothing"}
	for _, rule := range rules {
		text := map[string]any{"text": texts[rule]}
		described = append(described, map[string]any{"id": "assertion-" + rule, "shortDescription": text, "fullDescription": text, "help": text})
	}
	return described, results
}
