package diff

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
)

// AssertionChange is an assertion with another verdict, or that fails by a request of B that does
// not break it in A.
type AssertionChange struct {
	Document string `json:"document"`
	Name     string `json:"name"`
	// From and To are the verdicts by A and B, nil in a revision without the assertion.
	From    *string `json:"from"`
	To      *string `json:"to"`
	New     bool    `json:"new"` // it fails newly
	Witness any     `json:"witness,omitempty"`
	// Source is the line of the assertion, Text a sentence about its verdict.
	Source string `json:"-"`
	Text   string `json:"-"`
}

// Assertions are the verdicts of B's assertions.
type Assertions struct {
	Total, Failed, New int
	Changes            []AssertionChange
	// Rules and Results are the assertions that fail for code scanning; the index of their
	// first rule is len(changeKinds).
	Rules, Results []any
}

// RuleOffset is the index of the first rule of assertions.
var RuleOffset = len(changeKinds)

// SetAssertions adds the verdicts of assertions to the report.
func (r *Report) SetAssertions(a *Assertions) {
	r.asserted, r.Assertions = a, slices.Clone(a.Changes)
	if r.Assertions == nil {
		r.Assertions = []AssertionChange{}
	}
}

// sentence returns how many assertions fail, "" without any.
func (a *Assertions) sentence() string {
	if a == nil || a.Total == 0 {
		return ""
	}
	verb := "fail"
	if a.Failed == 1 {
		verb = "fails"
	}
	newly := ""
	switch {
	case a.New == 1:
		newly = ", one newly"
	case a.New > 1:
		newly = fmt.Sprintf(", %d newly", a.New)
	}
	return fmt.Sprintf("%d of %s %s%s.", a.Failed, diag.Counted(a.Total, "assertion"), verb, newly)
}

// lines returns a sentence for each assertion whose verdict differs, or that fails newly.
func (a *Assertions) lines() []string {
	var out []string
	word := func(verdict *string) string {
		if verdict == nil {
			return "not there"
		}
		return *verdict
	}
	for _, x := range a.Changes {
		text := fmt.Sprintf("%s/%s: %s before, %s now", x.Document, x.Name, word(x.From), word(x.To))
		if x.Source != "" {
			text += " (" + x.Source + ")"
		}
		if x.Text != "" {
			text += ": " + x.Text
		}
		out = append(out, text)
	}
	return out
}

// writeAssertions begins a report for people with the verdicts of assertions.
func (r *Report) writeAssertions(out *diag.Lines) {
	if text := r.asserted.sentence(); text != "" {
		out.Addf("%s", text)
	}
	if r.asserted == nil {
		return
	}
	for _, line := range r.asserted.lines() {
		out.Addf("  %s", diag.Line(line))
	}
}

// mostAsserted bounds the assertions that a comment lists.
const mostAsserted = 50

func (r *Report) markdownAssertions(out *diag.Lines) {
	if text := r.asserted.sentence(); text != "" {
		out.Addf("**%s**", text)
		out.Addf("")
	}
	if r.asserted == nil || len(r.asserted.Changes) == 0 {
		return
	}
	lines := r.asserted.lines()
	for _, line := range lines[:min(len(lines), mostAsserted)] {
		out.Addf("- %s", EscapeMarkdown(line))
	}
	if more := len(lines) - mostAsserted; more > 0 {
		out.Addf("- %d more; -o json lists them", more)
	}
	out.Addf("")
}
