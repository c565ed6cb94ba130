package questions_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/api/questions"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

const documents = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: s}, rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: s, annotations: {writ.dev/not-after: "2026-03-01T10:00:00Z"}},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: s}, subjects: [{kind: User, name: c}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: d},
 spec: {rules: [{verbs: [get], apiGroups: [""], resources: [configmaps], resourceNames: ["db[^a]"]}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: m}, rules: [{verbs: [get], apiGroups: [""], resources: [configmaps]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: m},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: m}, subjects: [{kind: User, name: b}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: fix, namespace: bg},
 spec: {escalatedGroup: root, allowed: {clusters: ["prod-*"], groups: [sre]}, approvers: {groups: [leads]}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r},
 subjects: [{kind: User, name: a}, {kind: User, name: b}, {kind: Group, name: dev}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: maker}, rules: [{verbs: [create], apiGroups: [apps], resources: [deployments]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: maker, namespace: lab},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: maker}, subjects: [{kind: User, name: maker}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r},
 subjects: [{kind: User, name: b}]}
`

// open returns the handlers for callers of a token file.
func open(t *testing.T, maxAnswer int) http.Handler {
	t.Helper()
	return openAs(t, maxAnswer, func(e decision.Policies) decision.Policies { return e })
}

// openAs is open with other active policies in place of those of documents.
func openAs(t *testing.T, maxAnswer int, active func(decision.Policies) decision.Policies) http.Handler {
	t.Helper()
	files := []source.File{source.NewFile("all.yaml", []byte(documents))}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), source.Snapshot{Files: files})
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Activate(t.Context(), b, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("t-a,a,1,dev\nt-auditor,vera,2,sec\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	s := exchange.New(exchange.Options{
		Current: func() decision.Policies { return active(e) }, Metrics: metrics.New(), MaxBody: 1 << 20, MaxValues: 1000, MaxInFlight: 4, Timeout: time.Hour,
		Logger: slog.New(slog.DiscardHandler),
		Rule:   auth.Rule{Authenticator: tokens, Loopback: true, Auditors: []string{"sec"}},
	})
	a := &questions.API{Service: s, MaxAnswer: maxAnswer, Locator: new(lists.Locator), Pages: &lists.Pages{Now: time.Now}, Labels: func(string) map[string]string { return nil }}
	admitted := func(role auth.Role, next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			r, refused := s.Admit(w, r, role)
			if refused != nil {
				s.Refuse(w, exchange.Problem, refused)
				return
			}
			next(w, r)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/who-can", admitted(auth.Auditor, a.WhoCan()))
	mux.Handle("POST /v1/filters/visibility", admitted(auth.Authenticated, a.Filter(decision.Visibility)))
	mux.Handle("POST /v1/filters/access", admitted(auth.Authenticated, a.Filter(decision.Access)))
	mux.Handle("GET /v1/lists/{resource}", admitted(auth.Authenticated, a.Lists()))
	mux.Handle("GET /v1/reach", admitted(auth.Auditor, a.Reach()))
	mux.Handle("POST /v1/escalations", admitted(auth.Auditor, a.Escalations()))
	mux.Handle("POST /v1/what-can", admitted(auth.Authenticated, a.WhatCan()))
	return mux
}

func ask(h http.Handler, token, path, body string) (int, map[string]any, string) {
	r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	out := make(map[string]any)
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		return w.Code, nil, w.Body.String()
	}
	return w.Code, out, w.Body.String()
}

func TestStatuses(t *testing.T) {
	h := open(t, 1<<20)
	const getPods = `{"request":{"verb":"get","resource":"pods"}}`
	for name, row := range map[string]struct {
		token, path, body string
		status            int
		part              string
	}{
		"an auditor asks who":              {"t-auditor", "/v1/who-can", getPods, 200, `"groups":["dev"]`},
		"another caller asks who":          {"t-a", "/v1/who-can", getPods, 403, ""},
		"a caller asks about itself":       {"t-a", "/v1/what-can", `{"user":"a"}`, 200, `"pods"`},
		"a caller states its groups":       {"t-a", "/v1/what-can", `{"user":"a","groups":["dev"]}`, 200, `"pods"`},
		"a caller adds a group":            {"t-a", "/v1/what-can", `{"user":"a","groups":["dev","sec"]}`, 403, "only auditors"},
		"a caller asks about others":       {"t-a", "/v1/what-can", `{"user":"b"}`, 403, "only auditors"},
		"an auditor asks about others":     {"t-auditor", "/v1/what-can", `{"user":"b"}`, 200, `"pods"`},
		"no subject":                       {"t-auditor", "/v1/what-can", `{}`, 400, "user"},
		"an unknown key":                   {"t-auditor", "/v1/who-can", `{"requests":{}}`, 400, "requests"},
		"an unknown key of the request":    {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"pods","colour":"red"}}`, 400, "colour"},
		"a subject in the request":         {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"pods","user":"a"}}`, 400, "request.user"},
		"no verb":                          {"t-auditor", "/v1/who-can", `{"request":{"resource":"pods"}}`, 400, "verb"},
		"who could":                        {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"pods"},"potential":true}`, 200, `"potential":[]`},
		"who could, as a text":             {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"pods"},"potential":"yes"}`, 400, "true or false"},
		"an open verb":                     {"t-auditor", "/v1/who-can", `{"request":{"resource":"pods"},"open":["verb"]}`, 200, `"open":["verb"]`},
		"an open member that has a value":  {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"pods"},"open":["verb"]}`, 400, "open[0]"},
		"an open member that is not known": {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"pods"},"open":["colour"]}`, 400, "colour"},
		"who can before the end":           {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"secrets"},"at":"2026-03-01T09:59:59.999999999Z"}`, 200, `"users":["c"]`},
		"who can from the end on":          {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"secrets"},"at":"2026-03-01T10:00:00Z"}`, 200, `"users":[]`},
		"the time of an answer":            {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"secrets"},"at":"2026-03-01T11:00:00+01:00"}`, 200, `"at":"2026-03-01T10:00:00Z"`},
		"what can before the end":          {"t-auditor", "/v1/what-can", `{"user":"c","at":"2026-03-01T09:00:00Z"}`, 200, `"until":"2026-03-01T10:00:00Z"`},
		"what can from the end on":         {"t-auditor", "/v1/what-can", `{"user":"c","at":"2026-03-01T10:00:00Z"}`, 200, `"resources":[]`},
		"a time without a zone":            {"t-auditor", "/v1/who-can", `{"request":{"verb":"get","resource":"secrets"},"at":"2026-03-01T10:00:00"}`, 400, "RFC 3339"},
		"a time that is a number":          {"t-auditor", "/v1/what-can", `{"user":"c","at":1772359200}`, 400, "at"},
		"escalations":                      {"t-auditor", "/v1/escalations", `{}`, 200, `"request":{"groups":["sre"],"identityProviders":null}`},
		"escalations by name and cluster":  {"t-auditor", "/v1/escalations", `{"name":"bg/fix","cluster":"prod-1"}`, 200, `"name":"fix"`},
		"escalations of another cluster":   {"t-auditor", "/v1/escalations", `{"cluster":"dev"}`, 200, `{"escalations":[]}`},
		"escalations for others":           {"t-a", "/v1/escalations", `{}`, 403, ""},
		"an unknown key for escalations":   {"t-auditor", "/v1/escalations", `{"names":"x"}`, 400, "names"},
		"a name that is a list":            {"t-auditor", "/v1/escalations", `{"name":["x"]}`, 400, "name"},
		"a limit that is not a number":     {"t-auditor", "/v1/who-can?limit=x", getPods, 400, "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, text := ask(h, row.token, row.path, row.body)
			if status != row.status || !strings.Contains(text, row.part) {
				t.Errorf("got %d %s, want %d with %q", status, text, row.status, row.part)
			}
		})
	}
	if status, _, text := ask(open(t, 100), "t-auditor", "/v1/who-can", getPods); status != 413 || !strings.Contains(text, "--max-answer") {
		t.Errorf("got %d %s, want 413", status, text)
	}
}

