package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/change/question"
	"github.com/writ-policy/writ/translator/tables"
)

// commonVerbs are the first columns of each matrix.
var commonVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// maxColumns bounds the columns of a matrix: documents may name any number of verbs.
const maxColumns = 16

// rowOf is a row before its cells: the question of the row and its principal.
type rowOf struct {
	view.Row
	principal string
	stated    map[string]any
}

// Matrix implements view.Viewer.
func (v *viewer) Matrix(ctx context.Context, c view.Caller, q view.MatrixQuery) (*view.Matrix, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	policies := v.policies.At(v.x.o.Now())
	asker := v.asker(policies)
	if asker == nil {
		return nil, view.Errorf(view.NotReady, "the bundle of the revision has no table of its deny policies")
	}
	stated := make(map[string]any)
	if len(q.Facts) > 0 {
		if err := json.Unmarshal(q.Facts, &stated); err != nil {
			return nil, &view.Error{Reason: view.Invalid, Field: "facts", Message: "facts must be an object"}
		}
	}
	rows, err := v.matrixRows(&q, stated)
	if err != nil {
		return nil, err
	}
	out := &view.Matrix{Columns: v.columns(&q), Rows: []view.Row{}, Total: len(rows), Warnings: []string{"members may hold more than one group"}, Revision: v.Revision()}
	if !q.All {
		if rows, out.After, err = page(rows, q.Limit, q.After); err != nil {
			return nil, err
		}
	}
	if err := v.fill(ctx, asker, policies, rows, out.Columns); err != nil {
		return nil, err
	}
	for i := range rows {
		out.Rows = append(out.Rows, rows[i].Row)
	}
	return out, nil
}

// asker asks who can do something by the viewer's revision; nil if the tables of its
// bundle do not suffice.
func (v *viewer) asker(policies decision.Policies) *question.Asker {
	world := policies.Statements()
	if world == nil {
		return nil
	}
	return &question.Asker{World: world, Judge: decision.Judge(policies), Revision: v.Revision()}
}

// matrixRows lists the rows of all pages. stated has the facts of the question.
func (v *viewer) matrixRows(q *view.MatrixQuery, stated map[string]any) ([]rowOf, error) {
	if q.Namespace != "" {
		stated["namespace"] = q.Namespace
	}
	n := v.names()
	var rows []rowOf
	switch q.Of {
	case "", "who":
		if q.Resource == "" {
			return nil, &view.Error{Reason: view.Invalid, Field: "resource", Message: "resource must not be empty"}
		}
		stated["resource"], stated["apiGroup"] = q.Resource, q.APIGroup
		if resource, sub, ok := strings.Cut(q.Resource, "/"); ok {
			stated["resource"], stated["subresource"] = resource, sub
		}
		if q.Name != "" {
			stated["name"] = q.Name
		}
		for _, p := range n.principals {
			name, kind := nameOf(p)
			rows = append(rows, rowOf{Row: view.Row{Name: name, Kind: kind}, principal: p, stated: stated})
		}
	case "what":
		if q.Subject == "" {
			return nil, &view.Error{Reason: view.Invalid, Field: "subject", Message: "subject must not be empty"}
		}
		principal := principalOf(q.Subject, n.principals)
		for _, r := range n.resources {
			own := map[string]any{"resource": r[1], "apiGroup": r[0]}
			for key, value := range stated {
				own[key] = value
			}
			rows = append(rows, rowOf{Row: view.Row{Name: r[1], Kind: r[0]}, principal: principal, stated: own})
		}
	default:
		return nil, &view.Error{Reason: view.Invalid, Field: "of", Message: `of must be "who" or "what"`}
	}
	if q.Search != "" {
		rows = slices.DeleteFunc(rows, func(r rowOf) bool { return !has(r.Name, q.Search) })
	}
	slices.SortStableFunc(rows, func(a, b rowOf) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind)) })
	return rows, nil
}

// nameOf returns the name and the kind of a principal.
func nameOf(principal string) (name, kind string) {
	if user, ok := strings.CutPrefix(principal, "user:"); ok {
		if strings.HasPrefix(user, "system:serviceaccount:") {
			return user, "service account"
		}
		return user, "user"
	}
	return strings.TrimPrefix(principal, "group:"), "group"
}

