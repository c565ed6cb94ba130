package api

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzEndpoints wants no panic and no 5xx, an answer that is JSON, and nothing
// allowed that the evaluator was not asked. Seeds are the recorded requests.
func FuzzEndpoints(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if _, body, ok := strings.Cut(string(file.Data), "\n\n"); ok && file.Name == "request" {
				f.Add([]byte(body))
			}
		}
	}
	reviewer := &fake{}
	_, o := endpoints(reviewer, nil)
	h := New(o)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{
			reviewPath, "/clusters/c/apis/authorization.k8s.io/v1beta1/subjectaccessreviews",
			"/api/v1/ns/hammer/subjectaccessreviews", "/api/v1/ns/hammer/resourceaccessreviews", "/v1/decisions/access",
		} {
			reviewer.asked = nil
			// Slow requests wait for their time to be up.
			w := send(h, http.MethodPost, path+"?timeout=1ms", strings.NewReader(string(body)))
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%s: got %d %s", path, w.Code, w.Body)
			}
			var answer struct {
				Allowed bool
				Status  any
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%s: got no JSON: %v: %s", path, err, w.Body)
			}
			status, _ := answer.Status.(map[string]any)
			if allowed := answer.Allowed || status["allowed"] == true; allowed && (w.Code != http.StatusOK || len(reviewer.asked) == 0) {
				t.Errorf("%s: got %d %s without a question", path, w.Code, w.Body)
			}
			if status["allowed"] == true && status["denied"] == true {
				t.Errorf("%s: allowed and denied: %s", path, w.Body)
			}
		}
	})
}
