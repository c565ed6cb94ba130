package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A proxy before the server compares paths as they are written: an endpoint must not be
// reached by another spelling of its slashes.
func TestPaths(t *testing.T) {
	const review = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	h := New(func() Options { _, o := endpoints(&fake{}, nil); return o }())
	body := `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"clark","resourceAttributes":{"verb":"get","resource":"pods"}}}`
	for path, want := range map[string]int{
		review:                                                    http.StatusOK,
		"/clusters/prod" + review:                                 http.StatusOK,
		"/clusters/pr%6Fd" + review:                               http.StatusOK,
		"/clusters/pr%20d" + review:                               http.StatusOK,
		"/clusters%2Fprod" + review:                               http.StatusNotFound,
		"/clusters%2fprod" + review:                               http.StatusNotFound,
		"/clusters/a%2Fb" + review:                                http.StatusNotFound,
		"/clusters/prod%2F.." + review:                            http.StatusNotFound,
		"/clusters/prod/../prod" + review:                         http.StatusNotFound,
		"/clusters/" + review:                                     http.StatusNotFound,
		"//clusters/prod" + review:                                http.StatusNotFound,
		"/clusters/prod" + review + "/":                           http.StatusNotFound,
		"/clusters/prod" + review + ";a=b":                        http.StatusNotFound,
		"/clusters/prod" + strings.ReplaceAll(review, "/", "%2F"): http.StatusNotFound,
		"/v1%2Fdecisions/access":                                  http.StatusNotFound,
	} {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: got %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}
