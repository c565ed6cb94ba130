package page

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
)

// risksPath is the view of dangerous grants.
const risksPath = "/page/risks"

// How many risks of a code are shown among others, and subjects of a risk.
const (
	risksOfCode     = 5
	maxRiskSubjects = 3
)

// risksContent is the dangerous grants by code.
type risksContent struct {
	Severities, Codes []piece.Option
	Subject           string
	Filtered          bool
	Pending           bool
	// Counts are the risks of all documents by severity, without those that are accepted.
	Counts   []severityCount
	Accepted int
	Groups   []riskGroup
	pager
	// Placeholder is true if a request has the name that stands for those of no document.
	Placeholder bool
}

// severityCount is how many risks have a severity.
type severityCount struct {
	Badge piece.Mark
	Count int
	Href  string
}

// riskGroup is the risks of a code.
type riskGroup struct {
	console.RiskCode
	Badge piece.Mark
	Open  bool
	Risks []riskRow
	// All leads to all risks of the code; empty if they are shown.
	All string
}

// riskRow is a risk.
type riskRow struct {
	console.Risk
	Badge    piece.Mark
	Subjects []piece.Tab
	More     int // subjects that are left out
	Ask      string
}

func (c *risksContent) html() h.Node {
	subject := piece.Input{Key: "subject", Label: "Subject", Value: c.Subject, Names: "subject"}
	return piece.Div("stack",
		piece.Ask(risksPath, "card line", "Filter", piece.Select("field", "severity", "Severity", c.Severities), piece.Select("field", "code", "Risk", c.Codes), subject.HTML(), h.Button(h.Text("Filter"))),
		c.found())
}

// found is the risks, or why none is shown.
func (c *risksContent) found() h.Node {
	switch {
	case c.Pending:
		return h.Div(h.Class("card empty"), h.Role("status"),
			h.P(h.Text("The documents are being searched for risks. The view asks again.")),
			h.P(piece.Button(risksPath, "Ask again")))
	case len(c.Groups) == 0 && c.Filtered:
		return piece.Div("card empty", h.P(h.Text("No risk fits this filter. "), piece.A(risksPath, h.Text("Show all"))))
	case len(c.Groups) == 0:
		return piece.Div("card empty", h.H2(h.Text("No grant of these documents is dangerous")),
			h.P(h.Text("Bindings that let a subject read Secrets, run commands in pods or extend roles would stand here. "), h.Code(h.Text("writ lint --strict")),
				h.Text(" in a pipeline keeps it so, and "), piece.A(whoCanPath+"?resource=secrets", h.Text("Who can")), h.Text(" has what is granted.")))
	}
	return h.Group{
		h.Ul(h.Class("key"), h.Aria("label", "Risks by severity"), piece.Each(c.Counts, (*severityCount).html),
			h.If(c.Accepted > 0, h.Li(h.Text(piece.Number(c.Accepted)+" accepted, which come last")))),
		piece.Div("card folds", piece.Each(c.Groups, (*riskGroup).html)),
		piece.P("muted small", h.Text("The level is lower in one namespace or for names that a rule lists, lower for a named user or group than for a service account, and higher for everybody. What a denial takes away does not count."),
			h.If(c.Placeholder, h.Group{h.Text(" In a request, "), h.Code(h.Text("writ-any-other")), h.Text(" stands for any name that no document has.")})),
		c.links(),
	}
}

func (s *severityCount) html() h.Node {
	return h.Li(h.A(h.Class("pill "+s.Badge.Class), h.Href(s.Href), piece.Icon(s.Badge.Icon), h.Text(piece.Number(s.Count)+" "+s.Badge.Word)))
}

func (r *riskGroup) html() h.Node {
	total := piece.Plural(r.Total, "risk")
	if r.Accepted > 0 {
		total += ", " + piece.Number(r.Accepted) + " accepted"
	}
	return h.Details(h.If(r.Open, opened),
		h.Summary(r.Badge.Pill(), h.Text(" Can "+r.Can+" "), piece.Span("then muted", h.Text(total+" · "), h.Code(h.Text(r.Code)))),
		piece.P("small muted", h.Text(r.Text)),
		piece.P("small", h.Strong(h.Text("Remedy:")), h.Text(" "+r.Remedy+".")),
		h.Table(h.Class("stacked held"), h.Aria("label", "Can "+r.Can), piece.Head(piece.Columns("Severity", "Who", "Where", "By", "Rule"), piece.HiddenColumn("Ask")),
			h.TBody(piece.Each(r.Risks, (*riskRow).html))),
		h.If(r.All != "", h.P(piece.A(r.All, h.Text("All of these")))))
}

