package mutants

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/decisiontest"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Options are what is changed and what should notice.
type Options struct {
	Snapshot source.Snapshot
	// Side is the directory of the snapshot, and Documents are its documents.
	Side      *diff.Side
	Documents []syntax.Document
	Set       *assertions.Set
	// Before is the report of the assertions of Side.
	Before  *verify.Report
	Compile assertions.Compile
	// N is how many mutants are drawn, by Seed.
	N    int
	Seed uint64
	Now  time.Time
	// SetNow sets the time at which judges decide.
	SetNow func(time.Time)
}

// Report is how many mutants an assertion or a test notices.
type Report struct {
	Seed           uint64 `json:"seed"`
	Sites          int    `json:"sites"`
	Drawn          int    `json:"drawn"`
	DoesNotCompile int    `json:"doesNotCompile"`
	Equivalent     int    `json:"equivalent"`
	Undecided      int    `json:"undecided"`
	Killed         int    `json:"killed"`
	Survived       int    `json:"survived"`
	// Score is killed / (killed + survived), nil without any.
	Score *float64 `json:"score"`
	// Idle are the assertions that killed no mutant.
	Idle      []string   `json:"idle"`
	Survivors []Survivor `json:"survivors"`
}

// Survivor is a mutant that nothing noticed.
type Survivor struct {
	Operator string `json:"operator"`
	// Source is the line that is changed, and Text how.
	Source string `json:"source"`
	Text   string `json:"text"`
	// Title is the first group title of the comparison with the directory.
	Title   string         `json:"title"`
	Witness map[string]any `json:"witness"`
	// Class is the class of an assertion that has the witness.
	Class map[string]any `json:"class"`
}

// run is the state of one Run.
type run struct {
	*Options
	tests  []*decisiontest.DecisionTest
	failed map[string]bool // of the tests of Side
	killed map[string]bool // assertions that killed a mutant
	report *Report
}

// Run draws mutants, and looks which of them nothing notices.
func Run(ctx context.Context, o *Options) (*Report, error) {
	d := read(o.Snapshot, o.Side.World.Access.Master)
	d.find()
	r := &run{Options: o, killed: make(map[string]bool), report: &Report{Seed: o.Seed, Sites: len(d.sites), Idle: []string{}, Survivors: []Survivor{}}}
	for _, doc := range o.Documents {
		if t, ok := doc.(*decisiontest.DecisionTest); ok {
			r.tests = append(r.tests, t)
		}
	}
	defer o.SetNow(o.Now)
	var err error
	if r.failed, err = r.failing(ctx, o.Side); err != nil {
		return nil, err
	}
	for _, i := range draw(len(d.sites), o.N, o.Seed) {
		if err := r.try(ctx, &d.sites[i]); err != nil {
			return nil, err
		}
	}
	for i := range o.Before.Assertions {
		if id := o.Before.Assertions[i].ID(); !r.killed[id] {
			r.report.Idle = append(r.report.Idle, id)
		}
	}
	if all := r.report.Killed + r.report.Survived; all > 0 {
		score := float64(r.report.Killed) / float64(all)
		r.report.Score = &score
	}
	return r.report, nil
}

// draw returns n indices below all without repetition, in order.
func draw(all, n int, seed uint64) []int {
	random := rand.New(rand.NewPCG(seed, seed))
	out := random.Perm(all)[:min(n, all)]
	slices.Sort(out)
	return out
}

