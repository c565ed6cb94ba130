package opadata

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/decision"
)

const (
	postgresMedia = "application/vnd.opa.sql.postgresql+json"
	mysqlMedia    = "application/vnd.opa.sql.mysql+json"
	sqliteMedia   = "application/vnd.opa.sql.sqlite+json"
	ucastMedia    = "application/vnd.opa.ucast.prisma+json"
	multiMedia    = "application/vnd.opa.multitarget+json"

	allowedPath = "/v1/compile/writ/access/decision/allowed"
	visiblePath = "/v1/compile/writ/visibility/decision/visible"
)

// filtered are documents with conditions: bob reads pods of one namespace, may not read those
// whose name has a pattern, and sees some of them.
const filtered = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: its}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: its}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r},
 subjects: [{kind: User, name: bob}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: d},
 spec: {rules: [{verbs: [get], apiGroups: [""], resources: [pods], resourceNames: ["a*b*c"]}]}}
---
{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: p, namespace: m},
 spec: {identity: {priority: 1, subjects: {users: [bob]}}, access: {effect: Allow},
  lifecycle: {validity: {notAfter: "2099-01-01T00:00:00Z"}}, scope: {clusters: {rules: [{selector: {matchNames: [east]}, resources: [
   {type: pods, visibility: filtered, filters: {names: {allowed: ["web\\x", "o'b"]}}}, {type: nodes, visibility: none}, {type: events, visibility: all}]}]}}}}
