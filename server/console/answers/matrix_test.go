package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

func (s *site) matrix(q console.MatrixQuery) *console.Matrix {
	s.t.Helper()
	m, err := s.explorer.Now().Matrix(s.t.Context(), all, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// Where all facts are given, a cell is the decision on its request, and what a cell says
// in general holds for its request.
func TestCellsAreDecisions(t *testing.T) {
	s := newSite(t, policies)
	facts := json.RawMessage(`{"attributes":{},"cluster":"","escalation":"","fields":[],"namespaceLabels":{},"pod":null,"session":"","tenant":"","labels":{"protected":"yes"}}`)
	outcomes := make(map[string]int)
	for name, q := range map[string]console.MatrixQuery{
		"pods":         {Resource: "pods", Namespace: "shop"},
		"a named pod":  {Resource: "pods", Namespace: "shop", Name: "web", Facts: facts},
		"secrets":      {Resource: "secrets", Namespace: "shop", Name: "tls", Facts: facts},
		"nodes":        {Resource: "nodes"},
		"what ed can":  {Of: "what", Subject: "ed", Namespace: "shop"},
		"what ops can": {Of: "what", Subject: "group:ops", Namespace: "shop", Name: "web", Facts: facts},
	} {
		m := s.matrix(q)
		for _, row := range m.Rows {
			if len(row.Cells) != len(m.Columns) {
				t.Fatalf("%s: got %d cells of %s, want %d", name, len(row.Cells), row.Name, len(m.Columns))
			}
			for i, cell := range row.Cells {
				outcomes[cell.Outcome]++
				d := s.decide(t.Context(), string(cell.Request))
				outcome := d.Settle()
				got := outcomeWord(outcome)
				want := cell.Outcome
				if want == console.Depends {
					want = console.Allow // its request is one that is allowed
				}
				if got != want {
					t.Errorf("%s: %s %s says %s, and %s is decided %s", name, row.Name, m.Columns[i], cell.Outcome, cell.Request, got)
				}
				if (cell.Source == "") != (len(d.Matched) == 0) {
					t.Errorf("%s: %s %s: got source %q of %v", name, row.Name, m.Columns[i], cell.Source, d.Matched)
				}
				if q.Facts != nil && cell.Outcome == console.Depends {
					t.Errorf("%s: %s %s depends, where all facts are given", name, row.Name, m.Columns[i])
				}
			}
		}
	}
	for _, word := range []string{console.Allow, console.Deny, console.None, console.Depends} {
		if outcomes[word] == 0 {
			t.Errorf("no cell is %s: %v", word, outcomes)
		}
	}
}

func TestMatrixRows(t *testing.T) {
	s := newSite(t, policies)
	m := s.matrix(console.MatrixQuery{Resource: "pods", Namespace: "shop"})
	var names []string
	for _, row := range m.Rows {
		names = append(names, row.Name+" "+row.Kind)
	}
	if got := strings.Join(names, ", "); got != "ada user, dev group, ed user, ops group" || m.Total != 4 || m.Columns[0] != "get" || m.Columns[len(m.Columns)-1] != "*" {
		t.Errorf("got %s, %d, %v", got, m.Total, m.Columns)
	}
	ed := m.Rows[2].Cells[slices.Index(m.Columns, "update")]
	if ed.Outcome != console.Depends || ed.Source != "protected.yaml:13" || ed.Title != "RoleBinding shop/editors" || ed.Text == "" {
		t.Errorf("got %s", text(t, ed))
	}
	first := s.matrix(console.MatrixQuery{Resource: "pods", Limit: 3})
	second := s.matrix(console.MatrixQuery{Resource: "pods", Limit: 3, After: first.After})
	if len(first.Rows) != 3 || len(second.Rows) != 1 || second.After != "" || second.Rows[0].Name != "ops" {
		t.Errorf("got %s and %s", text(t, first), text(t, second))
	}
	if found := s.matrix(console.MatrixQuery{Resource: "pods", Search: "E"}); found.Total != 2 {
		t.Errorf("got %d rows with an e, want dev and ed", found.Total)
	}
	for name, q := range map[string]console.MatrixQuery{
		"no resource": {}, "no subject": {Of: "what"}, "another form": {Of: "how"}, "not a page": {Resource: "pods", After: "x"}, "facts": {Resource: "pods", Facts: json.RawMessage(`[]`)},
	} {
		if _, err := s.explorer.Now().Matrix(t.Context(), all, q); reasonOf(err) != console.Invalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Facts that are given narrow cells; those that are not stay open.
func TestFactsNarrowCells(t *testing.T) {
	s := newSite(t, policies)
	for facts, want := range map[string]string{
		"": console.Depends, `{}`: console.Depends, `{"cluster":"east"}`: console.Depends, `{"labels":{"protected":"yes"}}`: console.Deny, `{"labels":{}}`: console.Allow,
		`{"labels":{"tier":"gold"},"cluster":"east"}`: console.Allow,
	} {
		m := s.matrix(console.MatrixQuery{Resource: "pods", Namespace: "shop", Facts: json.RawMessage(facts)})
		if got := m.Rows[2].Cells[slices.Index(m.Columns, "update")]; got.Outcome != want {
			t.Errorf("%s: got %s, want %s", facts, text(t, got), want)
		}
	}
	for name, facts := range map[string]string{
		"a list": `[]`, "an unknown member": `{"colour":"red"}`, "a member with a field": `{"verb":"get"}`, "the subject": `{"user":"root"}`,
		"another type": `{"labels":[]}`, "not JSON": `{`, "a member twice": `{"cluster":"a","cluster":"b"}`,
	} {
		var e *console.Error
		if _, err := s.explorer.Now().Matrix(t.Context(), all, console.MatrixQuery{Resource: "pods", Facts: json.RawMessage(facts)}); !errors.As(err, &e) || e.Field != "facts" {
			t.Errorf("%s: got %v, want an error of facts", name, err)
		}
	}
}

// All rows are those of the pages, in their order.
func TestMatrixOfAllRows(t *testing.T) {
	s := newSite(t, policies)
	for _, q := range []console.MatrixQuery{{Resource: "pods", Namespace: "shop"}, {Of: "what", Subject: "ed", Namespace: "shop"}} {
		want := s.matrix(q)
		var got []console.Row
		parts := 0
		q.Each = func(m *console.Matrix) error {
			if parts++; parts == 1 && (len(m.Rows) != 0 || !slices.Equal(m.Columns, want.Columns)) {
				t.Errorf("got %s, want the columns", text(t, m))
			}
			got = append(got, m.Rows...)
			return nil
		}
		if m := s.matrix(q); len(m.Rows) != 0 || len(got) != len(want.Rows) {
			t.Fatalf("got %d and %d rows, want none and %d", len(m.Rows), len(got), len(want.Rows))
		}
		for i := range got {
			for j := range got[i].Cells {
				want.Rows[i].Cells[j].Request, want.Rows[i].Cells[j].Source, want.Rows[i].Cells[j].Title = nil, "", ""
			}
		}
		if text(t, got) != text(t, want.Rows) {
			t.Errorf("got  %s\nwant %s", text(t, got), text(t, want.Rows))
		}
		q.Each = func(*console.Matrix) error { return errors.New("full") }
		if _, err := s.explorer.Now().Matrix(t.Context(), all, q); err == nil || err.Error() != "full" {
			t.Errorf("got %v, want the error of Each", err)
		}
	}
}

func TestNames(t *testing.T) {
	s := newSite(t, policies)
	for field, row := range map[string]struct{ prefix, want string }{
		"user": {"", "ada ed"}, "groups": {"", "dev ops"}, "subject": {"d", "group:dev user:ada user:ed"}, "resource": {"od", "pods"},
		"apiGroup": {"", ""}, "namespace": {"SH", "shop"}, "cluster": {"", "east west"}, "verb": {"li", "list"}, "type": {"pod", "pods"},
	} {
		names, err := s.explorer.Now().Names(all, field, row.prefix)
		if err != nil || strings.Join(names.Names, " ") != row.want {
			t.Errorf("%s: got %v, %v, want %s", field, names, err, row.want)
		}
	}
	if _, err := s.explorer.Now().Names(all, "colour", ""); reasonOf(err) != console.Invalid {
		t.Errorf("got %v for an unknown field", err)
	}
	var many []string
	for range 30 {
		many = append(many, "xa")
	}
	if got := search(append(many, "a"), "a"); len(got) != maxNames || got[0] != "a" {
		t.Errorf("got %v, want the one that begins so first, and %d", got, maxNames)
	}
}

func TestDocuments(t *testing.T) {
	s := newSite(t, policies)
	s.decide(t.Context(), getPods)
	files, err := s.explorer.Now().Files(all)
	if err != nil || len(files.Files) != 3 || text(t, files.Files[2]) != `{"file":"rbac.yaml","documents":4,"diagnostics":0,"errors":0}` {
		t.Fatalf("got %s, %v", text(t, files), err)
	}
	d, err := s.explorer.Now().Document(all, "rbac.yaml", 5)
	if err != nil || d.Total != len(d.Lines) || d.Lines[4] != `  - apiGroups: [""]` || len(d.Documents) != 4 {
		t.Fatalf("got %s, %v", text(t, d), err)
	}
	if got := text(t, d.Documents[0]); got != `{"kind":"Role","namespace":"shop","name":"dev","family":"kubernetes","line":2,"rules":[{"rule":0,"line":5,"decided":1,"matched":1},{"rule":1,"line":8,"decided":0,"matched":0}]}` {
		t.Errorf("got %s", got)
	}
	for _, name := range []string{"", "../rbac.yaml", "./rbac.yaml", "/rbac.yaml", "RBAC.yaml", "rbac.yaml/"} {
		if _, err := s.explorer.Now().Document(all, name, 0); reasonOf(err) != console.NotFound {
			t.Errorf("%q: got %v", name, err)
		}
	}
	if err := s.load(policies + "== broken.yaml\nkind: Role\n"); err == nil {
		t.Fatal("got no error")
	}
	d, err = s.explorer.Now().Document(all, "broken.yaml", 0)
	if err != nil || len(d.Diagnostics) == 0 || d.Diagnostics[0].Text != "kind: Role" || d.Lines[0] != "kind: Role" {
		t.Errorf("got %s, %v", text(t, d), err)
	}
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: long}\nrules: []\n"
	long := "== long.yaml\n" + role + strings.Repeat("# line\n", 4996)
	if err := s.load(policies + long); err != nil {
		t.Fatal(err)
	}
	d, err = s.explorer.Now().Document(all, "long.yaml", 3000)
	if err != nil || len(d.Lines) != maxLines || d.From > 3000 || d.From+maxLines < 3000 || d.Total != 5000 {
		t.Errorf("got %d lines from %d of %d, %v", len(d.Lines), d.From, d.Total, err)
	}
}

// Two revisions of the process can be compared, with the text of their documents.
func TestDiff(t *testing.T) {
	s := newSite(t, policies)
	before := s.active.Loaded().Revision
	if err := s.load(strings.Replace(policies, "verbs: [get, list, create]", "verbs: [get, list]", 1)); err != nil {
		t.Fatal(err)
	}
	v := s.explorer.Now()
	list, err := v.Revisions(all)
	if err != nil || len(list.Revisions) != 2 || !list.Revisions[0].Active || list.Revisions[1].Revision != before {
		t.Fatalf("got %s, %v", text(t, list), err)
	}
	job := s.explorer.compare([2]string{before, s.active.Loaded().Revision}) // begun by Revisions
	<-job.done
	diff, err := v.Diff(t.Context(), all, before[:12], s.active.Loaded().Revision[:12])
	if err != nil || diff.Equivalent || diff.Summary["loss"] == 0 || len(diff.Texts) != 1 {
		t.Fatalf("got %s, %v", text(t, diff), err)
	}
	if got := strings.Join(diff.Texts[0].Lines, "\n"); !strings.Contains(got, "-    verbs: [get, list, create]\n+    verbs: [get, list]") || !strings.HasPrefix(got, "@") {
		t.Errorf("got %s", got)
	}
	if list, _ := v.Revisions(all); list.Revisions[0].Summary["loss"] == 0 {
		t.Errorf("got %s, want the summary of the comparison", text(t, list))
	}
	if _, err := v.Diff(t.Context(), all, "ffff", before); reasonOf(err) != console.NotFound {
		t.Errorf("got %v for a revision that is not known", err)
	}
}

const gateways = `== gateway.yaml
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: net}
spec:
  gatewayClassName: x
  listeners: [{name: http, port: 80, protocol: HTTP, hostname: "*.example.com"}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: books, namespace: net}
spec:
  parentRefs: [{name: edge}]
  hostnames: [books.example.com]
  rules:
    - name: read
      matches: [{method: GET, path: {type: PathPrefix, value: /books}}]
    - name: write
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: closed, namespace: net}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  defaults:
    strategy: merge
    rules: {authorization: {no: {patternMatching: {patterns: [{predicate: "false"}]}}}}
`

func TestTopology(t *testing.T) {
	s := newSite(t, gateways)
	graph, err := s.explorer.Now().Topology(all, "net/edge")
	if err != nil || len(graph.Nodes) != 5 || len(graph.Edges) != 4 {
		t.Fatalf("got %s, %v", text(t, graph), err)
	}
	if got := text(t, graph.Nodes[0]); !strings.Contains(got, `"id":"Gateway/net/edge"`) || !strings.Contains(got, `"forms":["defaults, merge"]`) || !strings.Contains(got, `"enforced":true`) {
		t.Errorf("got %s", got)
	}
	if got := graph.Nodes[3]; got.Name != "read" || got.Shows != "GET /books/*" || got.Column != ruleColumn {
		t.Errorf("got %s", text(t, got))
	}
	if _, err := s.explorer.Now().Topology(all, "net/none"); reasonOf(err) != console.NotFound {
		t.Errorf("got %v for a gateway that is not there", err)
	}
	if effective, err := s.explorer.Now().Effective(all, "AuthPolicy", graph.Nodes[3].ID); err != nil || len(effective.Each()) == 0 {
		t.Errorf("got %v, %v", effective, err)
	}
	if _, err := s.explorer.Now().Effective(all, "AuthPolicy", "HTTPRoute/net/none"); reasonOf(err) != console.NotFound {
		t.Errorf("got %v for a route that is not there", err)
	}
	e := s.explain(decision.Gateway, `{"gateway":{"namespace":"net","name":"edge"},"request":{"host":"books.example.com","method":"GET","path":"/books/1"}}`)
	if e.Outcome != console.Deny || len(e.Steps) == 0 {
		t.Errorf("got %s", text(t, e))
	}
}

const endingDocuments = `== a.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
BINDINGS
`

// A cell states when its outcome changes by the clock: when the last rule that allows it ends,
// or a denial begins or ends. A cell that stays states nothing.
func TestEndsOfCells(t *testing.T) {
	const (
		ten, noon = "2026-11-22T10:00:00Z", "2026-11-22T12:00:00Z"
		document  = "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: {name: %s, %sannotations: {%s}}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}\nsubjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ada}]\n"
		denial    = "apiVersion: breakglass.t-caas.telekom.com/v1alpha1\nkind: DenyPolicy\nmetadata: {name: d, annotations: {%s}}\nspec: {rules: [{verbs: [get], apiGroups: [\"\"], resources: [pods]}]}\n"
	)
	after, before := func(at string) string { return "writ.dev/not-after: " + at }, func(at string) string { return "writ.dev/not-before: " + at }
	cluster := func(name, dates string) string { return fmt.Sprintf(document, "ClusterRoleBinding", name, "", dates) }
	own := func(name, dates string) string {
		return fmt.Sprintf(document, "RoleBinding", name, "namespace: shop, ", dates)
	}
	for name, row := range map[string]struct {
		documents     []string
		outcome, want string
	}{
		"without an end":                    {[]string{cluster("a", "")}, console.Allow, ""},
		"with an end":                       {[]string{cluster("a", after(noon))}, console.Allow, noon},
		"two ends":                          {[]string{cluster("a", after(ten)), cluster("b", after(noon))}, console.Allow, noon},
		"an end and none":                   {[]string{cluster("a", after(ten)), cluster("b", "")}, console.Allow, ""},
		"another binding stays":             {[]string{cluster("a", after(ten)), own("b", "")}, console.Allow, ""},
		"another binding ends":              {[]string{cluster("a", after(ten)), own("b", after(noon))}, console.Allow, noon},
		"another binding follows":           {[]string{cluster("a", after(ten)), cluster("b", before(ten)+", "+after(noon))}, console.Allow, noon},
		"a gap":                             {[]string{cluster("a", after(ten)), cluster("b", before(noon))}, console.Allow, ten},
		"a denial begins":                   {[]string{cluster("a", after(noon)), fmt.Sprintf(denial, before(ten))}, console.Allow, ten},
		"a denial ends":                     {[]string{cluster("a", ""), fmt.Sprintf(denial, after(ten))}, console.Deny, ten},
		"a denial ends, and a grant begins": {[]string{fmt.Sprintf(denial, after(ten)), cluster("a", before("2027-01-01T00:00:00Z"))}, console.Deny, ten},
		"a grant begins":                    {[]string{cluster("a", before(noon))}, console.None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, strings.Replace(endingDocuments, "BINDINGS", strings.Join(row.documents, "---\n"), 1))
			m := s.matrix(console.MatrixQuery{Resource: "pods", Namespace: "shop"})
			if len(m.Rows) != 1 || m.Columns[0] != "get" {
				t.Fatalf("got %+v", m)
			}
			ends := ""
			for _, b := range s.held("user:ada") {
				ends = max(ends, b.Until)
			}
			if strings.HasPrefix(name, "with") && ends != row.want {
				t.Errorf("got a binding until %q, want %q", ends, row.want)
			}
			if got := m.Rows[0].Cells[0]; got.Outcome != row.outcome || got.Until != row.want {
				t.Errorf("got %s until %q, want %s until %q", got.Outcome, got.Until, row.outcome, row.want)
			}
		})
	}
}

// held are the bindings of a subject, which are those of the holders of its role as well.
func (s *site) held(subject string) []console.BindingOf {
	s.t.Helper()
	found, err := s.explorer.Now().Subject(all, subject, 0, "")
	if err != nil {
		s.t.Fatal(err)
	}
	role, err := s.explorer.Now().Role(all, console.RoleQuery{Name: "viewer"})
	if err != nil {
		s.t.Fatal(err)
	}
	var out []console.BindingOf
	for _, b := range found.Bindings {
		out = append(out, b.BindingOf)
	}
	if !slices.Equal(out, role.Holders) {
		s.t.Errorf("got the bindings %+v and the holders %+v", out, role.Holders)
	}
	return out
}
