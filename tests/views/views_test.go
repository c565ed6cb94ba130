package views

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/writ-policy/writ/server/console"
)

// words are those of views for outcomes of JSON.
var words = map[string]string{
	console.Allow: "Allowed", console.Deny: "Denied", console.None: "Not allowed", console.Partial: "Partly", console.Failed: "Error", console.Depends: "Depends",
}

// states are those for states of steps.
var states = map[string]string{console.Decides: "decides", console.Late: "comes too late", console.NoMatch: "no match", console.NotAsked: "not asked"}

// The views show what the endpoints return: each has the facts of its JSON, in the same order.
func TestViewsShowTheJSON(t *testing.T) {
	s := newSite(t)
	for _, request := range []string{
		`{"user":"Edgar","verb":"delete","resource":"deploymentconfigs","namespace":"hammer","labels":{"protected":"yes"}}`,
		`{"user":"Edgar","verb":"get","resource":"pods","namespace":"hammer"}`,
	} {
		ask[json.RawMessage](s, "/v1/decisions/access", request)
	}
	first := answer[console.Status](s, "/v1/status").Revision
	s.edit("hammer/project.yaml", "[Vera]", "[Vera, Nora]")
	s.edit("hammer/project.yaml", "[Vera, Nora]", "[Vera]")
	if now := answer[console.Status](s, "/v1/status").Revision; now != first {
		t.Errorf("got revision %s of the first documents, want %s", now, first)
	}
	t.Run("Overview", func(t *testing.T) { s.with(t).overview() })
	t.Run("Ask", func(t *testing.T) { s.with(t).explanations() })
	t.Run("Who can", func(t *testing.T) { s.with(t).matrices() })
	t.Run("Subjects and roles", func(t *testing.T) { s.with(t).subjects() })
	t.Run("Risks", func(t *testing.T) { s.with(t).risks() })
	t.Run("Documents", func(t *testing.T) { s.with(t).documents() })
	t.Run("Inheritance", func(t *testing.T) { s.with(t).inheritance(); s.with(t).replaced() })
	t.Run("Changes", func(t *testing.T) { s.with(t).changes() })
	t.Run("Before a merge", func(t *testing.T) { s.with(t).proposal() })
	t.Run("Log", func(t *testing.T) { s.with(t).log() })
}

// with is the site for a part of the test.
func (s *site) with(t *testing.T) *site { return &site{T: t, base: s.base, dir: s.dir} }

// equal compares a part of a view with what its JSON comes to.
func equal(s *site, what string, got, want []string) {
	s.Helper()
	a, b := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want)
	if a != b || len(want) == 0 {
		s.Errorf("%s: got\n%s\nwant, and something,\n%s", what, a, b)
	}
}

func (s *site) overview() {
	v, status, files := s.view("/page/"), answer[console.Status](s, "/v1/status"), answer[console.Files](s, "/v1/documents")
	id := v.all(func(n node) bool { return n.attribute("id") == "revision" })
	if len(id) != 1 || id[0].text() != status.Revision {
		s.Errorf("got %v, want revision %s", id, status.Revision)
	}
	var got, want []string
	for _, d := range v.named("Diagnostics").tags("a") {
		got = append(got, d.text())
	}
	for _, d := range files.Diagnostics {
		if place := fmt.Sprintf("%s:%d:%d", d.File, d.Line, d.Column); !slices.Contains(got, place) && len(want) < 20 {
			s.Errorf("got diagnostics %q, want %s", got, place)
		}
		want = append(want, d.File)
	}
	denied := answer[console.Log](s, "/v1/log?outcome=deny&limit=5")
	got, want = nil, nil
	for _, row := range v.named("Last denied").rows() {
		got = append(got, row[1]+" "+row[2])
	}
	for _, e := range denied.Decisions {
		who, what, source := asked(s, e)
		want = append(want, who+" "+what+" "+source)
	}
	equal(s, "last denied", got, want)
}

// asked returns who asked for what in a recorded decision, and where its rule stands.
func asked(s *site, e console.Entry) (who, what, source string) {
	var r struct{ User, Verb, Resource, Namespace string }
	var d struct{ Matched []console.Matched }
	if json.Unmarshal(e.Request, &r) != nil || json.Unmarshal(e.Decision, &d) != nil {
		s.Fatalf("got %s and %s", e.Request, e.Decision)
	}
	if len(d.Matched) > 0 {
		source = sources(d.Matched[0])[0]
	}
	return r.User, r.Verb + " " + r.Resource + " in " + r.Namespace, source
}

