package page

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	h "github.com/writ-policy/writ/server/console/page/html"
	"github.com/writ-policy/writ/server/console/page/piece"
	"github.com/writ-policy/writ/translator/tables"
)

// matrixContent is who can do something, or what a subject can do.
type matrixContent struct {
	Tabs  []piece.Tab
	Form  *asked
	What  bool
	Self  bool // the caller asks about itself
	Asked bool
	// Wrong is true if a field has a mistake.
	Wrong bool
	*console.Matrix
	Lines       []matrixLine
	First, Last int
	// Letters lead to the rows of a letter, and Others is the address with the subjects that
	// can do nothing, or without them.
	Letters               []piece.Tab
	Others                string
	Previous, Next, Table string
	Query                 console.MatrixQuery
}

// matrixLine is a row of the matrix.
type matrixLine struct {
	console.Row
	// Href is the address of the subject of the row; empty for a resource. Label is its name,
	// for a service account NAMESPACE/NAME.
	Href, Label string
	Cells       []matrixCell
}

// matrixCell is a link to the question behind a cell.
type matrixCell struct {
	Badge       piece.Mark
	Word        string
	Text, Title string
	// Until is when the outcome changes, in few words.
	Until string
	Href  string
}

func (c *matrixContent) html() h.Node {
	return h.Group{
		piece.Tabs("Question", c.Tabs),
		piece.Div("stack",
			piece.Ask(whoCanPath, "card line top-aligned", "Question", h.If(c.What, piece.Kept("of", "what")), c.Form.shown(), piece.Submit("Show"),
				h.Details(h.Class("whole"), h.If(c.Form.Open, opened), h.Summary(h.Text("Other facts")), c.Form.folded())),
			c.found(),
			h.Iff(c.Asked, func() h.Node {
				return piece.Each(c.Warnings, func(text *string) h.Node { return piece.P("muted small", h.Text(sentence(*text))) })
			})),
	}
}

// found is the matrix, or why it is not shown.
func (c *matrixContent) found() h.Node {
	switch {
	case c.Wrong:
		return piece.Div("card empty", h.P(h.Text("Mend the field that is marked, and press Show.")))
	case !c.Asked && c.What:
		return piece.Div("card empty", h.H2(h.Text("Name a user or a group")), h.P(h.Text("The matrix shows what it can do, by resource and verb.")))
	case !c.Asked:
		return piece.Div("card empty", h.H2(h.Text("Name a resource")), h.P(h.Text("The matrix shows who can do what with it, by subject and verb. Try "),
			piece.A(whoCanPath+"?resource=pods", h.Text("pods")), h.Text(" or "), piece.A(whoCanPath+"?resource=secrets", h.Text("secrets")), h.Text(".")))
	case len(c.Lines) == 0:
		return piece.P("card empty", c.none())
	}
	first, count, file := "Subject", "subject", "who-can.csv"
	if c.What {
		first, count, file = "Resource", "resource", "what-can.csv"
	}
	return h.Group{
		c.legend(),
		h.If(len(c.Letters) > 0, h.Nav(h.Class("letters"), h.Aria("label", "Letters"), piece.Each(c.Letters, func(t *piece.Tab) h.Node {
			return h.A(h.Href(t.Href), h.If(t.Current, h.Aria("current", "true")), h.Text(t.Name))
		}))),
		h.Div(piece.Region("scroll", "Matrix, scrolls"), h.Table(h.Class("matrix"), h.Aria("label", "Matrix"),
			piece.Head(piece.Columns(first), piece.Columns(c.Columns...)), h.TBody(piece.Each(c.Lines, (*matrixLine).html)))),
		piece.Div("pages", piece.Note("muted", piece.Plural(c.Total, count)+", "+piece.Number(c.First)+" to "+piece.Number(c.Last)),
			h.Text("\n"), piece.Pages("", c.Previous, c.Next), h.Text("\n"),
			h.A(h.Class("button"), h.Download(file), h.Href(c.Table), h.Text("Download CSV"))),
	}
}

// others leads to the rows that are left out, or leaves them out.
func (c *matrixContent) others(what, who string) h.Node {
	if c.What {
		who = what
	}
	return piece.A(c.Others, h.Text(who))
}

// none says why the matrix has no row.
func (c *matrixContent) none() h.Node {
	text := "No subject can do anything with " + c.Query.Resource + "."
	switch {
	case c.Query.Search != "":
		return h.Text("Nothing here has “" + c.Query.Search + "” in its name.")
	case c.Self:
		return h.Text("No rule of the documents allows you anything.")
	case c.What:
		text = "No rule of the documents allows " + c.Query.Subject + " anything."
	}
	return h.Group{h.Text(text), h.If(c.Others != "", h.Group{h.Text(" "), c.others("Show every resource", "Show everybody")})}
}