const getPodsAnywhere = `{"request":{"verb":"get","resource":"pods"},"open":["namespace"]}`

// Pages together have the subjects of the whole answer, each once, and its statements. A
// page has those of its subjects.
func TestPages(t *testing.T) {
	h := open(t, 1<<20)
	_, whole, _ := ask(h, "t-auditor", "/v1/who-can", getPodsAnywhere)
	all, _ := whole["statements"].([]any)
	known := make(map[float64]any)
	var got []string
	after := ""
	for range 4 {
		_, page, text := ask(h, "t-auditor", "/v1/who-can?limit=1&after="+after, getPodsAnywhere)
		subjects, _ := page["subjects"].([]any)
		if len(subjects) != 1 {
			t.Fatalf("got %s, want one subject", text)
		}
		subject, _ := subjects[0].(map[string]any)
		got = append(got, subject["subject"].(string))
		statements, _ := page["statements"].([]any)
		if b := subject["subject"] == "user:b"; b != (len(statements) == len(all)) {
			t.Errorf("the page of %v has %d statements of %d", subject["subject"], len(statements), len(all))
		}
		own := make(map[any]bool)
		for _, s := range statements {
			id, _ := s.(map[string]any)["id"].(float64)
			known[id], own[id] = s, true
		}
		for _, id := range subject["statements"].([]any) {
			if !own[id] {
				t.Errorf("statement %v of %v is not on its page: %s", id, got, text)
			}
		}
		if after, _ = page["next"].(string); after == "" {
			break
		}
	}
	if want := []string{"group:dev", "user:a", "user:b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, s := range all {
		if !reflect.DeepEqual(known[float64(i)], s) {
			t.Errorf("statement %d: got %v, want %v", i, known[float64(i)], s)
		}
	}
}
