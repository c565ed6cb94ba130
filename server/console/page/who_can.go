package page

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// matrixContent is who can do something, or what a subject can do.
type matrixContent struct {
	Tabs  []tab
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
	Letters               []tab
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
	Badge       mark
	Word        string
	Text, Title string
	// Until is when the outcome changes, in few words.
	Until string
	Href  string
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
				asked.Facts = encode(facts)
			}
		}
		matrix, err := q.Matrix(ctx, q.caller, asked)
		if err != nil {
			return frame{}, err
		}
		c.Asked, c.Query = true, asked
		c.show(matrix, q.query, q.now)
	}
	shown.Content = c
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
		c.Letters = append(c.Letters, tab{Name: l.Letter, Href: withValue(whoCanPath, query, "after", l.After), Current: l.After == c.Query.After || l.After == "0" && skipped == 0})
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
	cell := matrixCell{Badge: badge(c.Outcome), Word: cellWords[c.Outcome], Text: shorten(briefly(c.Text), whyWidth), Title: c.Title, Href: askHref("access", c.Request)}
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
