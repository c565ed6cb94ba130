package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// overviewContent is what the first view shows. Rates, Files, Denied and Events are nil
// for a caller who may not see them.
type overviewContent struct {
	State    string
	Degraded bool
	Because  string
	Rates    *figures
	Status   *console.Status
	Files    *console.Files
	// Diagnostics are those that are shown; More is true if there are others.
	Diagnostics []piece.Diagnostic
	More        bool
	LeftOut     int // diagnostics that no view shows
	// Risks are nil if they are not known, and Emergency if nothing begins or ends.
	Risks     *risksInShort
	Emergency *ending
	// Assertions says whether the assertions hold; empty without any.
	Assertions string
	Failing    bool
	Denied     []entry
	ShowLog    bool
	Counts     string // documents by kind
	Total      int
	Events     []happening
}

func (c *overviewContent) html() h.Node {
	class, icon := "banner allow", "check"
	if c.Degraded {
		class, icon = "banner warn", "warning"
	}
	return piece.Div("stack",
		h.Div(h.Class(class), h.Role("status"), h.Aria("label", "State"), piece.Icon(icon), h.Span(h.Text(c.State), h.If(c.Because != "", piece.Note("then", " · "+c.Because)))),
		h.Iff(c.Rates != nil, func() h.Node {
			return h.Group{
				h.If(c.Rates.Total == 0 && len(c.Denied) == 0, piece.P("card", h.Text("No decisions in the last 15 minutes. "), piece.A("/page/ask", h.Text("Try one")),
					h.Text(", or send one to "), h.Code(h.Text("POST /v1/decisions/access")), h.Text("."))),
				c.Rates.html(),
			}
		}),
		piece.Div("grid two", h.Iff(c.Files != nil, c.findings), h.Iff(c.Files == nil, aboutYourself),
			piece.Div("stack", c.served(), h.If(c.ShowLog, c.happened()))))
}

func aboutYourself() h.Node {
	return piece.Titled("ask-self", h.Text("Ask about yourself"), h.P(h.Text("What may you do, and which rule decides?")),
		piece.P("line", piece.Button("/page/ask", "Ask"), piece.Button(whatCanPath, "What can")))
}

// findings are what the documents and the log have for auditors.
func (c *overviewContent) findings() h.Node {
	return piece.Div("stack",
		piece.Card("Diagnostics", piece.H2("diagnostics", piece.Heading("Diagnostics", piece.Plural(c.Files.Errors, "error")+", "+piece.Plural(c.Files.Warnings, "warning"))),
			piece.Each(c.Diagnostics, (*piece.Diagnostic).HTML),
			h.If(len(c.Diagnostics) == 0, piece.P("muted", h.Text("The documents have no mistakes."))),
			h.If(c.More, h.P(piece.A("/page/?diagnostics=all", h.Text("All diagnostics")))),
			h.If(c.LeftOut != 0, piece.P("muted", h.Text(piece.Plural(c.LeftOut, "diagnostic")+" more: writ check lists them all.")))),
		h.Iff(c.Emergency != nil, func() h.Node { return c.Emergency.html() }),
		h.Iff(c.Risks != nil, func() h.Node { return c.Risks.html() }),
		piece.Card("Last denied", piece.H2("denied", h.Text("Last denied "), smallLink("/page/log?outcome=deny", "All in the log")), c.denied()))
}

// smallLink stands beside a heading.
func smallLink(href, name string) h.Node {
	return h.A(h.Class("small"), h.Href(href), h.Text(name))
}

func (e *ending) html() h.Node {
	soon := h.Group{h.Text("Nothing that is in force ends within a day.")}
	if e.EndSoon != "" {
		soon = h.Group{h.Strong(h.Text(e.EndSoon)), h.Text(" within a day.")}
	}
	return piece.Titled("emergency", h.Group{h.Text("Ending access "), smallLink(sessionsPath, "Sessions")},
		h.P(h.Text(e.Holds+". "), soon, h.If(e.Next != "", h.Group{h.Text(" "), piece.Note("muted", "The next change by the clock is at "+e.Next+".")})))
}