// legend explains the cells.
func (c *matrixContent) legend() h.Node {
	pill := func(outcome string) h.Node { return piece.Badge(outcome).Pill() }
	only := "Only those whom a rule allows something. "
	if c.What {
		only = "Only what a rule allows something on. "
	}
	return h.Ul(h.Class("key"), h.Aria("label", "Legend"), h.Li(pill(console.Allow)), h.Li(pill(console.Deny)), h.Li(pill(console.None)), h.Li(pill(console.Depends), h.Text(" on a fact of the request")),
		h.If(slices.Contains(c.Columns, "*"), h.Li(h.Code(h.Text("*")), h.Text(" every verb, also those without a column"))),
		h.If(c.Others != "" && c.Query.Only, h.Li(h.Text(only), c.others("Show every resource", "Show everybody"))),
		h.If(c.Others != "" && !c.Query.Only, h.Li(c.others("Only what it can do something with", "Only those who can"))))
}

func (l *matrixLine) html() h.Node {
	name := piece.Breakable(l.Name)
	if l.Href != "" {
		name = h.A(h.Href(l.Href), h.Title(l.Name), piece.Breakable(l.Label))
	}
	return h.Tr(piece.RowHead(name, h.Text(" "), piece.Note("kind", l.Kind)), piece.Each(l.Cells, (*matrixCell).html))
}

func (c *matrixCell) html() h.Node {
	word := piece.Note("hidden", c.Word)
	if c.Badge.Word == piece.Badge(console.Depends).Word {
		word = h.Text(c.Word)
	}
	why := func(text string) h.Node { return h.If(text != "", h.Group{h.Text(" "), piece.Note("why", text)}) }
	return h.Td(h.A(h.Class("cell "+c.Badge.Class), h.Href(c.Href), h.Title(c.Title), word, why(c.Text), why(c.Until)))
}

const (
	// matrixPage is how many rows are shown at a time.
	matrixPage = 50
	// whyWidth is the most pixels of a text in a cell, on two lines; the title has all.
	whyWidth = 26 * charWidth
)

// The views of the matrices.
const (
	whoCanPath  = "/page/who-can"
	whatCanPath = whoCanPath + "?of=what"
)

// factsField are facts of the requests that a matrix is about. What is not given is open.
var factsField = fieldForm{
	key: "facts", label: "More keys", path: "facts", kind: fact, folded: true,
	hint: "facts of the requests, YAML or JSON, such as labels: {tier: web} or cluster: prod-eu-1; the others are open",
}

var whoForm = &pointForm{path: whoCanPath, fields: []fieldForm{
	{key: "resource", label: "Resource", names: "resource"}, {key: "apiGroup", label: "API group", names: "apiGroup", hint: "* for all"}, {key: "name", label: "Name"},
	{key: "namespace", label: "Namespace", names: "namespace", hint: "empty: any or none"}, {key: "search", label: "Search", hint: "part of a name"}, factsField,
}}

var whatForm = &pointForm{path: whoCanPath, fields: []fieldForm{
	{key: "subject", label: "Subject", names: "subject", hint: "user:NAME or group:NAME"},
	{key: "namespace", label: "Namespace", names: "namespace", hint: "empty: any or none"}, {key: "search", label: "Search", hint: "part of a resource"}, factsField,
}}

// whoCan is the view of both matrices. A caller who is not an auditor sees what it can do
// itself.
func (p *page) whoCan(ctx context.Context, q *question) (frame, error) {
	c := matrixContent{What: q.value("of") == "what", Self: !q.caller.SeesAll}
	if c.Self && !c.What {
		return frame{}, console.ErrForbidden
	} else if c.Self && q.value("subject") == "" {
		q.query.Set("subject", q.caller.User)
	}
	current := "Who can"
	if c.What {
		current = "What can"
	}
	c.Tabs = questionTabs(q, current)
	asked := console.MatrixQuery{
		Of: "who", Resource: q.value("resource"), APIGroup: q.value("apiGroup"), Name: q.value("name"),
		Namespace: q.value("namespace"), Search: q.value("search"), Limit: matrixPage, After: q.value("after"),
	}
	shown := frame{Title: "Who can", Lead: "Everybody whom the documents name, denials counted in.", Live: "revision"}
	form, isAsked := whoForm, asked.Resource != ""
	if c.What {
		shown.Title, shown.Lead, form = "What can", "What a user or a group can do, denials counted in.", whatForm
		asked = console.MatrixQuery{Of: "what", Subject: q.value("subject"), Namespace: asked.Namespace, Search: asked.Search, Limit: matrixPage, After: asked.After}
		isAsked = asked.Subject != ""
	}
	asked.Only = q.value("all") == ""
	c.Form = form.read(q.query, p.JSON)
	c.Form.setSelf(c.Self)
	if c.Wrong = c.Form.wrong; c.Wrong {
		shown.Status = http.StatusBadRequest
	} else if isAsked {
		if value, err := decodeJSON(c.Form.request); err == nil {
			if facts := at(value.(map[string]any), "facts"); facts != nil { //nolint:errcheck,forcetypeassert // read writes an object
				asked.Facts = jsontext.Encode(facts)
			}
		}
		matrix, err := q.Matrix(ctx, q.caller, asked)
		if err != nil {
			return frame{}, err
		}
		c.Asked, c.Query = true, asked
		c.show(matrix, q.query, q.now)
	}
	shown.Content = &c
	return shown, nil
}