// principalOf returns the principal that a text names: as user:NAME, group:NAME or the name
// of either, the user first.
func principalOf(text string, known []string) string {
	if strings.HasPrefix(text, "user:") || strings.HasPrefix(text, "group:") {
		return text
	}
	if !slices.Contains(known, "user:"+text) && slices.Contains(known, "group:"+text) {
		return "group:" + text
	}
	return "user:" + text
}

// columns are the verbs of a matrix: the common ones, others that rules for the resource
// name, and "*" last.
func (v *viewer) columns(q *view.MatrixQuery) []string {
	columns := slices.Clone(commonVerbs)
	isAny := false
	if access := tables.Of[*tables.Access](v.revision.tables); access != nil {
		resource, _, _ := strings.Cut(q.Resource, "/")
		add := func(resources, verbs []string) {
			if resource != "" && !slices.ContainsFunc(resources, func(r string) bool { return r == "*" || strings.HasPrefix(r, resource) }) {
				return
			}
			for _, verb := range verbs {
				isAny = isAny || verb == "*"
				if verb != "*" && !slices.Contains(columns, verb) && len(columns) < maxColumns-1 {
					columns = append(columns, verb)
				}
			}
		}
		for _, role := range access.Roles.All() {
			for i := range role.Kubernetes {
				add(role.Kubernetes[i].Resources, role.Kubernetes[i].Verbs)
			}
			for i := range role.Origin {
				add(role.Origin[i].Kinds, role.Origin[i].Verbs)
			}
		}
	}
	slices.Sort(columns[len(commonVerbs):])
	if isAny {
		columns = append(columns, "*")
	}
	return columns
}

// fill sets the cells of rows. Rows with the same question are asked together.
func (v *viewer) fill(ctx context.Context, asker *question.Asker, policies decision.Policies, rows []rowOf, columns []string) error {
	for from := 0; from < len(rows); {
		to := from + 1
		principals := []string{rows[from].principal}
		for to < len(rows) && sameQuestion(rows[to].stated, rows[from].stated) {
			principals = append(principals, rows[to].principal)
			to++
		}
		for _, verb := range columns {
			cells, err := asker.Cells(ctx, verbQuestion(rows[from].stated, verb), principals)
			if err != nil {
				return questionError(err)
			}
			for i := range cells {
				rows[from+i].Cells = append(rows[from+i].Cells, cellView(ctx, policies, &cells[i]))
			}
		}
		from = to
	}
	return nil
}

// sameQuestion reports whether two rows of a matrix differ in their principals alone.
func sameQuestion(a, b map[string]any) bool {
	return a["resource"] == b["resource"] && a["apiGroup"] == b["apiGroup"]
}

// verbQuestion is the question of a cell: facts that are not stated are open.
func verbQuestion(stated map[string]any, verb string) *question.Question {
	q := &question.Question{Stated: map[string]any{"verb": verb}}
	for key, value := range stated {
		q.Stated[key] = value
	}
	for _, fact := range append(question.Facts(), "name") {
		if _, ok := stated[fact]; !ok {
			q.Open = append(q.Open, fact)
		}
	}
	return q
}

// questionError converts the error of a question.
func questionError(err error) error {
	switch {
	case errors.Is(err, question.ErrTooComplex):
		return view.Errorf(view.Invalid, "%v", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return view.Errorf(view.Busy, "the answer took too long; state more of the request")
	}
	return invalid(err)
}

// cellView returns a cell with the rule that decides its request.
func cellView(ctx context.Context, policies decision.Policies, c *question.Cell) view.Cell {
	out := view.Cell{Outcome: c.Outcome, Request: mustJSON(c.Request)}
	if c.Text != "" {
		out.Text = "if " + c.Text
	}
	r, err := decision.Decode(out.Request)
	if err != nil {
		return out // a question about all of something, which no request can ask
	}
	d := policies.Access(ctx, r)
	if len(d.Matched) > 0 {
		m := &d.Matched[0]
		out.Source, out.Title = m.Source, strings.ReplaceAll(fmt.Sprintf("%s %s/%s", m.Kind, m.Namespace, m.Name), " /", " ")
	}
	return out
}