// sources returns the places of a rule as the page has them: first that of its binding.
func sources(m console.Matched) []string {
	if m.Binding.Source != "" {
		return []string{m.Binding.Source, m.Source}
	}
	return []string{m.Source}
}

func (s *site) explanations() {
	for path, row := range map[string]struct{ point, request string }{
		"/page/ask?user=Edgar&verb=delete&resource=deploymentconfigs&namespace=hammer":                                    {"access", `{"user":"Edgar","verb":"delete","resource":"deploymentconfigs","namespace":"hammer"}`},
		"/page/ask?user=Edgar&verb=watch&resource=secrets&namespace=hammer&name=x":                                        {"access", `{"user":"Edgar","verb":"watch","resource":"secrets","namespace":"hammer","name":"x"}`},
		"/page/ask/gateway?host=shop.example.com&method=POST&path=/":                                                      {"gateway", `{"request":{"host":"shop.example.com","method":"POST","path":"/"}}`},
		"/page/ask/visibility?user=x&groups=dev&clusterName=prod-eu-1&clusterLabels=" + url.QueryEscape(`{"env":"prod"}`): {"visibility", `{"user":"x","groups":["dev"],"cluster":{"name":"prod-eu-1","labels":{"env":"prod"}}}`},
		"/page/ask/visibility?user=x&groups=hammer-devs&clusterName=prod-eu-1&type=namespaces&more=" + url.QueryEscape(`{"items":[{"name":"hammer"},{"name":"anvil"}]}`): {
			"visibility", `{"user":"x","groups":["hammer-devs"],"cluster":{"name":"prod-eu-1"},"type":"namespaces","items":[{"name":"hammer"},{"name":"anvil"}]}`},
	} {
		v, e := s.view(path), ask[console.Explanation](s, "/v1/explanations/"+row.point, row.request)
		if outcome, reason := v.named("Outcome").text(), v.named("Answer").text(); outcome != words[e.Outcome] || !strings.Contains(reason, e.Reason) {
			s.Errorf("%s: got %s, want %s: %s", path, outcome, words[e.Outcome], e.Reason)
		}
		var got, want []string
		for _, ladder := range v.all(func(n node) bool { return n.attribute("class") == "ladder" }) {
			for _, a := range ladder.tags("a") {
				got = append(got, a.text())
			}
		}
		for _, step := range e.Steps {
			for _, m := range step.Matched {
				places := sources(m)
				want = append(want, places[:len(places)-1]...)
				if m.Role != nil {
					want = append(want, nameOf(m.Role.Kind, m.Role.Namespace, m.Role.Name))
				}
				want = append(want, places[len(places)-1])
			}
			for _, p := range step.Policies {
				want = append(want, p.Source)
			}
			if ladder := v.text(); !strings.Contains(ladder, step.Title) || !strings.Contains(ladder, states[step.State]) {
				s.Errorf("%s: want the step %q, %s", path, step.Title, states[step.State])
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			s.Errorf("%s: got the rules of the ladder %q, want %q", path, got, want)
		}
		got, want = nil, nil
		for _, row := range v.named("What if").rows() {
			got = append(got, row[0]+": "+row[1])
		}
		for _, w := range e.WhatIf {
			want = append(want, w.Text+": "+words[w.Outcome])
		}
		equal(s, path+", what if", got, want)
		if e.Items != nil {
			got, want = nil, nil
			for _, row := range v.named("Items").rows() {
				got = append(got, row[1]+" "+row[2])
			}
			for _, item := range e.Items {
				want = append(want, map[bool]string{true: "yes", false: "no"}[item.Shown]+" "+item.HiddenBy)
			}
			equal(s, path+", items", got, want)
		}
		if nearest := v.named("Nearest").rows(); len(nearest) != len(e.Nearest) {
			s.Errorf("%s: got %d nearest rules, want %d", path, len(nearest), len(e.Nearest))
		}
	}
}

// nameOf is the name of a document as views have it.
func nameOf(kind, namespace, name string) string {
	return kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}

// subjects compares the views of subjects, and of the roles of their bindings.
func (s *site) subjects() {
	bound := 0
	for _, name := range []string{"user:Edgar", "user:priya", "group:shop-developers"} {
		subject := answer[console.Subject](s, "/v1/subject?subject="+url.QueryEscape(name))
		v := s.view("/page/who-can/subject?subject=" + url.QueryEscape(name))
		var got, want []string
		for _, row := range v.named("Bindings").rows() {
			got = append(got, row[0]+" | "+row[2]+" | "+row[4])
		}
		for _, b := range subject.Bindings {
			in := "in " + b.In
			if b.In == "" {
				in = "every namespace"
			}
			want = append(want, nameOf(b.Role.Kind, b.Role.Namespace, b.Role.Name)+" | "+in+" | "+nameOf(b.Kind, b.Namespace, b.Name)+b.Source)
			if bound++; bound%2 == 1 {
				s.role(b.Role.RoleName)
			}
		}
		if a, b := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); a != b {
			s.Errorf("%s: got the bindings %s, want %s", name, a, b)
		}
	}
	if bound < 2 {
		s.Errorf("got %d bindings of the examples", bound)
	}
}