`

const sees = `{"user":"bob","cluster":{"name":"east"},"type":"pods"}`

// recorder records what is logged.
type recorder struct {
	events  []decision.Event
	filters []decision.Filter
}

func (r *recorder) Log(e decision.Event)                                          { r.events = append(r.events, e) }
func (r *recorder) Record(context.Context, *decision.Request, *decision.Decision) {}
func (r *recorder) RecordFilter(_ context.Context, f *decision.Filter) {
	r.filters = append(r.filters, *f)
}

func compile(t *testing.T, h http.Handler, media, path, body string) (int, map[string]any, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if media != "" {
		r.Header.Set("Accept", media)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %s: %v", path, w.Body, err)
	}
	if got := w.Header().Get("Content-Type"); w.Code == http.StatusOK && got != media {
		t.Errorf("got the content type %q, want %q", got, media)
	}
	return w.Code, answer, w.Body.String()
}

func TestCompile(t *testing.T) {
	h := serve(t, buildOf(t, filtered), nil)
	for _, row := range []struct {
		name, media, path, body string
		result                  any
		kind                    string
	}{
		{
			"the default table", sqliteMedia, allowedPath, `{"input":{"user":"bob","verb":"get","resource":"pods"},"unknowns":["input.namespace"]}`,
			map[string]any{"query": `WHERE ("items"."namespace" IS NOT NULL AND "items"."namespace" COLLATE BINARY = 'its')`}, "conditional",
		},
		{
			"text that a mode of the server reads otherwise", postgresMedia, visiblePath, `{"input":` + sees + `}`,
			map[string]any{"query": `WHERE (NOT ("items"."name" IS NULL OR "items"."name" COLLATE "C" = '') AND ("items"."name" IS NOT NULL AND "items"."name" COLLATE "C" IN ('o''b'::text, E'web\\x'::text)))`}, "conditional",
		},
		{
			"the same in MySQL", mysqlMedia, visiblePath, `{"input":` + sees + `,"options":{"targetSQLTableMappings":{"mysql":{"items":{"$self":"pods","name":"n"}}}}}`,
			map[string]any{"query": "WHERE (NOT (`pods`.`n` IS NULL OR CAST(CONVERT(`pods`.`n` USING utf8mb4) AS BINARY) = '') AND (`pods`.`n` IS NOT NULL AND CAST(CONVERT(`pods`.`n` USING utf8mb4) AS BINARY) IN (CAST(CONVERT('o''b' USING utf8mb4) AS BINARY), CAST(CONVERT(_utf8mb4 X'7765625C78' USING utf8mb4) AS BINARY))))"}, "conditional",
		},
		{
			"a mapping of another dialect", sqliteMedia, visiblePath, `{"input":` + sees + `,"options":{"targetSQLTableMappings":{"mysql":{"items":{"name":"n"}},"sql":{"items":{"$self":"s"}}}}}`,
			map[string]any{"query": `WHERE (NOT ("s"."name" IS NULL OR "s"."name" COLLATE BINARY = '') AND ("s"."name" IS NOT NULL AND "s"."name" COLLATE BINARY IN ('o''b', 'web\x')))`}, "conditional",
		},
		{
			"columns of ours win", sqliteMedia, visiblePath, `{"input":` + sees + `,"options":{"targetSQLTableMappings":{"items":{"name":"n"}},"columns":{"name":{"column":"x","nullable":false,"exact":true}}}}`,
			map[string]any{"query": `WHERE (NOT ("x" = '') AND ("x" IN ('o''b', 'web\x')))`}, "conditional",
		},
		{"never", sqliteMedia, allowedPath, `{"input":{"user":"eve","verb":"get","resource":"pods"}}`, nil, "never"},
		{"never, explicitly", sqliteMedia, allowedPath, `{"input":{"user":"eve","verb":"get","resource":"pods"},"options":{"explicit":true}}`, map[string]any{"query": "WHERE 1 = 0"}, "never"},
		{"always", sqliteMedia, visiblePath, `{"input":{"user":"bob","cluster":{"name":"east"},"type":"events"}}`, map[string]any{"query": ""}, "always"},
		{
			"always, explicitly", sqliteMedia, visiblePath, `{"input":{"user":"bob","cluster":{"name":"east"},"type":"events"},"options":{"explicit":true}}`,
			map[string]any{"query": "WHERE 1 = 1"}, "always",
		},
		{"never in UCAST", ucastMedia, visiblePath, `{"input":{"user":"bob","cluster":{"name":"east"},"type":"nodes"}}`, nil, "never"},
		{
			"never in UCAST, explicitly", ucastMedia, visiblePath, `{"input":{"user":"bob","cluster":{"name":"east"},"type":"nodes"},"options":{"explicit":true}}`,
			map[string]any{"query": map[string]any{"type": "field", "operator": "in", "field": "items.name", "value": []any{}}}, "never",
		},
		{"always in UCAST", ucastMedia, visiblePath, `{"input":{"user":"bob","cluster":{"name":"east"},"type":"events"}}`, map[string]any{"query": map[string]any{}}, "always"},
		{
			"several dialects", multiMedia, visiblePath, `{"input":{"user":"bob","cluster":{"name":"east"},"type":"events"},"options":{"targetDialects":["sql+sqlite","ucast+all","ucast+minimal"]}}`,
			map[string]any{"sqlite": map[string]any{"query": ""}, "ucast": map[string]any{"query": map[string]any{}}}, "always",
		},
		{
			"never in several dialects", multiMedia, visiblePath, `{"input":{"user":"bob","cluster":{"name":"east"},"type":"nodes"},"options":{"targetDialects":["sql+sqlite","ucast+all"],"maskRule":"m","disableInlining":["x"]}}`,
			map[string]any{}, "never",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, answer, text := compile(t, h, row.media, row.path, row.body)
			result, found := answer["result"]
			if status != http.StatusOK || !reflect.DeepEqual(result, row.result) || found != (row.result != nil) || answer["kind"] != row.kind {
				t.Errorf("got %d %s, want %v", status, text, row.result)
			}
			if answer["exact"] != true || answer["revision"] == "" {
				t.Errorf("got %s, want exact and a revision", text)
			}
			if want := map[bool]any{true: "2099-01-01T00:00:00Z"}[row.path == visiblePath]; answer["until"] != want {
				t.Errorf("got the end %v, want %v", answer["until"], want)
			}
		})
	}
}

func TestCompileRefusals(t *testing.T) {
	h := serve(t, buildOf(t, filtered), nil)
	const input = `{"input":{"user":"bob","verb":"get","resource":"pods"}`
	for _, row := range []struct {
		name, media, path, body string
		status                  int
		code, want              string
	}{
		{"no path", sqliteMedia, "/v1/compile", input + `}`, 404, "resource_not_found", ""},
		{"the decision", sqliteMedia, "/v1/compile/writ/access/decision", input + `}`, 404, "resource_not_found", ""},
		{"gateway", sqliteMedia, "/v1/compile/writ/gateway/decision/allowed", input + `}`, 404, "resource_not_found", ""},
		{"no header", "", allowedPath, input + `}`, 400, "invalid_parameter", "missing required header"},
		{"two headers", sqliteMedia + "," + mysqlMedia, allowedPath, input + `}`, 400, "invalid_parameter", "multiple headers"},
		{"SQL Server", "application/vnd.opa.sql.sqlserver+json", allowedPath, input + `}`, 400, "invalid_parameter", "unsupported header"},
		{"SQL Server among others", multiMedia, allowedPath, input + `,"options":{"targetDialects":["sql+sqlite","sql+sqlserver"]}}`, 400, "invalid_parameter", "sql+sqlserver"},
		{"no dialect", multiMedia, allowedPath, input + `}`, 400, "invalid_parameter", "targetDialects"},
		{"a query", sqliteMedia, allowedPath, input + `,"query":"data.writ.x"}`, 400, "invalid_parameter", "query must be absent"},
		{"an unknown of the other point", sqliteMedia, allowedPath, input + `,"unknowns":["input.items"]}`, 400, "invalid_unknown", "input.items"},
		{"an unknown that is known", sqliteMedia, allowedPath, input + `,"unknowns":["input.user"]}`, 400, "invalid_unknown", "input.user"},
		{"an open attribute", sqliteMedia, allowedPath, `{"input":{"user":"bob","verb":"get","resource":"pods","name":"x"}}`, 400, "invalid_parameter", "input.name"},
		{"no input", sqliteMedia, allowedPath, `{}`, 400, "invalid_parameter", ""},
		{"a table that is a number", sqliteMedia, allowedPath, input + `,"options":{"targetSQLTableMappings":{"sqlite":7}}}`, 400, "invalid_parameter", "sqlite must be an object"},
		{"a column that is a list", sqliteMedia, allowedPath, input + `,"options":{"targetSQLTableMappings":{"sqlite":{"items":{"name":["a"]}}}}}`, 400, "invalid_parameter", "items.name must be a string"},
		{"what a language cannot say", ucastMedia, allowedPath, input + `}`, 400, "evaluation_error", `cannot be said in ucast+prisma`},
		{"what one of several cannot say", multiMedia, allowedPath, input + `,"options":{"targetDialects":["sql+sqlite","ucast+all"]}}`, 400, "evaluation_error", `"code": "pe_fragment_error"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, answer, text := compile(t, h, row.media, row.path, row.body)
			if status != row.status || answer["code"] != row.code || !strings.Contains(text, row.want) || answer["result"] != nil {
				t.Errorf("got %d %s, want %d %s with %s", status, text, row.status, row.code, row.want)
			}
		})
	}
	_, answer, _ := compile(t, h, ucastMedia, allowedPath, input+`}`)
	want := map[string]any{"code": "pe_fragment_error", "location": map[string]any{"file": "a.yaml", "row": 8.0, "col": 1.0},
		"message": `pattern "a*b*c" (a.yaml:8) cannot be said in ucast+prisma: it has text between two stars, or two texts on one side`}
	if got := answer["errors"]; !reflect.DeepEqual(got, []any{want}) {
		t.Errorf("got the errors %v, want %v", got, want)
	}
}

