// Package opadata compares the Data API with that of a stock OPA server.
package opadata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/server/types"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/tests/process"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

const documents = `
kind: role
name: viewer
namespace: master
rules:
  - {verbs: [get], resourceKinds: [pods]}
  - verbs: [update]
    resourceKinds: [pods]
    attributeRestrictions: {kind: cel, expression: 'request.attributes.ticket.startsWith("OPS-<1>")'}
  - {verbs: [list], resourceKinds: [pods], attributeRestrictions: {kind: weekend}}
---
kind: roleBinding
name: viewers
namespace: master
userNames: [alice]
roleRef: {name: viewer}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: no-secrets}
spec:
  rules:
    - {verbs: [get], apiGroups: [""], resources: [secrets], namespaces: [shop]}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: all, namespace: monitoring}
spec:
  identity: {priority: 1, subjects: {users: [alice]}}
  access: {effect: Allow, enabled: true}
  scope: {clusters: {default: all}}
---
apiVersion: writ.dev/v1
kind: Inventory
metadata: {name: all}
spec: {subjects: [{type: user, id: alice, properties: {level: 1.50}}]}
`

const extension = `package writ.extensions.weekend

import rego.v1

holds(request, _) if request.attributes.day in {"Saturday", "Sunday"}
`

// build returns the bundle of the documents.
func build(t *testing.T) *bundles.Bundle { return buildOf(t, documents) }

