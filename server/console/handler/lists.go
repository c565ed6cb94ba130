package handler

import (
	"bytes"
	"encoding/csv"
	"io"
	"net/http"
	"strings"

	"github.com/writ-policy/writ/server/console"
)

// Rates shows how many decisions were made.
func (a *API) Rates() http.HandlerFunc {
	return a.get(func(q *question) (any, error) { return q.view.Rates(q.caller) })
}

// Names lists names that documents have.
func (a *API) Names() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		return q.view.Names(q.caller, q.query.Get("field"), q.query.Get("prefix"))
	}, "field", "prefix")
}

// Subject lists what documents bind to a subject.
func (a *API) Subject() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		return q.view.Subject(q.caller, q.query.Get("subject"), q.limit, q.query.Get("after"))
	}, "subject", "limit", "after")
}

// Role shows a role and who holds it.
func (a *API) Role() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		return q.view.Role(q.caller, console.RoleQuery{
			Family: q.query.Get("family"), Namespace: q.query.Get("namespace"), Name: q.query.Get("name"), Limit: q.limit, After: q.query.Get("after"),
		})
	}, "family", "namespace", "name", "limit", "after")
}

// Files lists the files of documents.
func (a *API) Files() http.HandlerFunc {
	return a.get(func(q *question) (any, error) { return q.view.Files(q.caller) })
}

// Document shows a file.
func (a *API) Document() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		line, err := q.number("line")
		if err != nil {
			return nil, err
		}
		return q.view.Document(q.caller, strings.TrimPrefix(q.r.PathValue("path"), "/"), line)
	}, "line")
}

// Rules lists rules by how often they decided.
func (a *API) Rules() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		return q.view.Rules(q.caller, console.RulesQuery{Never: q.query.Get("never") == "1", Limit: q.limit, After: q.query.Get("after")})
	}, "never", "limit", "after")
}

// Revisions lists revisions that can be compared.
func (a *API) Revisions() http.HandlerFunc {
	return a.get(func(q *question) (any, error) { return q.view.Revisions(q.caller) })
}

// Diff compares two revisions.
func (a *API) Diff() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		return q.view.Diff(q.ctx, q.caller, q.query.Get("from"), q.query.Get("to"))
	}, "from", "to")
}

// Risks lists dangerous grants.
func (a *API) Risks() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		return q.view.Risks(q.ctx, q.caller, console.RisksQuery{
			Code: q.query.Get("code"), Severity: q.query.Get("severity"), Subject: q.query.Get("subject"), Limit: q.limit, After: q.query.Get("after"),
		})
	}, "code", "severity", "subject", "limit", "after")
}

// Log lists recorded decisions.
func (a *API) Log() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		before, err := q.number("before")
		if err != nil {
			return nil, err
		}
		after, err := q.number("after") // older ones are after it in the list
		if err != nil {
			return nil, err
		}
		if after != 0 && (before == 0 || after < before) {
			before = after
		}
		return q.view.Log(q.ctx, q.caller, console.LogQuery{
			Outcome: q.query.Get("outcome"), User: q.query.Get("user"), Resource: q.query.Get("resource"), Namespace: q.query.Get("namespace"),
			Point: q.query.Get("point"), Endpoint: q.query.Get("endpoint"), Limit: q.limit, Before: uint64(before),
		})
	}, "outcome", "user", "resource", "namespace", "point", "endpoint", "before", "limit", "after")
}

// Sessions lists sessions and escalations.
func (a *API) Sessions() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		return q.view.Sessions(q.ctx, q.caller, console.SessionsQuery{
			User: q.query.Get("user"), Cluster: q.query.Get("cluster"), State: q.query.Get("state"), Limit: q.limit, After: q.query.Get("after"),
		})
	}, "user", "cluster", "state", "limit", "after")
}

// errFormat refuses a format that an endpoint does not have.
func errFormat(known string) error {
	return &console.Error{Reason: console.Invalid, Field: "format", Message: "the parameter format must be " + known}
}

// formatCSV is the format of a table of all rows.
const formatCSV = "csv"

// Matrix lists who can do something, or what a subject can do.
func (a *API) Matrix() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		asked := console.MatrixQuery{
			Of: q.query.Get("of"), Resource: q.query.Get("resource"), APIGroup: q.query.Get("apiGroup"), Name: q.query.Get("name"),
			Subject: q.query.Get("subject"), Namespace: q.query.Get("namespace"), Facts: []byte(q.query.Get("facts")), Search: q.query.Get("search"),
			Only: q.query.Get("only") == "1", Limit: q.limit, After: q.query.Get("after"),
		}
		switch q.query.Get("format") {
		case "", "json":
			return q.view.Matrix(q.ctx, q.caller, asked)
		case formatCSV:
			var out bytes.Buffer
			asked.Each = func(part *console.Matrix) error { return writeCSV(&out, part) }
			_, err := q.view.Matrix(q.ctx, q.caller, asked)
			return document{[]string{"text/csv; charset=utf-8"}, "matrix.csv", out.Bytes()}, err
		}
		return nil, errFormat("json or csv")
	}, "of", "resource", "apiGroup", "name", "subject", "namespace", "facts", "search", "only", "limit", "after", "format")
}

// cellWords are the words of cells in a table.
var cellWords = map[string]string{console.Allow: "allowed", console.Deny: "denied", console.None: "not allowed", console.Depends: "depends"}

// writeCSV writes a part of a matrix as comma-separated values: a header, if it has no rows.
func writeCSV(out io.Writer, part *console.Matrix) error {
	w := csv.NewWriter(out)
	lines := make([][]string, 0, len(part.Rows)+1)
	if len(part.Rows) == 0 {
		lines = append(lines, append([]string{"subject", "kind"}, part.Columns...))
	}
	for i := range part.Rows {
		line := []string{part.Rows[i].Name, part.Rows[i].Kind}
		for _, cell := range part.Rows[i].Cells {
			line = append(line, cellWords[cell.Outcome])
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		for i := range line {
			line[i] = harmless(line[i])
		}
	}
	return w.WriteAll(lines)
}

// harmless returns a cell that a spreadsheet does not take for a formula.
func harmless(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// Topology shows how gateways, listeners, routes and rules are connected.
func (a *API) Topology() http.HandlerFunc {
	return a.get(func(q *question) (any, error) {
		t, err := q.view.Topology(q.caller, q.query.Get("gateway"))
		if err != nil {
			return nil, err
		}
		plain := []string{"text/plain; charset=utf-8"}
		switch q.query.Get("format") {
		case "", "json":
			return t, nil
		case "dot":
			return document{plain, "", []byte(t.DOT())}, nil
		case "mermaid":
			return document{plain, "", []byte(t.Mermaid())}, nil
		}
		return nil, errFormat("json, dot or mermaid")
	}, "gateway", "format")
}
