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
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
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
	Badge      piece.Mark
	Open       bool
	Requests   []witnessRow
	Lines      []lineRow
	Exceptions []exceptionRow
	At         string
}

// witnessRow is a request that breaks an assertion.
type witnessRow struct {
	Badge      piece.Mark
	Text, Href string
}

// lineRow is a document that is responsible.
type lineRow struct{ Name, Source string }

// exceptionRow is an exception, and how long it lasts.
type exceptionRow struct{ Reason, Left string }

func (c *assertionsContent) html() h.Node {
	return piece.Div("stack",
		h.If(c.Refused != "", warning("Refused", h.Text(c.Refused))),
		h.If(c.State == "error", warning("Problem", h.Text("The assertions cannot be verified: "+c.Problem))),
		h.If(c.Total > 0, piece.Ask(assertionsPath, "card line", "Filter", piece.Check("only", "Only those that fail", c.Only), h.Button(h.Text("Filter")))),
		piece.Titled("assertions", piece.Heading("Assertions", c.counted()), c.listed()),
		piece.Titled("try", h.Text("Try an assertion"), c.form(), refusal(c.Error), piece.Each(c.Tried, func(v *verdictRow) h.Node {
			return h.Div(h.Role("status"), h.P(v.Badge.Pill(), h.Text(" "+v.Name)), v.proof())
		})))
}

// counted says how many assertions fail.
func (c *assertionsContent) counted() string {
	switch {
	case c.State == "pending":
		return "pending: being verified"
	case c.Failing == 1:
		return "1 of " + piece.Number(c.Total) + " fails"
	case c.Failing > 0:
		return piece.Number(c.Failing) + " of " + piece.Number(c.Total) + " fail"
	}
	return piece.Plural(c.Total, "assertion")
}

// listed is the assertions with their verdicts.
func (c *assertionsContent) listed() h.Node {
	switch {
	case len(c.Rows) > 0:
		return h.Group{
			h.Table(h.Class("stacked verdicts"), piece.LabelledBy("assertions"), piece.Head(piece.Columns("Verdict", "Assertion", "Written at")), h.TBody(piece.Each(c.Rows, (*verdictRow).html))),
			h.If(c.More > 0, piece.P("muted", h.Text(piece.Plural(c.More, "assertion")+" more: writ verify lists all."))),
		}
	case c.State == "pending":
		return piece.P("muted", h.Text("The assertions of the newest revision are being verified."))
	case c.Total > 0:
		return piece.P("muted", h.Text("No assertion fails. "), piece.A(assertionsPath, h.Text("Show all")))
	}
	return piece.P("muted", h.Text("The documents have no assertions. Try one below, and keep it in a document of kind Assertions."))
}

// form is the field of an assertion that is tried.
func (c *assertionsContent) form() h.Node {
	const hint = `as in a document, such as {name: secrets, never: allowed, of: {verb: get, resource: secrets}, unless: {holds: "group:admins"}}`
	return h.Form(h.Class("rows"), h.Method("post"), h.Action(assertionsPath), h.EncType("multipart/form-data"), h.Aria("label", "Try an assertion"),
		piece.Div("field", h.Label(h.For("f-text"), h.Text("Assertion")),
			h.Textarea(h.ID("f-text"), h.Name("text"), h.Rows("8"), piece.Verbatim, h.Aria("describedby", "h-text"), h.If(c.Error != "", h.Aria("invalid", "true")), h.Text(c.Text)),
			h.Span(h.Class("hint"), h.ID("h-text"), h.Text(hint))),
		piece.P("line", piece.Submit("Verify")))
}

func (v *verdictRow) html() h.Node {
	return h.Tr(piece.Td("nowrap", v.Badge.Pill()), piece.RowHead(h.Details(h.If(v.Open, opened), h.Summary(h.Text(v.Document+"/"+v.Name)), v.proof())), piece.Td("small", piece.Place(v.Source)))
}

// proof is why the verdict is so.
func (v *verdictRow) proof() h.Node {
	return h.Group{
		h.P(h.Text(v.Text)),
		piece.Each(v.Requests, (*witnessRow).html),
		h.Iff(v.Witness != nil, func() h.Node {
			w := v.Witness
			return h.Group{
				h.If(len(w.Place) > 0, h.P(h.Text("In namespace "+w.Place["namespace"]+"."))), h.If(w.Path != "", h.P(h.Text("On the path "+w.Path+"."))),
				h.If(w.In == "expired", h.P(piece.Note("pill warn", "its exception has ended"))),
			}
		}),
		h.If(v.At != "", piece.P("small muted", h.Text("At "+v.At+"."))),
		piece.Each(v.Lines, func(l *lineRow) h.Node { return piece.P("small", h.Text(l.Name+" "), piece.Place(l.Source)) }),
		h.If(len(v.Why) > 0, piece.P("small", h.Text("Not known because of: "+strings.Join(v.Why, ", ")+"."))),
		piece.Each(v.Exceptions, func(e *exceptionRow) h.Node {
			return piece.P("small", piece.Note("pill", e.Left), h.Text(" "+e.Reason))
		}),
		piece.Each(v.Notes, func(n *struct {
			Text string `json:"text"`
		}) h.Node {
			return piece.P("small muted", h.Text("Note: "+n.Text+"."))
		}),
	}
}

func (w *witnessRow) html() h.Node {
	return piece.Div("stack", h.P(w.Badge.Pill(), h.If(w.Href != "", h.Group{h.Text(" "), piece.A(w.Href, h.Text("Ask"))})),
		h.Pre(piece.Region("code", "Request"), h.Text(w.Text)))
}

// verdictMarks are how verdicts look.
var verdictMarks = map[string]piece.Mark{
	"holds": {Class: "allow", Icon: "check", Word: "holds"}, "fails": {Class: "deny", Icon: "cross", Word: "fails"}, "excepted": {Class: "rate", Icon: "clock", Word: "excepted"},
	"unknown": {Class: "warn", Icon: "ask", Word: "unknown"}, "vacuous": {Class: "warn", Icon: "warning", Word: "says nothing"},
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
	return piece.Number(len(s.Failing)) + " of " + piece.Plural(s.Verified, "assertion") + verb
}

func rowOfVerdict(v *console.Verdict, now time.Time) verdictRow {
	row := verdictRow{Verdict: *v, Badge: verdictMarks[v.Verdict], Open: v.Failed}
	if !v.Failed && row.Badge.Class == "warn" {
		row.Badge.Class = "none" // it is allowed to be so
	}
	if w := v.Witness; w != nil {
		row.At = w.At.UTC().Format(timeForm)
		for _, r := range w.Requests {
			one := witnessRow{Badge: piece.Marks[r.Outcome], Text: string(r.Request), Href: askHref(v.Point, r.Request)}
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
		name := tables.Title(d.Kind, d.Namespace, d.Name)
		row.Lines = append(row.Lines, lineRow{name, d.Source})
	}
	for _, e := range v.Exceptions {
		row.Exceptions = append(row.Exceptions, exceptionRow{e.Reason, piece.Plural(int(e.Until.Sub(now).Hours()/24), "day") + " left"})
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
	return piece.Plural(s.Verified, "assertion") + ", none fails", false
}