func (s *site) role(name console.RoleName) {
	query := url.Values{"family": {name.Family}, "namespace": {name.Namespace}, "name": {name.Name}}.Encode()
	role := answer[console.Role](s, "/v1/role?"+query)
	v := s.view("/page/who-can/role?" + url.Values{"family": {name.Family}, "role": {strings.TrimPrefix(name.Namespace+"/"+name.Name, "/")}}.Encode())
	var got, want []string
	for _, row := range v.named("Rules").rows() {
		got = append(got, strings.TrimPrefix(row[0], "denies ")+" | "+row[2])
	}
	for _, r := range role.Rules {
		want = append(want, strings.Join(r.Verbs, ", ")+" | "+r.Source)
	}
	equal(s, name.Name+", rules", got, want)
	got, want = nil, nil
	for _, row := range v.named("Who holds it").rows() {
		got = append(got, row[0]+" | "+row[3])
	}
	for _, h := range role.Holders {
		want = append(want, principal(h.Subject)+" | "+h.Source)
	}
	equal(s, name.Name+", holders", got, want)
}

// principal is a principal, user:NAME or group:NAME, as views have it.
func principal(of string) string {
	kind, name, _ := strings.Cut(of, ":")
	if account, ok := strings.CutPrefix(name, "system:serviceaccount:"); ok {
		kind, name = "service account", strings.Replace(account, ":", "/", 1)
	}
	return kind + " " + name
}

func (s *site) matrices() {
	for _, query := range []string{
		"resource=pods&namespace=hammer", "resource=secrets&search=e", "resource=pods&namespace=hammer&facts=" + url.QueryEscape(`{"labels":{}}`),
		"of=what&subject=Edgar&namespace=hammer&search=pod",
	} {
		v := s.view("/page/who-can?" + query).named("Matrix")
		query += "&only=1" // as the page does unless everybody or every resource is asked for
		m := answer[console.Matrix](s, "/v1/matrix?"+query)
		var got, want []string
		for _, head := range v.tags("thead")[0].tags("th")[1:] {
			got = append(got, head.text())
		}
		equal(s, query+", columns", got, m.Columns)
		got = nil
		for _, row := range v.rows() {
			got = append(got, strings.ToLower(strings.Join(row, "|")))
		}
		for _, row := range m.Rows {
			_, name, _ := strings.Cut(principal("user:"+row.Name), " ")
			line := strings.TrimSpace(strings.TrimPrefix(name, "account ") + " " + row.Kind)
			for _, cell := range row.Cells {
				line += "|" + strings.TrimSpace(words[cell.Outcome]+" "+cell.Text)
			}
			want = append(want, strings.ToLower(line))
		}
		equal(s, query, got, want)
		s.cells(v, m)
		_, table := s.get("/v1/matrix?format=csv&" + query)
		lines, err := csv.NewReader(strings.NewReader(string(table))).ReadAll()
		if err != nil || len(lines) != m.Total+1 || lines[1][0] != m.Rows[0].Name {
			s.Errorf("%s: got %d lines, %v, want a header and %d rows", query, len(lines), err, m.Total)
		}
	}
}

