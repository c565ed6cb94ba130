package page

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/console"
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
	Diagnostics []diagnostic
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
	return frame{Title: "Overview", Lead: "What is served, since when, and how it goes.", Live: "figures", Content: c}, nil
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
		c.Diagnostics = append(c.Diagnostics, diagnosticOf(&c.Files.Diagnostics[i]))
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
		_, kind, _ = cutLast("/"+kind, "/")
		byKind[kind] += n
		total += n
	}
	var all []count
	for kind, n := range byKind {
		all = append(all, count{kind, n})
	}
	slices.SortFunc(all, func(a, b count) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return strings.Compare(a.kind, b.kind)
	})
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
		h.Text, h.More = "Revision "+short(d.Revision)+" is served", plural(d.Documents, "document")
		if d.Source == "rollback" {
			h.Class, h.Word, h.Text = "warn", "rollback", "Rolled back to revision "+short(d.Revision)
		}
	case console.RefusedEvent:
		h.Class, h.Word = "warn", "refused"
		h.Text, h.More = "Refused: "+plural(d.Errors, "error"), d.Message
	case console.StateEvent:
		h.Word = "state"
		switch {
		case d.WithdrawnKey != "":
			h.Class, h.Word, h.Text = "warn", "key withdrawn", "The key "+d.WithdrawnKey+" of the active bundle is withdrawn"
		case d.FailingAssertions > 0:
			h.Class, h.Word, h.Text, h.More = "warn", "assertions", "Assertions about the active revision fail", d.Assertions
		case d.Pinned != "":
			h.Class, h.Word, h.Text = "warn", "pinned", "Pinned: newer documents do not replace revision "+short(d.Pinned)
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
