package answers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
)

// commonVerbs are the first columns of each matrix.
var commonVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete"}

// maxColumns bounds the columns of a matrix: documents may name any number of verbs.
const maxColumns = 16

// maxPart is how many rows Matrix computes before it passes them on.
const maxPart = 500

// Matrix implements console.Viewer.
func (v *viewer) Matrix(ctx context.Context, c console.Caller, q console.MatrixQuery) (*console.Matrix, error) {
	if err := v.admitMatrix(c, &q); err != nil {
		return nil, err
	}
	policies := v.policies.At(v.x.o.Now())
	asker := v.asker(policies)
	if asker == nil {
		return nil, errNoTable
	}
	stated, err := statedBy(&q)
	if err != nil {
		return nil, err
	}
	out := &console.Matrix{Columns: v.columns(&q), Rows: []console.Row{}, Warnings: v.stateGroup(&q, stated), Revision: v.Revision()}
	rows, err := v.matrixRows(c, &q, stated)
	if err != nil {
		return nil, err
	}
	out.Total, out.Letters = len(rows), lettersOf(rows, q.Limit)
	f := &filler{asker: asker, policies: policies, stated: stated, columns: out.Columns, isBrief: q.Each != nil}
	if !f.isBrief {
		f.bounds = boundsOfDenials(asker.World, policies.Now())
	}
	if q.Each == nil {
		from, to, after, err := page(len(rows), q.Limit, q.After)
		if err != nil {
			return nil, err
		}
		out.After = after
		out.Rows, err = f.fill(ctx, rows[from:to])
		return out, err
	}
	err = q.Each(out)
	for part := range slices.Chunk(rows, maxPart) {
		if err != nil {
			break
		}
		if out.Rows, err = f.fill(ctx, part); err == nil {
			err = q.Each(out)
		}
	}
	out.Rows = []console.Row{}
	return out, err
}

// asker asks who can do something by the viewer's revision; nil if the tables of its
// bundle do not suffice.
func (v *viewer) asker(policies decision.Policies) *question.Asker {
	now := policies.Now()
	policies = policies.At(now)
	world := statement.Of(policies)
	if world == nil {
		return nil
	}
	return &question.Asker{World: world, Judge: judge.Of(policies), Revision: v.Revision(), Now: now}
}

// statedBy returns the members that the question of a matrix states for all rows.
func statedBy(q *console.MatrixQuery) (map[string]any, error) {
	stated := make(map[string]any)
	if len(q.Facts) > 0 {
		if err := readFacts(q.Facts, stated); err != nil {
			return nil, &console.Error{Reason: console.Invalid, Field: "facts", Message: "facts: " + err.Error()}
		}
	}
	if q.Namespace != "" {
		stated["namespace"] = q.Namespace
	}
	if q.Name != "" {
		stated["name"] = q.Name
	}
	if q.Of != ofWhat {
		stateResource(stated, q.Resource)
	}
	return stated, nil
}

// stateResource states a resource with its subresource.
func stateResource(stated map[string]any, name string) {
	resource, sub, ok := strings.Cut(name, "/")
	if stated["resource"] = resource; ok {
		stated["subresource"] = sub
	}
}

// anyGroup is the API group of a question that leaves it open.
const anyGroup = "*"

// stateGroup states the API group of a question who can do something. One that is not given
// is that in which documents name the resource: the core group, another one, or all of them
// if there are several. It returns the warnings of the matrix.
func (v *viewer) stateGroup(q *console.MatrixQuery, stated map[string]any) []string {
	warnings := []string{"members may hold more than one group"}
	group := q.APIGroup
	resource, isWho := stated["resource"].(string)
	if isWho && group == "" {
		var named []string
		for _, pair := range v.names().resources {
			if main, _, _ := strings.Cut(pair[1], "/"); main == resource && !slices.Contains(named, pair[0]) {
				named = append(named, pair[0])
			}
		}
		switch {
		case len(named) == 0 || named[0] == "":
		case len(named) == 1:
			group = named[0]
			warnings = append(warnings, "the API group is "+group+": documents name "+resource+" in no other")
		default:
			group = anyGroup
			warnings = append(warnings, "the API group is open: documents name "+resource+" in "+strings.Join(statement.Shorten(named), ", "))
		}
	}
	if isWho && group != anyGroup {
		stated["apiGroup"] = group
	}
	return warnings
}

// readFacts reads the facts of a request: members that a question leaves open unless it
// states them, and nothing else.
func readFacts(text []byte, into map[string]any) error {
	value, err := decision.Parse(text)
	if err != nil {
		return err
	}
	if !value.IsObject() {
		return errors.New("must be a JSON object")
	}
	request := map[string]any{"user": "x", "verb": "get", "resource": "x"}
	for key, member := range value.Members() {
		if !slices.Contains(question.Facts(), key) {
			return fmt.Errorf("unknown field %q, must be one of %s", key, strings.Join(question.Facts(), ", "))
		}
		var fact any
		if err := json.Unmarshal(member.Bytes(), &fact); err != nil {
			return err
		}
		into[key], request[key] = fact, fact
	}
	_, err = decision.Decode[decision.Request](jsontext.Marshal(request))
	return err
}