// cells follows a cell of each row to its question: the answer is the outcome of the cell,
// of a user and of a group.
func (s *site) cells(matrix node, m console.Matrix) {
	s.Helper()
	for i, row := range matrix.tags("tbody")[0].tags("tr") {
		href := row.tags("td")[0].tags("a")[0].attribute("href")
		want := words[m.Rows[i].Cells[0].Outcome]
		if want == words[console.Depends] {
			want = words[console.Allow] // its request is one that is allowed
		}
		if got := s.view(href).named("Outcome").text(); got != want {
			s.Errorf("%s leads to %s, which is %q, want %q", row.text(), href, got, want)
		}
	}
}

func (s *site) documents() {
	v, rules, files := s.view("/page/documents"), answer[console.Rules](s, "/v1/rules"), answer[console.Files](s, "/v1/documents")
	var got, want []string
	for _, row := range v.named("Rules by how often they decided").rows() {
		got = append(got, row[1]+" "+row[2])
	}
	for _, r := range rules.Rules {
		decided := fmt.Sprintf("%d × decided", r.Decided)
		if r.Decided == 0 {
			decided = "never"
		}
		want = append(want, r.Source+" "+decided)
	}
	equal(s, "rules", got, want)
	got, want = nil, nil
	for _, a := range v.named("Files").tags("a") {
		got = append(got, strings.TrimPrefix(a.attribute("href"), "/page/documents/"))
	}
	for _, f := range files.Files {
		want = append(want, f.File)
	}
	slices.Sort(got)
	equal(s, "files", got, want)
	for _, f := range files.Files[:3] {
		lines, d := s.view("/page/documents/"+f.File).named("Document").all(func(n node) bool { return n.attribute("id") != "" && n.Data == "li" }), answer[console.Document](s, "/v1/documents/"+f.File)
		if len(lines) != len(d.Lines) {
			s.Fatalf("%s: got %d lines, want %d", f.File, len(lines), len(d.Lines))
		}
		for i, line := range lines {
			text := strings.Join(strings.Fields(d.Lines[i]), " ")
			if got := line.text(); !strings.Contains(got, text) {
				s.Errorf("%s:%d: got %q, want %q", f.File, i+1, got, text)
			}
		}
		for _, o := range d.Documents {
			for _, r := range o.Rules {
				if got := lines[r.Line-d.From].text(); strings.Contains(got, "never decided") != (r.Decided == 0) {
					s.Errorf("%s: got %q, want %d", f.File, got, r.Decided)
				}
			}
		}
	}
}

func (s *site) inheritance() {
	v, graph := s.view("/page/inheritance?kind=AuthPolicy"), answer[console.Topology](s, "/v1/topology")
	var got, want []string
	edges := 0
	paths := v.named("Paths from gateway to rule")
	for _, a := range paths.tags("a") {
		if label := a.attribute("aria-label"); label != "" {
			got = append(got, label)
		}
	}
	for _, p := range paths.tags("path") {
		if strings.HasPrefix(p.attribute("class"), "edge") {
			edges++
		}
	}
	for _, n := range graph.Nodes {
		name := strings.TrimSpace(n.Kind + " " + n.Name)
		want = append(want, name)
		if !slices.ContainsFunc(got, func(label string) bool { return strings.HasPrefix(label, name) }) {
			s.Errorf("got nodes %q, want %s", got, name)
		}
	}
	if len(got) != len(want) || edges != len(graph.Edges) || len(want) == 0 {
		s.Errorf("got %d nodes and %d edges, want %d and %d", len(got), edges, len(want), len(graph.Edges))
	}
	gateway := graph.Nodes[0].ID
	shown := s.view("/page/inheritance?kind=AuthPolicy&target=" + url.QueryEscape(gateway))
	effective := answer[map[string]any](s, "/v1/effective/AuthPolicy/"+gateway)
	rules, _ := effective["rules"].(map[string]any)
	for key := range rules {
		if !strings.Contains(shown.named("Effective AuthPolicy").text(), key) {
			s.Errorf("got %s, want the rule %s", shown.named("Effective AuthPolicy").text(), key)
		}
	}
}