func (r *riskRow) html() h.Node {
	return h.Tr(h.Td(r.Badge.Pill()), piece.RowHead(piece.Join(", ", r.Subjects, (*piece.Tab).Link), andMore(r.More)), h.Td(h.Text(r.Where)),
		piece.Td("small by", h.Text(r.Binding+" "), h.Br(), piece.Place(r.Source), h.Iff(r.Accepted != nil, func() h.Node {
			return h.Details(h.Summary(h.Class("small"), h.Text("accepted")), h.P(h.Text(r.Accepted.Reason)), h.P(piece.Place(r.Accepted.Source)))
		})),
		piece.Td("small by", piece.Note("narrow muted", "rule at "), piece.Place(r.RuleSource)),
		piece.Td("nowrap", h.Iff(r.Ask != "", func() h.Node { return piece.A(r.Ask, h.Text("Ask"), piece.Note("hidden", " for "+r.Subjects[0].Name)) })))
}

// andMore is how many others are left out.
func andMore(n int) h.Node {
	return h.If(n > 0, h.Group{h.Text(" "), piece.Note("muted", "and "+piece.Number(n)+" more")})
}

// severityMarks are how severities look, the most severe first.
var severityMarks = []struct {
	severity string
	mark     piece.Mark
}{
	{"critical", piece.Mark{Class: "deny", Icon: "warning", Word: "critical"}}, {"high", piece.Mark{Class: "warn", Icon: "warning", Word: "high"}},
	{"medium", piece.Mark{Class: "rate", Icon: "minus", Word: "medium"}}, {"low", piece.Mark{Class: "none", Icon: "minus", Word: "low"}},
}

func severityMark(severity string) piece.Mark {
	for _, s := range severityMarks {
		if s.severity == severity {
			return s.mark
		}
	}
	return piece.Mark{Class: "none", Icon: "minus", Word: severity}
}

// risks is the view of dangerous grants.
func risks(ctx context.Context, q *question) (frame, error) {
	asked := console.RisksQuery{Severity: q.value("severity"), Subject: q.value("subject"), Limit: 1}
	code := q.value("code")
	c := risksContent{Subject: asked.Subject, Filtered: asked.Severity+asked.Subject+code != ""}
	shown := frame{
		Title:   "Risks",
		Lead:    "Dangerous grants, denials counted in, the most severe first.",
		Live:    "revision",
		Content: &c,
	}
	all, err := q.Risks(ctx, q.caller, asked)
	if isReason(err, console.Pending) {
		c.Pending, shown.Again, shown.Status = true, 2, http.StatusAccepted
		return shown, nil
	}
	if err != nil {
		return frame{}, err
	}
	c.count(all, asked.Severity)
	c.Codes = []piece.Option{{Word: "any"}}
	for _, found := range all.Codes {
		c.Codes = append(c.Codes, piece.Option{Value: found.Code, Word: found.Can, Selected: found.Code == code})
	}
	if code != "" && !slices.ContainsFunc(all.Codes, func(f console.RiskCode) bool { return f.Code == code }) {
		c.Codes = append(c.Codes, piece.Option{Value: code, Word: code, Selected: true})
	}
	next := ""
	for i, found := range all.Codes {
		if code != "" && found.Code != code {
			continue
		}
		asked.Code, asked.Limit, asked.After = found.Code, risksOfCode, ""
		if code != "" {
			asked.Limit, asked.After = 0, q.value("after")
		}
		page, err := q.Risks(ctx, q.caller, asked)
		if err != nil {
			return frame{}, err
		}
		found.Text, _, _ = strings.Cut(found.Text, " The level is ") // which is the same for all, and stands below
		isWorst := found.Severity == all.Codes[0].Severity && (i == 0 || found.Accepted < found.Total)
		g := riskGroup{RiskCode: found, Badge: severityMark(found.Severity), Open: code != "" || isWorst}
		for j := range page.Risks {
			row := rowOfRisk(&page.Risks[j])
			c.Placeholder = c.Placeholder || bytes.Contains(row.Request, []byte("writ-any-other"))
			g.Risks = append(g.Risks, row)
		}
		switch {
		case code != "":
			next = page.After
		case page.After != "":
			g.All = withValue(risksPath, q.query, "code", found.Code)
		}
		c.Groups = append(c.Groups, g)
	}
	c.pages(q, risksPath, next)
	return shown, nil
}