func TestFiltersAreRecorded(t *testing.T) {
	record := new(recorder)
	h := serve(t, buildOf(t, filtered), func(o *api.Options) { o.Log, o.Recorder = record, record })
	compile(t, h, multiMedia, visiblePath, `{"input":`+sees+`,"snapshot":7,"options":{"targetDialects":["sql+sqlite"]}}`)
	compile(t, h, sqliteMedia, allowedPath, `{"input":{"user":"eve","verb":"get","resource":"pods"}}`)
	compile(t, h, ucastMedia, allowedPath, `{"input":{"user":"bob","verb":"get","resource":"pods"}}`) // refused
	ask := func(path, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	ask("/v1/filters/access", `{"request":{"user":"bob","verb":"get","resource":"pods"},"target":"sql+sqlite"}`)
	if len(record.events) != 3 || len(record.filters) != 3 {
		t.Fatalf("got %d events and %d filters, want 3 of each", len(record.events), len(record.filters))
	}
	first, second, third := record.events[0], record.events[1], record.events[2]
	if first.Path != "writ/visibility/decision/visible" || first.Custom["type"] != "open-policy-agent/compile" || string(first.Input) != sees ||
		!strings.Contains(string(first.Result), `{"sqlite":{"query":"WHERE `) || !reflect.DeepEqual(first.Custom["request_metadata"], map[string]any{"snapshot": 7.0}) {
		t.Errorf("got %+v", first)
	}
	if second.Result != nil || second.Point != decision.Access || second.Revision == "" {
		t.Errorf("got %+v", second)
	}
	if third.Path != "writ/filters/access" || !strings.Contains(string(third.Result), `"kind":"conditional"`) || !strings.Contains(string(third.Input), `"target":"sql+sqlite"`) {
		t.Errorf("got %+v", third)
	}
	for i, want := range []string{"bob visibility multitarget conditional", "eve access sql+sqlite never", "bob access sql+sqlite conditional"} {
		f := record.filters[i]
		user := ""
		if f.Access != nil {
			user = f.Access.User
		} else {
			user = f.Visibility.User
		}
		if got := strings.Join([]string{user, f.Point, f.Target, f.Kind}, " "); got != want || len(f.Hash) != 64 {
			t.Errorf("got %q with hash %q, want %q", got, f.Hash, want)
		}
	}
}