func (c *overviewContent) denied() h.Node {
	if len(c.Denied) == 0 {
		return piece.P("muted", h.Text("No request was denied. "), piece.A("/page/ask", h.Text("Ask")), h.Text(" whether one would be."))
	}
	return h.Table(h.Class("stacked"), h.Aria("label", "Last denied"), h.TBody(piece.Each(c.Denied, func(e *entry) h.Node {
		var asked h.Node = h.Group{h.Strong(h.Text(e.Who)), h.Text(" " + e.What)}
		if e.Ask != "" {
			asked = piece.A(e.Ask, asked)
		}
		return h.Tr(piece.Td("nowrap muted small", piece.Time(e.Time, piece.Clock, true)),
			piece.RowHead(asked, e.namespace()), piece.Td("small where", piece.Place(e.Source)))
	})))
}

// served is the active revision.
func (c *overviewContent) served() h.Node {
	fact := func(name string, children ...h.Node) h.Node { return h.Group{h.Dt(h.Text(name)), h.Dd(children...)} }
	code := func(name, text string) h.Node { return h.If(text != "", fact(name, h.Code(h.Text(text)))) }
	s := c.Status
	revision := h.Group{h.Text("none")}
	if s.Revision != "" {
		revision = h.Group{h.Code(h.Text(piece.Short(s.Revision))), h.Text(" "), h.Span(h.ID("revision"), h.Class("hidden"), h.Text(s.Revision)),
			h.Button(h.Type("button"), h.Class("quiet scripted"), h.Data("copy", "revision"), h.Text("Copy revision"))}
	}
	facts := h.Group{
		fact("Revision", revision), h.If(s.Sequence != 0, fact("Sequence", h.Text(piece.Number(s.Sequence)))), h.If(!s.Since.IsZero(), fact("Since", h.Text(piece.Moment(s.Since)))),
		h.If(s.Location != "", fact("From", piece.Breakable(s.Location))),
	}
	if s.Bundle != nil && s.Bundle.Commit != "" {
		facts = append(facts, fact("Commit", h.Code(h.Title(s.Bundle.Commit), h.Text(piece.Short(s.Bundle.Commit)))))
	}
	if s.Keys != nil {
		facts = append(facts, code("Signed by", s.Keys.SignedBy))
	}
	facts = append(facts, code("Pinned", piece.Short(s.Pinned)), h.If(s.StateError != "", fact("State directory", h.Text(s.StateError))))
	if s.Bundle != nil {
		counts := h.Group{h.Text("none: every request is not allowed")}
		if c.Total > 0 {
			counts = h.Group{h.Text(piece.Number(c.Total) + " "), piece.Note("muted", "· "+c.Counts)}
		}
		facts = append(facts, fact("Documents", counts))
	}
	if c.Assertions != "" {
		shown := h.Text(c.Assertions)
		if c.Failing {
			shown = piece.Span("pill warn", piece.Icon("warning"), shown)
		}
		facts = append(facts, fact("Assertions", piece.A(assertionsPath, shown)))
	}
	return piece.Titled("served", h.Text("Served"), h.Dl(h.Class("facts"), facts))
}

// happened is the log of events.
func (c *overviewContent) happened() h.Node {
	events := piece.P("muted", h.Text("Nothing has changed since the start."))
	if len(c.Events) > 0 {
		events = h.Ol(h.Class("events"), piece.Each(c.Events, func(e *happening) h.Node {
			return h.Li(piece.Time(e.Time, piece.Clock, true), h.Span(piece.Note("pill "+e.Class, e.Word), h.Text(" "+e.Text), h.If(e.More != "", h.Group{h.Br(), piece.Note("muted small", e.More)})))
		}))
	}
	return piece.Titled("events", h.Text("Events"), h.Div(h.Role("log"), h.Aria("label", "Events"), h.TabIndex("0"), events))
}

// fewDiagnostics are shown before a link to all of them.
const fewDiagnostics = 20

// overview is the first view: what is served and how it goes.
func overview(ctx context.Context, q *question) (frame, error) {
	status := q.Status(q.caller)
	c := overviewContent{Status: status, ShowLog: q.caller.SeesAll}
	c.State, c.Because, c.Degraded = stateOf(status)
	rates, err := q.Rates(q.caller)
	switch {
	case isReason(err, console.Forbidden):
	case err != nil:
		return frame{}, err
	default:
		c.Rates = newFigures(rates)
	}
	if status.Bundle != nil {
		c.Counts, c.Total = kindCounts(status.Bundle.Counts)
	}
	if q.caller.SeesAll {
		if err = c.showDiagnostics(q); err != nil {
			return frame{}, err
		}
		if c.Denied, err = lastDenied(ctx, q); err != nil {
			return frame{}, err
		}
		c.Emergency = endingOf(status)
		c.Assertions, c.Failing = assertionsInShort(status.Assertions)
		c.Risks = worstOf(ctx, q, c.Total)
		for _, e := range q.Events(q.caller) {
			c.Events = append(c.Events, happeningOf(&e))
		}
	}
	return frame{Title: "Overview", Lead: "What is served, since when, and how it goes.", Live: "figures", Content: &c}, nil
}