// show fills in the rows of a page.
func (c *matrixContent) show(m *console.Matrix, query url.Values, now time.Time) {
	c.Matrix = m
	for i := range m.Rows {
		line := matrixLine{Row: m.Rows[i]}
		if !c.What {
			line.Href, line.Label = subjectHref(principalOf(&m.Rows[i])), accountName(m.Rows[i].Name)
		}
		for j := range m.Rows[i].Cells {
			line.Cells = append(line.Cells, cellOf(&m.Rows[i].Cells[j], now))
		}
		c.Lines = append(c.Lines, line)
	}
	skipped, err := strconv.Atoi(c.Query.After)
	if err != nil {
		skipped = 0
	}
	c.First, c.Last = skipped+1, skipped+len(m.Rows)
	if skipped > 0 {
		previous := ""
		if skipped > matrixPage {
			previous = strconv.Itoa(skipped - matrixPage)
		}
		c.Previous = withValue(whoCanPath, query, "after", previous)
	}
	all := url.Values{}
	for key, values := range query {
		if key != "after" && key != "all" {
			all[key] = values
		}
	}
	for _, l := range m.Letters {
		c.Letters = append(c.Letters, piece.Tab{Name: l.Letter, Href: withValue(whoCanPath, query, "after", l.After), Current: l.After == c.Query.After || l.After == "0" && skipped == 0})
	}
	if !c.Self {
		c.Others = withValue(whoCanPath, all, "all", map[bool]string{true: "1"}[c.Query.Only])
	}
	if m.After != "" {
		c.Next = withValue(whoCanPath, query, "after", m.After)
	}
	if c.Query.Facts != nil {
		all.Set("facts", string(c.Query.Facts))
	}
	if c.Query.Only {
		all.Set("only", "1")
	}
	c.Table = withValue("/v1/matrix", all, "format", "csv")
}

// principalOf is the principal of a row, user:NAME or group:NAME.
func principalOf(r *console.Row) string {
	if r.Kind == "group" {
		return tables.Group(r.Name)
	}
	return tables.User(r.Name)
}

// cellWords are the outcomes of cells, as in the downloaded table.
var cellWords = map[string]string{console.Allow: "allowed", console.Deny: "denied", console.None: "not allowed", console.Depends: "depends"}

// briefly leaves out the document of a condition, which the title of the cell has.
func briefly(text string) string {
	text, _, _ = strings.Cut(text, " (")
	return text
}

func cellOf(c *console.Cell, now time.Time) matrixCell {
	cell := matrixCell{Badge: piece.Badge(c.Outcome), Word: cellWords[c.Outcome], Text: shorten(briefly(c.Text), whyWidth), Title: c.Title, Href: askHref("access", c.Request)}
	switch {
	case c.Title == "":
		cell.Title = "no rule"
	case c.Source != "":
		cell.Title += ", " + c.Source
	}
	if cell.Text != c.Text {
		cell.Title += ": " + c.Text
	}
	if at, err := console.ParseTime(c.Until); err == nil {
		cell.Until = "until " + nearly(at, now)
		cell.Title += ", until " + c.Until
	}
	return cell
}

// nearly is a time as far as it differs from now: an hour, a day, or a day of another year.
func nearly(at, now time.Time) string {
	now = now.UTC()
	switch {
	case at.Format(time.DateOnly) == now.Format(time.DateOnly):
		return at.Format("15:04")
	case at.Year() == now.Year():
		return at.Format("2 Jan")
	}
	return at.Format("2 Jan 2006")
}
