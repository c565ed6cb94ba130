package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// reachPath is the view of who can become whom, and clusterAdmin the target that it begins with.
const (
	reachPath    = "/page/reach"
	clusterAdmin = "cluster-admin"
)

// reachContent is the paths from a subject to a target.
type reachContent struct {
	From, To piece.Input
	Asked    bool
	*console.Reach
	Shown []pathRow
}

// pathRow is a path.
type pathRow struct {
	console.ReachPath
	Badge piece.Mark
	Rows  []hopRow
}

// hopRow is a step of a path, with the questions behind it.
type hopRow struct {
	console.ReachHop
	ID    string
	Badge piece.Mark
	Asks  []piece.Tab
}

func (c *reachContent) html() h.Node {
	return piece.Div("stack", piece.Ask(reachPath, "card line", "Question", c.From.HTML(), c.To.HTML(), h.Button(h.Text("Find paths"))), c.found())
}

// found is the paths, or how to get some.
func (c *reachContent) found() h.Node {
	switch {
	case !c.Asked:
		return piece.Div("card empty", h.H2(h.Text("How a subject becomes another")),
			h.P(h.Text("By pods, tokens, Secrets, impersonation, certificates, or by changing bindings, roles and denials. Name a subject, a target, or both. "), h.Code(h.Text("writ reach")),
				h.Text(" and "), piece.A("/v1/reach?to=cluster-admin", h.Text("GET /v1/reach")), h.Text(" have the same paths.")))
	case len(c.Shown) == 0:
		return h.Div(h.Class("card empty"), h.Role("status"), h.P(h.Text("No path, also without denials.")))
	}
	return h.Group{
		piece.Card("Picture", h.Div(piece.Region("scroll reach", "Picture of the paths, scrolls"), h.Picture(c.SVG)), // analysis/reach escapes what it draws
			piece.P("muted small", h.Text("Round: a subject. Box: a service account. Two lines: the target. Dashed: assumed. Dotted: possible. Crossed out: denied. An arrow leads to its step below."))),
		piece.Each(c.Shown, (*pathRow).html),
		h.If(c.More > 0, piece.P("muted", h.Text(piece.Plural(c.More, "path")+" are left out here. "), h.Code(h.Text("writ reach")), h.Text(" lists all."))),
		h.Details(h.Summary(h.Class("small"), h.Text("What is not looked at")), h.Ul(h.Class("plain"), piece.Each(c.NotCovered, listItem))),
	}
}

func (p *pathRow) html() h.Node {
	verb, note := " reaches ", h.Node(nil)
	switch {
	case p.Denied:
		verb, note = " would reach ", piece.P("small", h.Text("A denial cuts this path. Without it, the path is "+p.Class+"."))
	case len(p.Rows) == 0:
		note = h.P(h.Text("It is there already, by what it holds."))
		if len(p.Why) > 0 {
			note = nil
		}
	}
	return piece.Card(p.From+" to "+p.To, h.H2(h.Text(p.From+verb+p.To+" "), p.Badge.Pill()), note,
		h.Ol(h.Class("steps"), piece.Each(p.Rows, (*hopRow).html)), smallList("whether it has all of "+p.To+" depends on: ", p.Why))
}

// smallList is a list of texts in one small line behind a label, and nothing for an empty one.
func smallList(label string, list []string) h.Node {
	return h.If(len(list) > 0, piece.P("small muted", h.Text(label+strings.Join(list, ", "))))
}

func (r *hopRow) html() h.Node {
	return h.Li(h.ID(r.ID), h.Strong(h.Text(r.What)), h.Text(" "), r.Badge.Pill(), h.Br(), h.Text(r.Result),
		piece.Each(r.Grants, func(by *console.ReachGrant) h.Node {
			return piece.P("small muted", h.Text("allowed by "+by.Text+" "), piece.Place(by.Source))
		}),
		piece.Each(r.Denies, func(by *console.ReachGrant) h.Node {
			return piece.P("small", piece.Span("pill deny", piece.Icon("cross"), h.Text("denied")), h.Text(" by "+by.Text+" "), piece.Place(by.Source))
		}),
		smallList("assumes: ", r.Assumes), smallList("depends on: ", r.Why),
		piece.P("small", piece.Join(" · ", r.Asks, (*piece.Tab).Link)))
}

// classMarks are how classes of paths look.
var classMarks = map[string]piece.Mark{"certain": {Class: "deny", Icon: "warning", Word: "certain"}, "assumed": {Class: "warn", Icon: "warning", Word: "assumed"}, "possible": {Class: "rate", Icon: "minus", Word: "possible"}}

// cutMark is how a path looks that a denial cuts.
var cutMark = piece.Mark{Class: "none", Icon: "cross", Word: "cut"}

// reach is the view of who can become whom.
func reach(ctx context.Context, q *question) (frame, error) {
	c := reachContent{
		From: piece.Input{Key: "from", Label: "From", Names: "subject", Value: q.value("from"), Hint: "user:NAME or group:NAME; empty: everybody"},
		To:   piece.Input{Key: "to", Label: "To", Names: "subject", Value: q.value("to"), Options: []string{clusterAdmin}, Hint: "a subject, " + clusterAdmin + " or namespace-admin:NAMESPACE"},
	}
	shown := frame{Title: "Reach", Lead: "Who can become whom, step by step, denials counted in.", Live: "revision", Content: &c}
	if c.Asked = c.From.Value+c.To.Value != ""; c.To.Value == "" {
		c.To.Value = clusterAdmin
	}
	if !c.Asked {
		return shown, nil
	}
	found, err := q.Reach(ctx, q.caller, console.ReachQuery{From: c.From.Value, To: c.To.Value})
	var wrong *console.Error
	if errors.As(err, &wrong) && wrong.Reason == console.Invalid {
		at := &c.To
		if wrong.Field == "from" {
			at = &c.From
		}
		at.Error, c.Asked, shown.Status = sentence(wrong.Message), false, http.StatusBadRequest
		return shown, nil
	}
	if err != nil {
		return frame{}, err
	}
	c.Reach = found
	for i := range found.Paths {
		c.Shown = append(c.Shown, rowOfPath(&found.Paths[i], i))
	}
	return shown, nil
}

func rowOfPath(p *console.ReachPath, path int) pathRow {
	row := pathRow{ReachPath: *p, Badge: classMarks[p.Class]}
	if p.Denied {
		row.Badge = cutMark
	}
	for i := range p.Hops {
		h := hopRow{ReachHop: p.Hops[i], ID: fmt.Sprintf("hop-%d-%d", path, i), Badge: classMarks[p.Hops[i].Class]}
		if len(h.Denies) > 0 {
			h.Badge = cutMark
		}
		for n, r := range h.Requests {
			name := "Ask"
			if len(h.Requests) > 1 {
				name = "Ask " + strconv.Itoa(n+1)
			}
			h.Asks = append(h.Asks, piece.Tab{Name: name, Href: askHref("access", r)})
		}
		row.Rows = append(row.Rows, h)
	}
	return row
}