// columns are the verbs of a matrix: the common ones, others that rules for the resource
// name, and "*" last.
func (v *viewer) columns(q *console.MatrixQuery) []string {
	columns := slices.Clone(commonVerbs)
	isAny := false
	resource, _, _ := strings.Cut(q.Resource, "/")
	for _, pair := range v.names().verbs {
		if named, _, _ := strings.Cut(pair[0], "/"); resource != "" && named != resource && named != "*" {
			continue
		}
		isAny = isAny || pair[1] == "*"
		if pair[1] != "*" && !slices.Contains(columns, pair[1]) && len(columns) < maxColumns-1 {
			columns = append(columns, pair[1])
		}
	}
	slices.Sort(columns[len(commonVerbs):])
	if isAny {
		columns = append(columns, "*")
	}
	return columns
}

// filler fills in the cells of rows.
type filler struct {
	asker    *question.Asker
	policies decision.Policies
	stated   map[string]any
	columns  []string
	isBrief  bool            // cells have neither a rule nor a request
	bounds   []dates.Instant // at which denials begin or end, after now

	table *question.Table
}

// fill returns rows with their cells. Rows with the same question share a table.
func (f *filler) fill(ctx context.Context, rows []subjectRow) ([]console.Row, error) {
	out := make([]console.Row, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		if f.table == nil || row.own != nil {
			var err error
			if f.table, err = f.asker.Table(f.questions(row.own)); err != nil {
				return nil, questionError(err)
			}
		}
		cells, err := f.table.Row(ctx, row.principals)
		if err != nil {
			return nil, questionError(err)
		}
		row.Cells = make([]console.Cell, 0, len(cells))
		for i := range cells {
			row.Cells = append(row.Cells, f.cell(ctx, &cells[i]))
		}
		out = append(out, row.Row)
	}
	return out, nil
}

// questions are those of a row, by column.
func (f *filler) questions(own map[string]any) []*question.Question {
	list := make([]*question.Question, 0, len(f.columns))
	for _, verb := range f.columns {
		stated := maps.Clone(f.stated)
		maps.Copy(stated, own)
		list = append(list, verbQuestion(stated, verb))
	}
	return list
}

// verbQuestion is the question of a cell: facts that are not stated are open.
func verbQuestion(stated map[string]any, verb string) *question.Question {
	q := &question.Question{Stated: stated}
	for _, fact := range append(question.Facts(), "name", "namespace", "apiGroup") {
		if _, ok := stated[fact]; !ok {
			q.Open = append(q.Open, fact)
		}
	}
	stated["verb"] = verb
	return q
}

// questionError converts the error of a question.
func questionError(err error) error {
	switch {
	case errors.Is(err, question.ErrTooComplex):
		return console.Errorf(console.Invalid, "%v", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return console.Errorf(console.Busy, "the answer took too long; state more of the request")
	}
	return invalid(err)
}

// cell returns a cell with the rule that decides its request.
func (f *filler) cell(ctx context.Context, c *question.Cell) console.Cell {
	out := console.Cell{Outcome: c.Outcome}
	if c.Text != "" {
		out.Text = c.Text
		if !strings.HasPrefix(c.Text, "in ") && !strings.HasPrefix(c.Text, "unless ") {
			out.Text = "if " + c.Text
		}
	}
	if f.isBrief {
		return out
	}
	out.Request = jsontext.Marshal(c.Request)
	r, err := decision.Decode[decision.Request](out.Request)
	if err != nil {
		return out // a question about all of something, which no request can ask
	}
	d := f.policies.Access(ctx, r)
	out.Until = f.until(ctx, r, d)
	if len(d.Matched) > 0 {
		m := &d.Matched[0]
		out.Source, out.Title = m.Place(), strings.ReplaceAll(fmt.Sprintf("%s %s/%s", m.Kind, m.Namespace, m.Name), " /", " ")
		sessions := elements.Map(m.Via, func(via decision.Via) string { return via.Name })
		if len(sessions) > 0 {
			out.Title += " via session " + strings.Join(sessions, ", ")
		}
	}
	return out
}

// maxBounds is how many times after now are looked at to find when a cell ends.
const maxBounds = 8

// boundsOfDenials returns the first instants after now at which deny policies begin or end.
func boundsOfDenials(w *statement.World, now time.Time) []dates.Instant {
	var out []dates.Instant
	for _, d := range w.Whole().Dated() {
		if d.Kind == "DenyPolicy" {
			out = append(out, d.Dates.Bounds()...)
		}
	}
	out = slices.DeleteFunc(out, func(at dates.Instant) bool { return at <= dates.Of(now) })
	slices.Sort(out)
	return out[:min(len(out), maxBounds)]
}

// until returns when the outcome of a decision changes by the clock, empty if it does not: when
// the last of the rules that decide ends and no other one follows, or a denial begins or ends.
func (f *filler) until(ctx context.Context, r *decision.Request, d decision.Decision) string {
	outcome, bounds := d.Settle(), f.bounds
	if outcome == decision.NoOpinion {
		return ""
	}
	for range maxBounds {
		at, ends := endOf(d.Matched)
		if len(bounds) > 0 && (!ends || bounds[0] <= at) {
			at, ends, bounds = bounds[0], true, bounds[1:]
		}
		if !ends {
			return ""
		}
		if d = f.policies.At(at.Time()).Access(ctx, r); d.Settle() != outcome {
			return at.String()
		}
	}
	return ""
}

// endOf returns when the last of some rules ends; false if one of them does not end.
func endOf(matched []decision.Matched) (last dates.Instant, ends bool) {
	for i := range matched {
		at, err := dates.Parse(matched[i].Until)
		if err != nil {
			return 0, false
		}
		last, ends = max(last, dates.Of(at)), true
	}
	return last, ends
}
