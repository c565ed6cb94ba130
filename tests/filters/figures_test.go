package filters

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/server/metrics"
)

// TestFigures prints the figures of filters and lists in one run, beside deciding row by row.
func TestFigures(t *testing.T) {
	if os.Getenv("FIGURES") == "" {
		t.Skip("FIGURES is not set: make bench-filters prints them")
	}
	p := activate(t, largeWorld())
	t.Run("filter", func(t *testing.T) { figureOfFilter(t, p) })
	t.Run("list", func(t *testing.T) { figureOfList(t, p) })
	var found []*database
	for _, open := range []func(*testing.T) *database{sqliteFile, postgres, mariadb} {
		if db := open(t); db != nil {
			found = append(found, db)
		}
	}
	t.Run("rows", func(t *testing.T) { figureOfRows(t, found) })
	t.Run("large", func(t *testing.T) { figureOfLargeLists(t, found) })
}

const sizeOfWorld = 10_000

// largeWorld has as many bindings, a hundredth of them of the user u, and 100 deny policies of
// which ten concern what is asked.
func largeWorld() []map[string]any {
	const rbac = "rbac.authorization.k8s.io"
	documents := []map[string]any{{
		"apiVersion": rbac + "/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "r"},
		"rules": []any{map[string]any{"verbs": []string{"get", "list"}, "apiGroups": []string{""}, "resources": []string{"pods"}}},
	}}
	for i := range sizeOfWorld {
		subject := map[string]any{"apiGroup": rbac, "kind": "User", "name": fmt.Sprintf("u%d", i%997)}
		if i%100 == 0 {
			subject["name"] = "u"
		}
		documents = append(documents, map[string]any{
			"apiVersion": rbac + "/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "b", "namespace": fmt.Sprintf("ns-%d", i)},
			"roleRef": map[string]any{"apiGroup": rbac, "kind": "ClusterRole", "name": "r"}, "subjects": []any{subject},
		})
	}
	for i := range 100 {
		resource := "secrets"
		if i%10 == 0 {
			resource = "pods"
		}
		documents = append(documents, map[string]any{
			"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": map[string]any{"name": fmt.Sprintf("d%d", i)},
			"spec": map[string]any{"rules": []any{map[string]any{
				"verbs": []string{"get", "list"}, "apiGroups": []string{""}, "resources": []string{resource},
				"namespaces": map[string]any{"patterns": []string{fmt.Sprintf("ns-%d*", i)}}, "resourceNames": []string{"secret-*"},
			}}},
		})
	}
	return documents
}

// figure prints the median and the 99th of a hundred of some durations.
func figure(t *testing.T, what string, goal time.Duration, all []time.Duration) {
	slices.Sort(all)
	t.Logf("%-60s median %10v  p99 %10v  goal %v", what, all[len(all)/2].Round(time.Microsecond), all[len(all)*99/100].Round(time.Microsecond), goal)
}

func repeated(n int, f func()) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		began := time.Now()
		f()
		out[i] = time.Since(began)
	}
	return out
}

