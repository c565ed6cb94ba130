package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// assertionsPath is the view of assertions.
const assertionsPath = "/page/assertions"

// maxVerdicts is how many assertions the view shows.
const maxVerdicts = 200

// assertionsContent is what must hold for every request, and whether it does.
type assertionsContent struct {
	State, Problem string
	// Refused is why the newest revision is not served; empty if it is.
	Refused        string
	Failing, Total int
	Only           bool
	Rows           []verdictRow
	More           int // rows that are left out
	// Text is what is tried, Error its mistake and Tried its verdicts.
	Text, Error string
	Tried       []verdictRow
}

// verdictRow is an assertion in words.
type verdictRow struct {
	console.Verdict
	Badge      mark
	Open       bool
	Requests   []witnessRow
	Lines      []lineRow
	Exceptions []exceptionRow
	At         string
}

// witnessRow is a request that breaks an assertion.
type witnessRow struct {
	Badge      mark
	Text, Href string
}

// lineRow is a document that is responsible.
type lineRow struct{ Name, Source string }

// exceptionRow is an exception, and how long it lasts.
type exceptionRow struct{ Reason, Left string }

// verdictMarks are how verdicts look.
var verdictMarks = map[string]mark{
	"holds": {"allow", "check", "holds"}, "fails": {"deny", "cross", "fails"}, "excepted": {"rate", "clock", "excepted"},
	"unknown": {"warn", "ask", "unknown"}, "vacuous": {"warn", "warning", "says nothing"},
}

// assertions is the view of assertions.
func (p *page) assertions(_ context.Context, q *question) (frame, error) {
	return assertionsFrame(q, &assertionsContent{Only: q.value("only") != "", Text: q.value("text")})
}

func assertionsFrame(q *question, c *assertionsContent) (frame, error) {
	found, err := q.Assertions(q.caller)
	if err != nil {
		return frame{}, err
	}
	c.State, c.Problem, c.Total = found.State, found.Problem, len(found.Results)
	if found.Refused != nil {
		c.Refused = refusedWords(found.Refused)
	}
	for i := range found.Results {
		if found.Results[i].Failed {
			c.Failing++
		} else if c.Only {
			continue
		}
		c.Rows = append(c.Rows, rowOfVerdict(&found.Results[i], q.now))
	}
	slices.SortStableFunc(c.Rows, func(a, b verdictRow) int {
		return cmp.Or(cmp.Compare(rankOf(&a.Verdict), rankOf(&b.Verdict)), cmp.Compare(a.Document, b.Document))
	})
	c.More = max(0, len(c.Rows)-maxVerdicts)
	c.Rows = c.Rows[:len(c.Rows)-c.More]
	shown := frame{Title: "Assertions", Lead: "What must hold for every request, and whether it does.", Live: "revision", Content: c}
	if c.State == "pending" {
		shown.Again = 2
	}
	return shown, nil
}

// rankOf orders failures first, then what is excepted, then what holds.
func rankOf(v *console.Verdict) int {
	switch {
	case v.Failed:
		return 0
	case v.Verdict != "holds":
		return 1
	}
	return 2
}

func refusedWords(s *console.AssertionsStatus) string {
	if s.Code == "assertion-failed" {
		return "The newest documents are not served: " + failingWords(s)
	}
	return "The newest documents are not served (" + s.Code + ")"
}

// failingWords counts the assertions that fail.
func failingWords(s *console.AssertionsStatus) string {
	verb := " fail"
	if len(s.Failing) == 1 {
		verb = " fails"
	}
	return number(len(s.Failing)) + " of " + plural(s.Verified, "assertion") + verb
}

func rowOfVerdict(v *console.Verdict, now time.Time) verdictRow {
	row := verdictRow{Verdict: *v, Badge: verdictMarks[v.Verdict], Open: v.Failed}
	if !v.Failed && row.Badge.Class == "warn" {
		row.Badge.Class = "none" // it is allowed to be so
	}
	if w := v.Witness; w != nil {
		row.At = w.At.UTC().Format(timeForm)
		for _, r := range w.Requests {
			one := witnessRow{Badge: marks[r.Outcome], Text: string(r.Request), Href: askHref(v.Point, r.Request)}
			switch r.World {
			case "without":
				one.Badge.Word += " without these documents"
			case "reference":
				one.Badge.Word += " by the reference"
			}
			row.Requests = append(row.Requests, one)
		}
	}
	for _, d := range v.Documents {
		name := d.Kind + " " + strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
		row.Lines = append(row.Lines, lineRow{name, d.Source})
	}
	for _, e := range v.Exceptions {
		row.Exceptions = append(row.Exceptions, exceptionRow{e.Reason, plural(int(e.Until.Sub(now).Hours()/24), "day") + " left"})
	}
	return row
}

// tryAssertion verifies the assertions of the form.
func (p *page) tryAssertion(ctx context.Context, q *question) (frame, error) {
	c := &assertionsContent{Text: posted(q, "text")}
	shown, err := assertionsFrame(q, c)
	if err != nil {
		return frame{}, err
	}
	shown.Live, shown.Again = "", 0 // a new view would lose the text
	refuse := func(text string) (frame, error) {
		c.Error, shown.Status = sentence(text), http.StatusBadRequest
		return shown, nil
	}
	body, err := p.bodyOf(c.Text)
	if err != nil {
		return refuse(err.Error())
	}
	found, err := q.Verify(ctx, q.caller, body)
	var refused *console.Error
	if errors.As(err, &refused) && (refused.Reason == console.Invalid || refused.Reason == console.Busy) {
		return refuse(strings.TrimPrefix(refused.Field+": "+refused.Message, ": "))
	}
	if err != nil {
		return frame{}, err
	}
	for i := range found.Results {
		row := rowOfVerdict(&found.Results[i], q.now)
		row.Open = true
		c.Tried = append(c.Tried, row)
	}
	return shown, nil
}

// bodyOf returns the body of a question for YAML: a document, its spec, a list of assertions or
// one of them.
func (p *page) bodyOf(text string) ([]byte, error) {
	if text == "" {
		return nil, errors.New("write an assertion")
	}
	given, err := p.JSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	switch {
	case json.Unmarshal(given, &members) != nil:
		return json.Marshal(map[string]json.RawMessage{"assertions": given})
	case members["spec"] != nil:
		return members["spec"], nil
	case members["assertions"] != nil:
		return given, nil
	}
	return json.Marshal(map[string]any{"assertions": []json.RawMessage{given}})
}

// assertionsInShort is what the overview says of assertions, and whether one fails.
func assertionsInShort(s *console.AssertionsStatus) (text string, fails bool) {
	switch {
	case s == nil || s.Code == "" && s.Verified == 0 && s.State == "verified":
		return "", false
	case s.State == "pending":
		return "pending", false
	case s.State == "error":
		return "cannot be verified", true
	case len(s.Failing) > 0:
		return failingWords(s), true
	case s.Code != "":
		return s.Code, true
	}
	return plural(s.Verified, "assertion") + ", none fails", false
}
