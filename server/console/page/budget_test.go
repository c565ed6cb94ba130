package page

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/writ-policy/writ/server/console"
)

// Budgets of a view: what a browser without any file receives, as transferred, and how many
// elements it lays out.
const (
	usualBytes  = 60 << 10
	mostBytes   = 200 << 10
	mostElement = 6000
)

// wide is a Viewer with the largest answers that it may have, of a hundred thousand bindings.
type wide struct{ *recorded }

func (w wide) Now() console.Viewer { return w }

func (wide) Files(console.Caller) (*console.Files, error) {
	f := &console.Files{Errors: 5000, Warnings: 5000}
	for i := range 10_000 {
		f.Files = append(f.Files, console.File{File: fmt.Sprintf("teams/team-%03d/binding-%05d.yaml", i%400, i), Documents: 10, Diagnostics: 1})
	}
	for i := range 100 {
		f.Diagnostics = append(f.Diagnostics, diagnosticAt(i+1))
	}
	return f, nil
}

func diagnosticAt(line int) console.Diagnostic {
	return console.Diagnostic{
		File: "a.yaml", Line: line, Column: 3, Length: 4, Severity: "error", Code: "dangling-role", Message: fmt.Sprintf("role %d is not declared", line),
		Hint: "did you mean another one?", Related: []console.Related{{File: "b.yaml", Line: line, Message: "declared here"}}, Text: "  role: x",
	}
}

func (wide) Document(_ console.Caller, file string, line int) (*console.Document, error) {
	d := &console.Document{File: file, From: max(1, line-1000), Total: 100_000}
	for i := range 2000 {
		text := fmt.Sprintf(`  name: "binding-%d" # who`, i)
		at := strings.Index(text, "#")
		d.Lines = append(d.Lines, text)
		d.Tokens = append(d.Tokens, []console.Token{{From: 2, To: 6, Class: "key"}, {From: 8, To: at - 1, Class: "string"}, {From: at, To: len(text), Class: "comment"}})
		if i%20 == 0 {
			d.Diagnostics = append(d.Diagnostics, diagnosticAt(d.From+i))
		}
	}
	return d, nil
}