func figureOfFilter(t *testing.T, p decision.Policies) {
	body := map[string]any{"request": map[string]any{"user": "u", "verb": "get", "resource": "pods"}}
	answer(t, p, decision.Access, "sql+postgresql", body) // what is made once a revision
	ask := func() {
		if a, refused := answer(t, p, decision.Access, "sql+postgresql", body); refused != nil || a.Kind != "conditional" {
			t.Fatal(a, refused)
		}
	}
	figure(t, fmt.Sprintf("a filter, %d bindings, 100 deny policies, uncached", sizeOfWorld), time.Millisecond, repeated(300, ask))
	server := httptest.NewServer(api.New(api.Options{Current: func() decision.Policies { return p }, Metrics: metrics.New(), Rule: auth.Rule{Loopback: true}}))
	defer server.Close()
	text := encode(map[string]any{"request": body["request"], "target": "sql+postgresql"})
	// Between the filters are requests that do nothing: what other processes of the machine
	// take shows in both.
	over := func(path string, body []byte) func() {
		return func() {
			response, err := http.Post(server.URL+path, "application/json", bytes.NewReader(body))
			if err != nil || (body != nil) != (response.StatusCode == http.StatusOK) {
				t.Fatal(response, err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}
	var filtered, empty []time.Duration
	for range 1000 {
		filtered = append(filtered, repeated(1, over("/v1/filters/access", text))...)
		empty = append(empty, repeated(1, over("/v1/nothing", nil))...)
	}
	figure(t, "the same over HTTP", 3*time.Millisecond, filtered)
	figure(t, "requests between these that find nothing", 3*time.Millisecond, empty)
}

func figureOfList(t *testing.T, p decision.Policies) {
	space := new(lists.Space)
	for i := range sizeOfWorld {
		space.Namespaces = append(space.Namespaces, lists.Namespace{Name: fmt.Sprintf("ns-%d", i), Labels: map[string]string{"team": "a"}})
	}
	var l *lists.List
	figure(t, fmt.Sprintf("a list of %d namespaces", sizeOfWorld), 50*time.Millisecond, repeated(50, func() {
		var err error
		if l, err = lists.Make(t.Context(), p, lists.Question{User: "u", Verb: "list", Resource: "pods"}, space); err != nil || len(l.Items) == 0 {
			t.Fatal(l, err)
		}
	}))
	pages := &lists.Pages{Now: time.Now}
	first := pages.First("u", "q", l, 20)
	figure(t, "the next page of it", 5*time.Millisecond, repeated(100, func() {
		part, err := pages.Next("u", "q", first.Next, 20)
		if err != nil || len(jsontext.Line(part.Page())) == 0 {
			t.Fatal(err)
		}
	}))
	began := time.Now()
	for _, n := range space.Namespaces {
		r := &decision.Request{User: "u", Verb: "list", Resource: "pods", Namespace: n.Name, NamespaceLabels: n.Labels}
		_ = p.Access(t.Context(), r)
	}
	t.Logf("%-60s %v", "a decision for each of them, without names", time.Since(began).Round(time.Millisecond))
}

func figureOfRows(t *testing.T, databases []*database) {
	const copies = 100
	names := []string{"a*", "*0"}
	for i := range 10 {
		names = append(names, fmt.Sprintf("web-%d", i))
	}
	p := activate(t, []map[string]any{policyOf([]any{map[string]any{"type": "pods", "visibility": "filtered", "filters": map[string]any{
		"names": map[string]any{"allowed": names}, "labels": map[string]string{"k": "x"},
	}}})})
	body := map[string]any{"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": "pods"}}
	d := draw{rand.New(rand.NewPCG(3, 3))}
	var rows, items []map[string]any
	for range 1000 {
		rows = append(rows, d.row())
	}
	for range copies {
		items = append(items, rows...)
	}
	began := time.Now()
	want := selected(t, p, decision.Visibility, body, items)
	asItems := time.Since(began)
	t.Logf("%-60s %v, %d visible", fmt.Sprintf("%d rows as items of one decision in process", len(items)), asItems.Round(time.Millisecond), len(want))
	for _, db := range databases {
		a, refused := answer(t, p, decision.Visibility, db.target, body)
		if refused != nil {
			t.Fatal(refused)
		}
		script := "BEGIN;\n" + db.table(rows, false)
		var columns []string
		for _, c := range columnTypes {
			columns = append(columns, db.quote(c[0]))
		}
		list := strings.Join(columns, ", ")
		for i := 1; i < copies; i++ {
			script += fmt.Sprintf("INSERT INTO items (id, %s) SELECT id + %d, %s FROM items WHERE id < %d;\n", list, i*len(rows), list, len(rows))
		}
		db.run(t, script+"COMMIT;\n")
		query := db.prepared("SELECT count(*) FROM items WHERE "+a.Query.(string), a.Args)
		began := time.Now()
		db.run(t, "SELECT 'begin';\nSELECT 1;\n")
		start := time.Since(began)
		began = time.Now()
		got := db.run(t, query)
		took := time.Since(began) - start
		if got[0][0] != len(want) {
			t.Errorf("%s: got %d rows, want %d", db.target, got[0][0], len(want))
		}
		t.Logf("%-60s %v, %.2f of deciding them  goal 500ms", fmt.Sprintf("%d rows by the filter, %s, no index", len(items), db.target), took.Round(time.Millisecond), float64(took)/float64(asItems))
	}
}

func figureOfLargeLists(t *testing.T, databases []*database) {
	var denied, allowed []string
	for i := range 1500 {
		denied = append(denied, fmt.Sprintf("g%d-*x", i))
	}
	for i := range 10_000 {
		allowed = append(allowed, fmt.Sprintf("web-%d", i))
	}
	p := activate(t, []map[string]any{policyOf([]any{map[string]any{"type": "pods", "visibility": "filtered", "filters": map[string]any{
		"names": map[string]any{"denied": denied, "allowed": append(allowed, "g*")},
	}}})})
	body := map[string]any{"request": map[string]any{"user": "u", "cluster": map[string]any{"name": "c"}, "type": "pods"}}
	rows := []map[string]any{{"name": "g7-ax"}, {"name": "g7-a"}, {"name": "web-9999"}, {"name": "web-x"}}
	for _, target := range sqlTargets {
		figure(t, "1,500 denied patterns and 10,000 literals, "+target, 20*time.Millisecond, repeated(20, func() { answer(t, p, decision.Visibility, target, body) }))
	}
	for _, db := range databases {
		a, refused := answer(t, p, decision.Visibility, db.target, body)
		if refused != nil {
			t.Fatal(refused)
		}
		began := time.Now()
		got := db.run(t, db.table(rows, false)+db.prepared("SELECT id FROM items WHERE "+a.Query.(string)+" ORDER BY id", a.Args))
		if !slices.Equal(got[0], []int{1, 2}) {
			t.Errorf("%s: got rows %v", db.target, got[0])
		}
		t.Logf("%-60s %v", "accepted by "+db.target, time.Since(began).Round(time.Millisecond))
	}
}

// sqliteFile is SQLite with a file, which lasts from one script to the next.
func sqliteFile(t *testing.T) *database {
	db := sqlite(t)
	if db == nil {
		return nil
	}
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Fatal(err)
	}
	db.client = []string{path, filepath.Join(t.TempDir(), "rows.db")}
	return db
}