// try compiles one mutant and counts it.
func (r *run) try(ctx context.Context, s *site) error {
	r.report.Drawn++
	mutant := r.Snapshot
	mutant.Files = slices.Clone(mutant.Files)
	for i := range mutant.Files {
		if f := &mutant.Files[i]; f.Path == s.document.file.Path {
			content := s.content()
			f.Content, f.Hash = source.TextOf(content), sha256.Sum256(content)
		}
	}
	r.SetNow(r.Now)
	side, _, err := r.Compile(ctx, mutant, false)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if side == nil || err != nil {
		r.report.DoesNotCompile++
		return nil
	}
	changed, err := r.compare(ctx, side)
	if err != nil {
		return err
	}
	if len(changed.Classes) == 0 {
		r.report.Equivalent++
		return nil
	}
	first := slices.IndexFunc(changed.Classes, func(k diff.Class) bool { return len(k.Transitions) > 0 })
	if first < 0 {
		r.report.Undecided++
		return nil
	}
	isKilled, err := r.isKilled(ctx, mutant, side)
	if err != nil {
		return err
	}
	if isKilled {
		r.report.Killed++
		return nil
	}
	r.report.Survived++
	k := &changed.Classes[first]
	witness := k.Transitions[0].Witness.Request
	x := Survivor{
		Operator: s.operator,
		Source:   fmt.Sprintf("%s:%d", s.document.file.Path, s.line),
		Text:     s.text,
		Witness:  witness,
		Class:    classOf(k.Point, witness),
	}
	if len(changed.Groups) > 0 {
		x.Title = changed.Groups[0].Title
	}
	r.report.Survivors = append(r.report.Survivors, x)
	return nil
}

// compare compares a mutant with the directory, at the instants that are asserted.
func (r *run) compare(ctx context.Context, side *diff.Side) (*diff.Report, error) {
	o := diff.Options{Now: r.Now}
	isDated := func(a assertion.Assertion) bool { return a.Time.Any || a.Time.Interval }
	if slices.ContainsFunc(r.Set.All, isDated) {
		o.SetNow, o.AllTimes = r.SetNow, true
	}
	report, err := diff.Compare(ctx, r.Side, side, o)
	r.SetNow(r.Now)
	return report, err
}

// isKilled reports whether an assertion or a test gets worse.
func (r *run) isKilled(ctx context.Context, mutant source.Snapshot, side *diff.Side) (bool, error) {
	failed, err := r.failing(ctx, side)
	if err != nil {
		return false, err
	}
	is := false
	for name := range failed {
		is = is || !r.failed[name]
	}
	if len(r.Set.All) == 0 {
		return is, nil
	}
	after, err := r.Set.With(mutant).Run(ctx, &verify.Input{Side: side, Before: r.Before, Now: r.Now, SetNow: r.SetNow}, nil)
	if err != nil {
		return false, err
	}
	for i := range after.Assertions {
		if after.Assertions[i].Failed && !r.Before.Assertions[i].Failed {
			is = true
			r.killed[after.Assertions[i].ID()] = true
		}
	}
	return is, nil
}

// failing returns the cases of tests that fail.
func (r *run) failing(ctx context.Context, side *diff.Side) (map[string]bool, error) {
	out := make(map[string]bool)
	for _, t := range r.tests {
		for i := range t.Cases {
			c := &t.Cases[i]
			r.SetNow(r.Now)
			for _, now := range []*time.Time{t.Now, c.Now} {
				if now != nil {
					r.SetNow(*now)
				}
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v, err := side.Judge(ctx, t.Point, c.Request)
			var why string
			if err == nil {
				why, err = decisiontest.Difference(c.Expect, v.Decision)
			}
			if err != nil || why != "" {
				out[t.Name+"/"+c.Name] = true
			}
		}
	}
	r.SetNow(r.Now)
	return out, nil
}

// classOf returns the class of an assertion that has a request.
func classOf(point string, request map[string]any) map[string]any {
	out := make(map[string]any)
	text := func(key string) string { word, _ := request[key].(string); return word }
	for _, key := range tables.ScopeKeys("verb", "namespace", "name", "path", "action", "type", "gateway", "host", "method") {
		if word := text(key); word != "" {
			out[key] = word
		}
	}
	if point == statement.PointGateway {
		return out
	}
	if resource := text("resource"); resource != "" {
		if group := text("apiGroup"); group != "" {
			resource += "." + group
		}
		if sub := text("subresource"); sub != "" {
			resource += "/" + sub
		}
		out["resource"] = resource
	}
	groups, _ := request["groups"].([]string)
	if all, ok := request["groups"].([]any); ok {
		for _, g := range all {
			if name, isText := g.(string); isText {
				groups = append(groups, name)
			}
		}
	}
	if held := statement.Principals(text("user"), groups); len(held) > 0 {
		out["holds"] = map[string]any{"only": held}
	}
	return out
}

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