func (wide) Matrix(_ context.Context, _ console.Caller, q console.MatrixQuery) (*console.Matrix, error) {
	m := &console.Matrix{Total: 100_000, After: "50", Warnings: []string{"members may hold more than one group"}}
	for i := range 16 {
		m.Columns = append(m.Columns, fmt.Sprintf("verb%d", i))
	}
	for i := range q.Limit {
		row := console.Row{Name: fmt.Sprintf("user-%d@example.com", i), Kind: "user"}
		for j := range m.Columns {
			request := fmt.Sprintf(`{"user":"user-%d@example.com","verb":"verb%d","resource":"pods","namespace":"team"}`, i, j)
			row.Cells = append(row.Cells, console.Cell{Outcome: console.Depends, Text: "in team-*", Title: fmt.Sprintf("RoleBinding team-%d/viewers", i), Source: "a.yaml:3", Request: []byte(request)})
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

func (w wide) Subject(c console.Caller, subject string, limit int, after string) (*console.Subject, error) {
	s, err := w.recorded.Subject(c, subject, limit, after)
	if err != nil {
		return nil, err
	}
	for n := len(s.Bindings); n > 0 && n < 50; n++ {
		s.Bindings = append(s.Bindings, s.Bindings[0])
	}
	return s, nil
}

func (w wide) Role(c console.Caller, q console.RoleQuery) (*console.Role, error) {
	r, err := w.recorded.Role(c, q)
	if err != nil {
		return nil, err
	}
	for n := len(r.Rules); n < 1000; n++ {
		r.Rules = append(r.Rules, r.Rules[0])
	}
	for n := len(r.Holders); n < 50; n++ {
		r.Holders = append(r.Holders, r.Holders[0])
	}
	return r, nil
}

func (w wide) Rules(c console.Caller, q console.RulesQuery) (*console.Rules, error) {
	rules, err := w.recorded.Rules(c, q)
	if err != nil {
		return nil, err
	}
	for len(rules.Rules) < 50 {
		rules.Rules = append(rules.Rules, rules.Rules[0])
	}
	return rules, nil
}

func (w wide) Log(ctx context.Context, c console.Caller, q console.LogQuery) (*console.Log, error) {
	log, err := w.recorded.Log(ctx, c, q)
	if err != nil {
		return nil, err
	}
	for n := len(log.Decisions); n > 0 && n < 50; n++ {
		log.Decisions = append(log.Decisions, log.Decisions[0])
	}
	return log, nil
}

// Risks has many of each of many codes, each of many subjects.
func (w wide) Risks(ctx context.Context, c console.Caller, q console.RisksQuery) (*console.Risks, error) {
	r, err := w.recorded.Risks(ctx, c, console.RisksQuery{Subject: q.Subject})
	if err != nil || len(r.Risks) == 0 {
		return r, err
	}
	for len(r.Codes) < 22 {
		r.Codes = append(r.Codes, r.Codes[0])
	}
	one := r.Risks[0]
	for len(one.Subjects) < 1000 {
		one.Subjects = append(one.Subjects, one.Subjects...)
	}
	r.Risks, r.After = nil, "50"
	for range cmp.Or(q.Limit, 50) {
		r.Risks = append(r.Risks, one)
	}
	return r, nil
}

// Explain has a subject whom each of a thousand bindings gives the same.
func (w wide) Explain(ctx context.Context, c console.Caller, point string, request []byte, at time.Time) (*console.Explanation, error) {
	e, err := w.recorded.Explain(ctx, c, point, request, at)
	if err != nil {
		return nil, err
	}
	for i := range e.Steps {
		for n := len(e.Steps[i].Matched); n > 0 && n < 1000; n++ {
			e.Steps[i].Matched = append(e.Steps[i].Matched, e.Steps[i].Matched[0])
		}
	}
	return e, nil
}

// Topology has routes that are not alike.
func (w wide) Topology(console.Caller, string) (*console.Topology, error) {
	t := &console.Topology{Gateways: []string{"net/edge"}, Nodes: []console.Node{{ID: "Gateway/net/edge", Kind: "Gateway", Name: "net/edge"}, {ID: "Gateway/net/edge#http", Kind: "Listener", Name: "http", Column: 1}}}
	for i := range 2000 {
		id := fmt.Sprintf("HTTPRoute/shop/route-%d", i)
		t.Nodes = append(t.Nodes, console.Node{
			ID: id, Kind: "HTTPRoute", Name: fmt.Sprintf("shop/route-%d", i), Column: 2, Policies: []console.NodePolicy{{Kind: "AuthPolicy", Namespace: "shop", Name: fmt.Sprint(i), Source: "a.yaml:1", Enforced: true}},
		})
		t.Edges = append(t.Edges, [2]string{"Gateway/net/edge#http", id})
	}
	return t, nil
}

func (w wide) Diff(ctx context.Context, c console.Caller, from, to string) (*console.Diff, error) {
	d, err := w.recorded.Diff(ctx, c, from, to)
	if err != nil {
		return nil, err
	}
	for n := len(d.Groups); n > 0 && n < 1000; n++ {
		d.Groups = append(d.Groups, d.Groups[0])
	}
	for i := range 100 {
		d.Texts = append(d.Texts, console.TextDiff{File: fmt.Sprintf("%d.yaml", i), Lines: strings.Split(strings.Repeat("+name: x\n", 200), "\n")})
	}
	return d, nil
}

// Each view keeps its budget, that of the examples the usual one, and the largest that
// documents can make the outermost one.
func TestBudgets(t *testing.T) {
	usual := options(t)
	largest := options(t)
	largest.Console = wide{record(t)}
	assets := 0
	for _, path := range loadAssets().paths {
		assets += get(New(usual), path, "Accept-Encoding", "gzip").Body.Len()
	}
	targets := append(shown, []struct{ name, target string }{
		{"all diagnostics", "/page/?diagnostics=all"}, {"the middle of a document", "/page/documents/a.yaml?line=50000"},
		{"a folder that is open", "/page/documents?open=teams"}, {"a file of many", "/page/documents/teams/team-007/binding-00007.yaml?" + url.Values{"open": {"teams"}}.Encode()},
	}...)
	for _, tt := range []struct {
		name  string
		o     Options
		bytes int
	}{{"usual", usual, usualBytes}, {"largest", largest, mostBytes}} {
		h := New(tt.o)
		most, bytes := 0, 0
		for _, v := range targets {
			size := assets + get(h, v.target, "Accept-Encoding", "gzip").Body.Len()
			count := countElements(get(h, v.target).Body.String())
			most, bytes = max(most, count), max(bytes, size)
			if size > tt.bytes {
				t.Errorf("%s, %s: %d bytes as transferred, want at most %d", v.name, tt.name, size, tt.bytes)
			}
			if count > mostElement {
				t.Errorf("%s, %s: %d elements, want at most %d", v.name, tt.name, count, mostElement)
			}
		}
		t.Logf("%s: at most %d bytes with assets of %d, and %d elements", tt.name, bytes, assets, most)
		if tt.name == "largest" && most < mostElement/2 {
			t.Errorf("the largest view has %d elements: nothing is bounded", most)
		}
	}
}

func countElements(document string) int {
	z, count := html.NewTokenizer(strings.NewReader(document)), 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return count
		case html.StartTagToken, html.SelfClosingTagToken:
			count++
		case html.TextToken, html.EndTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}
