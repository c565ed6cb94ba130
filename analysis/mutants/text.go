package mutants

import (
	"fmt"
	"strings"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/diag"
)

// Text returns the report for a terminal.
func (r *Report) Text() string {
	var out diag.Lines
	for i := range r.Survivors {
		x := &r.Survivors[i]
		out.Addf("SURVIVED %s (%s): %s", x.Operator, diag.Line(x.Source), diag.Line(x.Text))
		if x.Title != "" {
			out.Addf("    %s", diag.Line(x.Title))
		}
		out.Addf("    no assertion has {never: allowed, of: %s}", diag.Line(strings.TrimSpace(string(statement.Encode(x.Class)))))
	}
	for _, id := range r.Idle {
		out.Addf("idle %s: it notices none of these mutants", diag.Line(id))
	}
	out.Addf("%s", r.counted())
	return out.String()
}

// counted returns how many mutants were noticed.
func (r *Report) counted() string {
	score := "no score"
	if r.Score != nil {
		score = fmt.Sprintf("score %.0f", 100**r.Score)
	}
	return fmt.Sprintf("%d of %d mutants killed (%s): %d sites, %d drawn with seed %d; %d equivalent, %d undecided, %d do not compile.",
		r.Killed, r.Killed+r.Survived, score, r.Sites, r.Drawn, r.Seed, r.Equivalent, r.Undecided, r.DoesNotCompile)
}

// mostListed bounds the survivors in a comment.
const mostListed = 50

// Markdown returns the report as a part of a comment.
func (r *Report) Markdown() string {
	var out diag.Lines
	out.Addf("")
	out.Addf("### %s", r.counted())
	if len(r.Survivors) > 0 {
		out.Addf("")
		out.Addf("| survived | line | change |")
		out.Addf("| --- | --- | --- |")
	}
	for _, x := range r.Survivors[:min(len(r.Survivors), mostListed)] {
		out.Addf("| %s | %s | %s |", x.Operator, diff.EscapeMarkdown(x.Source), diff.EscapeMarkdown(x.Text))
	}
	if more := len(r.Survivors) - mostListed; more > 0 {
		out.Addf("")
		out.Addf("%d more; -o json lists them.", more)
	}
	return out.String()
}

// IsBelow reports whether the score is below a number from 0 to 100; no score is below any but 0.
func (r *Report) IsBelow(score float64) bool {
	if r.Score == nil {
		return score > 0
	}
	return 100**r.Score < score
}
