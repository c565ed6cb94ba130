package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// ExpectedChange is an entry of an ExpectedChanges document.
type ExpectedChange struct {
	ID string `json:"id"`
	// Reach is set in place of an ID for a path.
	Reach  *ReachPair `json:"reach,omitempty"`
	Change string     `json:"change"`
	Text   string     `json:"text"`
	// Until is the last time at which the entry accepts a class; the zero time does not bound it.
	Until time.Time `json:"until,omitzero"`
	// Reason is shown beside the class; it may be empty.
	Reason string `json:"reason,omitempty"`
}

// fits reports whether the entry is about a class.
func (e *ExpectedChange) fits(k *Class) bool {
	return e.ID == k.ID && slices.Contains(k.Changes, e.Change)
}

// isExpired reports whether an entry accepts nothing any more.
func (e *ExpectedChange) isExpired(now time.Time) bool {
	return !e.Until.IsZero() && now.After(e.Until)
}

// Expected returns the entries that accept every class of the report. Of an entry that is among
// earlier ones, the reason and the time are kept.
func (r *Report) Expected(earlier []ExpectedChange) []ExpectedChange {
	out := []ExpectedChange{}
	for i := range r.Classes {
		k := &r.Classes[i]
		for _, change := range k.Changes {
			title := r.titleOf([]*Class{k}, change, nil)
			e := ExpectedChange{ID: k.ID, Change: change, Text: title.String()}
			at := slices.IndexFunc(earlier, func(e ExpectedChange) bool { return e.ID == k.ID && e.Change == change && !e.isExpired(r.Now) })
			if at >= 0 {
				e.Until, e.Reason = earlier[at].Until, earlier[at].Reason
			}
			out = append(out, e)
		}
	}
	return append(out, r.expectedPaths(earlier)...)
}

// Accept marks the classes of which every change is expected. An entry that fits no class,
// or that has expired, is a note.
func (r *Report) Accept(expected []ExpectedChange) {
	for i := range r.Classes {
		k := &r.Classes[i]
		k.Accepted = len(k.Changes) > 0
		k.Expired, k.Reason = false, ""
		var reasons []string
		for _, change := range k.Changes {
			accepts := func(e ExpectedChange) bool { return e.ID == k.ID && e.Change == change && !e.isExpired(r.Now) }
			at := slices.IndexFunc(expected, accepts)
			if at < 0 {
				k.Accepted = false
				k.Expired = k.Expired || slices.ContainsFunc(expected, func(e ExpectedChange) bool { return e.ID == k.ID && e.Change == change })
				continue
			}
			reasons = append(reasons, expected[at].remark())
		}
		if k.Accepted {
			k.Reason = strings.Join(tables.Once(slices.DeleteFunc(reasons, func(text string) bool { return text == "" })), "; ")
		}
	}
	r.acceptPaths(expected)
	for _, e := range expected {
		switch {
		case r.IsStale(e):
			r.Notes = append(r.Notes, "stale-expectation: "+e.Name()+" "+e.Change+" "+e.Text)
		case e.isExpired(r.Now):
			r.Notes = append(r.Notes, "expired-expectation: "+e.Name()+" "+e.Change+" "+e.Text+" (until "+e.Until.UTC().Format(time.RFC3339)+")")
		}
	}
	r.Count()
}

// Name identifies an entry for people.
func (e *ExpectedChange) Name() string {
	if e.Reach != nil {
		return e.Reach.From + " to " + e.Reach.To
	}
	return e.ID
}

// IsStale reports whether an entry fits no class and no path. One about a path is not stale in
// a report without paths.
func (r *Report) IsStale(e ExpectedChange) bool {
	if e.Reach != nil {
		return r.Reach != nil && !slices.ContainsFunc(r.paths(), e.fitsPath)
	}
	return !slices.ContainsFunc(r.Classes, func(k Class) bool { return e.fits(&k) })
}

// remark returns why and until when an entry accepts its class.
func (e *ExpectedChange) remark() string {
	text := diag.Line(e.Reason)
	if !e.Until.IsZero() {
		text = strings.TrimPrefix(text+", until "+e.Until.UTC().Format(time.RFC3339), ", ")
	}
	return text
}

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