// stateOf is the state of the server in words, and why.
func stateOf(s *console.Status) (state, because string, degraded bool) {
	switch {
	case s.Revision == "":
		return "Not ready", s.LastError, true
	case s.Pinned != "":
		return "Serving an older revision", "an operator returned to it", true
	case s.Degraded:
		return "Serving an older revision", strings.TrimSpace("the newest documents were refused: " + s.LastError), true
	}
	return "Serving the newest documents", "", false
}

// showDiagnostics fills in the diagnostics, a few or all.
func (c *overviewContent) showDiagnostics(q *question) error {
	var err error
	if c.Files, err = q.Files(q.caller); isReason(err, console.NotReady) {
		c.Files = &console.Files{} // the state says why
		return nil
	} else if err != nil {
		return err
	}
	few := fewDiagnostics
	if q.value("diagnostics") == "all" {
		few = len(c.Files.Diagnostics)
		c.LeftOut = c.Files.Errors + c.Files.Warnings - few
	}
	for i := range c.Files.Diagnostics[:min(few, len(c.Files.Diagnostics))] {
		c.Diagnostics = append(c.Diagnostics, piece.DiagnosticOf(&c.Files.Diagnostics[i]))
	}
	c.More = len(c.Diagnostics) < len(c.Files.Diagnostics)
	return nil
}

func lastDenied(ctx context.Context, q *question) ([]entry, error) {
	const few = 5
	log, err := q.Log(ctx, q.caller, console.LogQuery{Outcome: console.Deny, Limit: few})
	if isReason(err, console.NotReady) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return entriesOf(log.Decisions), nil
}

// kindCounts lists documents by kind, the most frequent first, and counts them.
func kindCounts(counts map[string]int) (text string, total int) {
	const few = 5
	type count struct {
		kind string
		n    int
	}
	byKind := make(map[string]int)
	for kind, n := range counts {
		kind = kind[strings.LastIndexByte(kind, '/')+1:]
		byKind[kind] += n
		total += n
	}
	var all []count
	for kind, n := range byKind {
		all = append(all, count{kind, n})
	}
	slices.SortFunc(all, func(a, b count) int { return cmp.Or(b.n-a.n, strings.Compare(a.kind, b.kind)) })
	var parts []string
	for i, c := range all {
		if i == few {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", c.n, c.kind))
	}
	return strings.Join(parts, ", "), total
}

// happening is an event of the log of events.
type happening struct {
	console.Event
	Class, Word, Text, More string
}

// happeningOf is an event in words.
func happeningOf(e *console.Event) happening {
	h := happening{Event: *e, Class: "none", Word: e.Name}
	switch d := e.Data.(type) {
	case console.RevisionEvent:
		h.Class, h.Word = "allow", "served"
		h.Text, h.More = "Revision "+piece.Short(d.Revision)+" is served", piece.Plural(d.Documents, "document")
		if d.Source == "rollback" {
			h.Class, h.Word, h.Text = "warn", "rollback", "Rolled back to revision "+piece.Short(d.Revision)
		}
	case console.RefusedEvent:
		h.Class, h.Word = "warn", "refused"
		h.Text, h.More = "Refused: "+piece.Plural(d.Errors, "error"), d.Message
	case console.StateEvent:
		h.Word = "state"
		switch {
		case d.WithdrawnKey != "":
			h.Class, h.Word, h.Text = "warn", "key withdrawn", "The key "+d.WithdrawnKey+" of the active bundle is withdrawn"
		case d.FailingAssertions > 0:
			h.Class, h.Word, h.Text, h.More = "warn", "assertions", "Assertions about the active revision fail", d.Assertions
		case d.Pinned != "":
			h.Class, h.Word, h.Text = "warn", "pinned", "Pinned: newer documents do not replace revision "+piece.Short(d.Pinned)
		case d.Degraded:
			h.Class, h.Text = "warn", "Degraded: an older revision is served"
		case d.Ready:
			h.Class, h.Text = "allow", "Ready: the newest documents are served"
		default:
			h.Class, h.Text = "warn", "Not ready"
		}
	}
	return h
}