// buildOf returns the bundle of some documents with the extension.
func buildOf(t *testing.T, documents string) *bundles.Bundle {
	t.Helper()
	var snapshot source.Snapshot
	for path, text := range map[string]string{"a.yaml": documents, "weekend.rego": extension} {
		snapshot.Files = append(snapshot.Files, source.NewFile(path, []byte(text)))
	}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	bundle, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// serve returns a server with a bundle; nil stands for none.
func serve(t *testing.T, bundle *bundles.Bundle, change func(*api.Options)) http.Handler {
	t.Helper()
	var policies decision.Policies = decision.Unavailable("no revision is loaded")
	if bundle != nil {
		e, err := engine.Activate(t.Context(), bundle, engine.Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		policies = e
	}
	o := api.Options{
		Current: func() decision.Policies { return policies }, Metrics: metrics.New(), Timeout: time.Minute, Rule: auth.Rule{Loopback: true, AllowedHosts: []string{"example.com"}},
	}
	if change != nil {
		change(&o)
	}
	return api.New(o)
}

// stock starts an OPA server with a bundle and returns its URL.
func stock(t *testing.T, bundle *bundles.Bundle) string {
	t.Helper()
	var tar bytes.Buffer
	if err := bundle.WriteTar(&tar); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if err := os.WriteFile(path, tar.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	address := process.FreeAddress(t)
	var output bytes.Buffer
	command := exec.Command(process.OPA(t), "run", "--server", "--disable-telemetry", "--set", "decision_logs.console=true", "--log-level", "error", "--addr", address, "--bundle", path)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for deadline := time.Now().Add(2 * time.Minute); ; {
		response, err := http.Get("http://" + address + "/health?bundles")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("opa does not start: %v\n%s", err, &output)
		}
		<-time.After(50 * time.Millisecond)
	}
}

const (
	readsPods    = `{"user":"alice","verb":"get","resource":"pods","namespace":"shop"}`
	readsSecrets = `{"user":"alice","verb":"get","resource":"secrets","namespace":"shop"}`
	changesPods  = `{"user":"alice","verb":"update","resource":"pods","attributes":{"ticket":"OPS-<1>2"}}`
	listsPods    = `{"user":"alice","verb":"list","resource":"pods","attributes":{"day":"Sunday"}}`
)

// requests are a method, a path with its query, and a body.
var requests = [][3]string{
	{"POST", "/v1/data/writ/access/decision", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":` + readsSecrets + `}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":` + changesPods + `}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":` + listsPods + `}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":{"user":"eve","verb":"get","resource":"pods"}}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":{"user":7}}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":[]}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":null}`},
	{"POST", "/v1/data/writ/access/decision", `{}`},
	{"POST", "/v1/data/writ/access/decision", ``},
	{"POST", "/v1/data/writ/access/decision?pretty", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision?pretty=false", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision?provenance=true", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision?metrics&provenance", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision?explain=notes", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision?explain=full", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision?explain=fails&pretty", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision?explain=other", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision/allowed", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision/matched/0/source", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision/matched/7", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/access/decision/nothing", `{"input":` + readsPods + `}`},
	{"POST", "/v1/data/writ/visibility/decision", `{"input":{"user":"alice","type":"","cluster":{"name":"east"}}}`},
	{"POST", "/v1/data/writ/gateway/decision", `{"input":{}}`},
	{"POST", "/v1/data/compiled/access/master", ``},
	{"POST", "/v1/data/writ/extensions/weekend", `{"input":{}}`},
	{"POST", "/v1/data/nothing", `{"input":{}}`},
	{"POST", "/v1/data/writ/access/decision", `{"input":`},
	{"GET", "/v1/data/writ/access/decision?input=" + url.QueryEscape(readsPods), ``},
	{"GET", "/v1/data/writ/access/decision", ``},
	{"GET", "/v1/data/writ/access/decision?input=%7B", ``},
	{"GET", "/v1/data/compiled", ``},
	{"GET", "/v1/data/compiled/inventory/subjects/user/alice?pretty=true", ``},
	{"GET", "/v1/data/compiled/access/roles/nothing", ``},
	{"POST", "/v0/data/writ/access/decision", readsPods},
	{"POST", "/v0/data/writ/access/decision/allowed", readsSecrets},
	{"POST", "/v0/data/compiled/access/master", ``},
	{"POST", "/v0/data/writ/access/nothing", `{}`},
	{"POST", "/v0/data/nothing/at/all", `{}`},
	{"GET", "/health", ``},
	{"GET", "/health?bundles&plugins", ``},
}

// A client gets the answers of a stock OPA server with the same bundle, but for ids and
// times.
func TestAnswersAreThoseOfOPA(t *testing.T) {
	bundle := build(t)
	own := httptest.NewServer(serve(t, bundle, nil))
	defer own.Close()
	opa := stock(t, bundle)
	results := 0
	for _, row := range requests {
		name := strings.Join(row[:], " ")
		got, want := ask(t, own.URL, row), ask(t, opa, row)
		if got.status != want.status || got.contentType != want.contentType || got.lines > 3 != (want.lines > 3) {
			t.Errorf("%s: got %+v, OPA answers %+v", name, got, want)
			continue
		}
		if got.status >= http.StatusBadRequest {
			compareErrors(t, name, got.body, want.body)
			continue
		}
		if !reflect.DeepEqual(comparable(t, got.body), comparable(t, want.body)) {
			t.Errorf("%s:\ngot         %s\nOPA answers %s", name, got.body, want.body)
		}
		if bytes.Contains(got.body, []byte(`"result"`)) {
			results++
		}
	}
	if results < 15 {
		t.Errorf("%d answers have a result, which shows little", results)
	}
}

type answer struct {
	status      int
	contentType string
	body        []byte
	lines       int
}

func ask(t *testing.T, base string, row [3]string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), row[0], base+row[1], strings.NewReader(row[2]))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header.Get("Content-Type"), body, bytes.Count(body, []byte("\n"))}
}

// compareErrors compares the codes of errors.
func compareErrors(t *testing.T, name string, got, want []byte) {
	t.Helper()
	var own, opa struct{ Code, Message string }
	if json.Unmarshal(got, &own) != nil || json.Unmarshal(want, &opa) != nil || own.Code != opa.Code || own.Message == "" {
		t.Errorf("%s:\ngot         %s\nOPA answers %s", name, got, want)
	}
	if own.Code == types.CodeUndefinedDocument && own.Message != opa.Message {
		t.Errorf("%s: got message %q, want %q", name, own.Message, opa.Message)
	}
}

