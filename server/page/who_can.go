package page

import (
	"context"
	"net/url"
	"strconv"

	"github.com/writ-policy/writ/server/view"
)

// matrixContent is who can do something, or what a subject can do.
type matrixContent struct {
	Tabs   []tab
	Inputs []input
	What   bool
	Asked  bool
	*view.Matrix
	Lines                 []matrixLine
	First, Last           int
	Previous, Next, Table string
	Query                 view.MatrixQuery
}

// matrixLine is a row of the matrix.
type matrixLine struct {
	view.Row
	Cells []matrixCell
}

// matrixCell is a link to the question behind a cell.
type matrixCell struct {
	Badge       mark
	Word        string
	Text, Title string
	Href        string
}

// matrixPage is how many rows are shown at a time.
const matrixPage = 50

const whoCanPath = "/page/who-can"

// whoCan is the view of both matrices.
func whoCan(ctx context.Context, q *question) (frame, error) {
	c := matrixContent{What: q.value("of") == "what"}
	c.Tabs = []tab{{Name: "Who can", Href: whoCanPath, Current: !c.What}, {Name: "What can", Href: whoCanPath + "?of=what", Current: c.What}}
	asked := view.MatrixQuery{Of: "who", Namespace: q.value("namespace"), Search: q.value("search"), Limit: matrixPage, After: q.value("after")}
	title, lead := "Who can", "Everybody whom the documents name, denials counted in."
	if c.What {
		title, lead = "What can", "What a user or a group can do, denials counted in."
		asked.Of, asked.Subject = "what", q.value("subject")
		c.Asked = asked.Subject != ""
		c.Inputs = []input{
			{Key: "subject", Label: "Subject", Value: asked.Subject, Names: "subject", Hint: "user:NAME or group:NAME"},
			{Key: "namespace", Label: "Namespace", Value: asked.Namespace, Names: "namespace"},
			{Key: "search", Label: "Search", Value: asked.Search, Hint: "part of a resource"},
		}
	} else {
		asked.Resource, asked.APIGroup, asked.Name = q.value("resource"), q.value("apiGroup"), q.value("name")
		c.Asked = asked.Resource != ""
		c.Inputs = []input{
			{Key: "resource", Label: "Resource", Value: asked.Resource, Names: "resource"},
			{Key: "apiGroup", Label: "API group", Value: asked.APIGroup, Names: "apiGroup"},
			{Key: "name", Label: "Name", Value: asked.Name},
			{Key: "namespace", Label: "Namespace", Value: asked.Namespace, Names: "namespace"},
			{Key: "search", Label: "Search", Value: asked.Search, Hint: "part of a name"},
		}
	}
	shown := frame{Title: title, Lead: lead, Live: "revision"}
	if c.Asked {
		matrix, err := q.Matrix(ctx, q.caller, asked)
		if err != nil {
			return frame{}, err
		}
		c.show(matrix, q.query, asked.After)
		c.Query = asked
	}
	shown.Content = c
	return shown, nil
}

// show fills in the rows of a page.
func (c *matrixContent) show(m *view.Matrix, query url.Values, after string) {
	c.Matrix = m
	for i := range m.Rows {
		line := matrixLine{Row: m.Rows[i]}
		for j := range m.Rows[i].Cells {
			line.Cells = append(line.Cells, cellOf(&m.Rows[i].Cells[j]))
		}
		c.Lines = append(c.Lines, line)
	}
	skipped, err := strconv.Atoi(after)
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
	if m.After != "" {
		c.Next = withValue(whoCanPath, query, "after", m.After)
	}
	all := url.Values{}
	for key, values := range query {
		if key != "after" {
			all[key] = values
		}
	}
	c.Table = withValue("/v1/matrix", all, "format", "csv")
}

// cellWords are the outcomes of cells, as in the downloaded table.
var cellWords = map[string]string{view.Allow: "allowed", view.Deny: "denied", view.None: "not allowed", view.Depends: "depends"}

func cellOf(c *view.Cell) matrixCell {
	cell := matrixCell{Badge: badge(c.Outcome), Word: cellWords[c.Outcome], Text: c.Text, Title: c.Title, Href: askHref("access", c.Request)}
	switch {
	case c.Title == "":
		cell.Title = "no rule"
	case c.Source != "":
		cell.Title += ", " + c.Source
	}
	return cell
}