// Bounds of the risks of the overview: it does not wait for a search, and begins none for
// more documents.
const (
	worstRisks     = 3
	waitForWorst   = 200 * time.Millisecond
	maxSearchedFor = 20_000
)

// risksInShort is how many risks there are, and the worst ones.
type risksInShort struct {
	Counts []severityCount
	Worst  []riskGroup
	// Pending is true while they are searched for, and Unasked if they are not.
	Pending, Unasked bool
}

func (r *risksInShort) html() h.Node {
	return piece.Titled("risks", h.Group{h.Text("Risks "), smallLink(risksPath, "All risks")}, r.listed())
}

// listed is the worst risks, or why they are not shown.
func (r *risksInShort) listed() h.Node {
	switch {
	case r.Unasked:
		return piece.P("muted", h.Text("The documents are many: "), piece.A(risksPath, h.Text("Risks")), h.Text(" searches them."))
	case r.Pending:
		return piece.P("muted", h.Text("The documents are being searched for dangerous grants."))
	case len(r.Counts) == 0:
		return piece.P("muted", h.Text("No grant of these documents is dangerous."))
	}
	return h.Group{
		h.Ul(h.Class("key"), h.Aria("label", "Risks by severity"), piece.Each(r.Counts, (*severityCount).html)),
		h.Table(h.Class("stacked worst"), h.Aria("label", "The most severe risks"), h.TBody(piece.Each(r.Worst, func(w *riskGroup) h.Node {
			return h.Tr(piece.Td("nowrap", w.Badge.Pill()), piece.RowHead(piece.A(w.All, h.Text("Can "+w.Can))), piece.Td("num muted small", h.Text(piece.Plural(w.Total, "risk"))))
		}))),
	}
}

// worstOf returns the risks of the overview, nil if they are not known.
func worstOf(ctx context.Context, q *question, documents int) *risksInShort {
	if documents > maxSearchedFor {
		return &risksInShort{Unasked: true}
	}
	ctx, cancel := context.WithTimeout(ctx, waitForWorst)
	defer cancel()
	all, err := q.Risks(ctx, q.caller, console.RisksQuery{Limit: 1})
	if err != nil {
		if isReason(err, console.Pending) {
			return &risksInShort{Pending: true}
		}
		return nil
	}
	var c risksContent
	c.count(all, "")
	short := &risksInShort{Counts: c.Counts}
	for _, found := range all.Codes {
		if found.Accepted < found.Total && len(short.Worst) < worstRisks {
			short.Worst = append(short.Worst, riskGroup{RiskCode: found, Badge: severityMark(found.Severity), All: withValue(risksPath, nil, "code", found.Code)})
		}
	}
	return short
}

// count fills in the counts and the severities of the form.
func (c *risksContent) count(all *console.Risks, severity string) {
	c.Accepted = all.Accepted
	c.Severities = []piece.Option{{Word: "any", Selected: severity == ""}}
	for _, s := range severityMarks {
		c.Severities = append(c.Severities, piece.Option{Value: s.severity, Word: s.severity, Selected: s.severity == severity})
		if n := all.Severities[s.severity]; n > 0 {
			c.Counts = append(c.Counts, severityCount{s.mark, n, withValue(risksPath, nil, "severity", s.severity)})
		}
	}
}

func rowOfRisk(r *console.Risk) riskRow {
	row := riskRow{Risk: *r, Badge: severityMark(r.Severity), More: max(0, len(r.Subjects)-maxRiskSubjects)}
	for _, p := range r.Subjects[:len(r.Subjects)-row.More] {
		row.Subjects = append(row.Subjects, piece.Tab{Name: principalWords(p), Href: subjectHref(p)})
	}
	if len(r.Request) > 0 {
		row.Ask = askHref("access", r.Request)
	}
	return row
}