// comparable returns an answer without ids and times. Explanations are compared by their
// operations: lines have positions and variables, which depend on the names of files.
func comparable(t *testing.T, body []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if id, ok := object["decision_id"].(string); ok && len(id) == 36 {
		object["decision_id"] = "an id"
	}
	if measured, ok := object["metrics"].(map[string]any); ok {
		object["metrics"] = measured["timer_server_handler_ns"] != nil && measured["timer_rego_query_eval_ns"] != nil
	}
	if p, ok := object["provenance"].(map[string]any); ok {
		var revisions []string
		for _, b := range p["bundles"].(map[string]any) {
			revisions = append(revisions, fmt.Sprint(b))
		}
		slices.Sort(revisions)
		p["bundles"] = revisions
		for _, key := range []string{"build_commit", "build_timestamp", "build_hostname"} {
			delete(p, key) // of the binary
		}
	}
	if events, ok := object["explanation"].([]any); ok && len(events) > 0 {
		for i, event := range events {
			if e, isEvent := event.(map[string]any); isEvent {
				events[i] = fmt.Sprint(e["op"], " ", e["type"])
			} else {
				object["explanation"] = "lines"
			}
		}
	}
	return object
}

// Callers without a role get decisions, and nothing beside them.
func TestBeyondEntrypoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("a,alice,1\nb,vera,2,auditors\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := auth.ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	h := serve(t, build(t), func(o *api.Options) {
		o.Rule.Authenticator, o.Rule.Auditors = tokens, []string{"auditors"}
	})
	for _, row := range []struct {
		path           string
		caller, audits int
	}{
		{"/v1/data/writ/access/decision", 200, 200},
		{"/v1/data/writ/access/decision/allowed", 200, 200},
		{"/v1/data/writ/access/decision?metrics&provenance", 200, 200},
		{"/v1/data/writ/access/decision?explain=full", 403, 200},
		{"/v1/data/writ/access", 403, 200},
		{"/v1/data/writ/access/decisions", 403, 200},
		{"/v1/data/compiled", 403, 200},
		{"/v1/data", 403, 200},
		{"/v1/data/writ%2Faccess/decision", 404, 404},
		{"/v0/data/compiled/access/master", 403, 200},
		{"/v0/data/writ/access/decision", 200, 200},
	} {
		for token, want := range map[string]int{"a": row.caller, "b": row.audits, "c": 401} {
			r := httptest.NewRequest(http.MethodPost, row.path, strings.NewReader(`{"input":`+readsPods+`}`))
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s of %s: got %d, want %d: %s", row.path, token, w.Code, want, w.Body)
			}
		}
	}
}

// A key in another case is another key, which OPA takes for input, and a path may have
// further slashes, from which OPA redirects.
func TestDifferencesFromOPA(t *testing.T) {
	h := serve(t, build(t), nil)
	for _, row := range []struct {
		path, body, want string
	}{
		{"/v1/data/writ/access/decision", `{"Input":` + readsPods + `}`, `"code":"invalid_request"`},
		{"/v1/data/writ/access/decision", `{"input":` + readsSecrets + `,"INPUT":` + readsPods + `}`, `"allowed":false,"denied":true`},
		{"/v1/data/writ/access/decision", `{"input":` + readsSecrets + `,"input":` + readsPods + `}`, `"code": "invalid_parameter"`},
		{"/v1/data/writ/access/decision/", `{"input":` + readsPods + `}`, `"allowed":true`},
		{"/v1/data//writ/access//decision", `{"input":` + readsPods + `}`, `"allowed":true`},
		{"/v0/data/writ/access/decision", readsPods + readsPods, `"code": "invalid_parameter"`},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, row.path, strings.NewReader(row.body)))
		if !strings.Contains(w.Body.String(), row.want) {
			t.Errorf("%s %s: got %d %s, want %s", row.path, row.body, w.Code, w.Body, row.want)
		}
	}
}

// Without a revision decisions are denials, and the health check names the bundle.
func TestNoRevision(t *testing.T) {
	h := serve(t, nil, nil)
	for _, row := range [][3]string{
		{"GET", "/health", "200 {}"},
		{"GET", "/health?bundles", `500 {"error":"one or more bundles are not activated: writ"}`},
		{"GET", "/health?plugins=true", `500 {"error":"one or more plugins are not up"}`},
		{"GET", "/health?plugins&exclude-plugin=bundle", "200 {}"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(row[0], row[1], nil))
		if got := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String())); got != row[2] {
			t.Errorf("%s: got %s, want %s", row[1], got, row[2])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/data/writ/access/decision", strings.NewReader(`{"input":`+readsPods+`}`)))
	if !strings.Contains(w.Body.String(), `"allowed":false,"denied":true`) {
		t.Errorf("got %d %s, want a denial", w.Code, w.Body)
	}
}