// replaced checks that what lost stands with its value beside the rule that replaced it.
func (s *site) replaced() {
	for target, want := range map[string][]string{
		"RateLimitPolicy&target=HTTPRoute/shop/books#write": {"limits.all | net/edge | override | 100", "limits.all | shop/books | overridden by net/edge | 1000", "limits.covers | shop/books | default | 10"},
	} {
		kind, at, _ := strings.Cut(target, "&target=")
		var got []string
		for _, row := range s.view("/page/inheritance?kind=" + kind + "&target=" + url.QueryEscape(at)).named("Effective rules").rows() {
			var value struct{ Rates []struct{ Limit int } }
			if err := json.Unmarshal([]byte(row[3]), &value); err != nil || len(value.Rates) != 1 {
				s.Fatalf("%q: %v", row, err)
			}
			got = append(got, fmt.Sprintf("%s | %d", strings.Join(row[:3], " | "), value.Rates[0].Limit))
		}
		equal(s, target, got, want)
	}
}

func (s *site) changes() {
	revisions := answer[console.Revisions](s, "/v1/revisions").Revisions
	var got, want []string
	for _, input := range s.view("/page/changes").all(func(n node) bool { return n.attribute("name") == "from" }) {
		got = append(got, input.attribute("value"))
	}
	for _, r := range revisions {
		want = append(want, r.Revision[:12])
	}
	equal(s, "revisions", got, want)
	query := "?from=" + want[1] + "&to=" + want[0]
	diff := answer[console.Diff](s, "/v1/diff"+query)
	v := s.view("/page/changes" + query)
	got, want = nil, nil
	rows := v.named("Decisions that differ").rows()
	if len(rows) != len(diff.Groups) || len(rows) == 0 {
		s.Fatalf("got %d differences, want %d, and some", len(rows), len(diff.Groups))
	}
	for i, g := range diff.Groups {
		// The page has the sentence, the causes and all of it in one cell.
		if !strings.HasPrefix(rows[i][0], g.Summary) || !strings.HasSuffix(rows[i][0], g.Title) {
			s.Errorf("got the difference %q, want %q and %q", rows[i][0], g.Summary, g.Title)
		}
		for _, c := range g.Causes {
			if !strings.Contains(rows[i][0], c.Source) {
				s.Errorf("got the difference %q, want its cause %s", rows[i][0], c.Source)
			}
		}
	}
	for _, text := range diff.Texts {
		if lines := v.named("Difference of " + text.File).tags("li"); len(lines) != len(text.Lines) {
			s.Errorf("%s: got %d lines, want %q", text.File, len(lines), text.Lines)
		}
	}
}

// proposal compares the view of documents that are not served with the endpoint.
func (s *site) proposal() {
	const document = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: everybody}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}\nsubjects: [{kind: Group, name: proposed, apiGroup: rbac.authorization.k8s.io}]\n"
	asked, err := json.Marshal(console.Proposal{Documents: []console.ProposedFile{{Path: "proposed.yaml", Content: document}}})
	if err != nil {
		s.Fatal(err)
	}
	diff := ask[console.Diff](s, "/v1/diff", string(asked))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{"path": "proposed.yaml", "text": document} {
		if err := form.WriteField(name, value); err != nil {
			s.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		s.Fatal(err)
	}
	posted, err := http.Post(s.base+"/page/changes/proposal", form.FormDataContentType(), &body)
	if err != nil {
		s.Fatal(err)
	}
	_, text := s.read(posted)
	parsed, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	var got, want []string
	for _, row := range (node{parsed}).named("Decisions that differ").rows() {
		got = append(got, row[0][:min(len(row[0]), 60)])
	}
	for _, g := range diff.Groups {
		want = append(want, g.Summary[:60])
	}
	equal(s, "the proposal", got, want)
}

func (s *site) log() {
	for _, query := range []string{"", "?outcome=deny", "?user=edg&resource=pods"} {
		v, log := s.view("/page/log"+query), answer[console.Log](s, "/v1/log"+query)
		var got, want []string
		for _, row := range v.named("Decisions").rows() {
			got = append(got, strings.Join(row[1:4], " "))
		}
		for _, e := range log.Decisions {
			who, what, _ := asked(s, e)
			want = append(want, words[e.Outcome]+" "+who+" "+what)
		}
		equal(s, "log"+query, got, want)
	}
}
