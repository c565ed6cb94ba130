// Package authzen asks a server what the certification of the AuthZEN Authorization API
// 1.0 asks, with a fixture in documents, and compares searches with evaluations.
package authzen

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// fixture returns the documents of the certification.
func fixture(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	paths, err := filepath.Glob("policies/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d files and %v", len(paths), err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(content)
	}
	return files
}

// serve returns a server with documents.
func serve(t *testing.T, files map[string]string, change func(*api.Options)) http.Handler {
	t.Helper()
	var snapshot source.Snapshot
	for path, content := range files {
		snapshot.Files = append(snapshot.Files, source.NewFile(path, []byte(content)))
	}
	result, list := translator.New(translator.Options{AllowEmpty: true}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	bundle, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	policies, err := engine.Activate(t.Context(), bundle, engine.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New()
	kept := cache.New(cache.Options{Entries: 1000}, m)
	cached := kept.Of(policies)
	o := api.Options{
		Current: func() decision.Policies { return cached }, Metrics: m, Cache: kept, Timeout: time.Minute,
		Rule: auth.Rule{Loopback: true, AllowedHosts: []string{"pdp.example.com"}},
	}
	if change != nil {
		change(&o)
	}
	return api.New(o)
}

// ask sends a request as JSON and returns the answer.
func ask(h http.Handler, path, body string, headers ...string) *httptest.ResponseRecorder {
	method := http.MethodPost
	if body == "" && strings.HasPrefix(path, "/.well-known/") {
		method = http.MethodGet
	}
	r := httptest.NewRequest(method, "https://pdp.example.com"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// decoded returns an answer of status 200.
func decoded(t *testing.T, w *httptest.ResponseRecorder) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &object); w.Code != http.StatusOK || err != nil {
		t.Fatalf("got %d %s, %v", w.Code, w.Body, err)
	}
	return object
}
