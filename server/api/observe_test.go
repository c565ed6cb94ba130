package api

import (
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// observed lists observations.
type observed struct {
	mu   sync.Mutex
	list []string
}

func (o *observed) Observe(d decision.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := "nothing"
	if len(d.Matched) > 0 {
		first = d.Matched[0].Name
	}
	o.list = append(o.list, strings.Join([]string{d.Point, d.Endpoint, first, string(d.Input())[:1], string(d.Result())[:1]}, " "))
}

// Each request that is decided is observed once, at every endpoint, and invalid ones are
// not.
func TestDecisionsAreObserved(t *testing.T) {
	o := new(observed)
	_, options := endpoints(&fake{}, func(options *Options) { options.Observer = o })
	h := New(options)
	for _, row := range []struct{ path, body, want string }{
		{"/v1/decisions/access", `{"user":"a","verb":"get","resource":"pods"}`, "access /v1/decisions/access"},
		{"/v1/decisions/access", `{"user":"a"}`, ""},
		{"/v1/decisions/visibility", `{"user":"a","type":"pods","cluster":{"name":"c"}}`, "visibility /v1/decisions/visibility"},
		{"/clusters/c/apis/authorization.k8s.io/v1/subjectaccessreviews",
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"a","resourceAttributes":{"verb":"get","resource":"pods"}}}`,
			"access /clusters/:cluster/apis/authorization.k8s.io/v1/subjectaccessreviews"},
		{"/v1/data/writ/access/decision", `{"input":{"user":"a","verb":"get","resource":"pods"}}`, "access /v1/data/*path"},
	} {
		o.list = nil
		r := httptest.NewRequest("POST", row.path, strings.NewReader(row.body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := strings.Join(o.list, "; ")
		if !strings.HasPrefix(got, row.want) || (row.want == "") != (got == "") || len(o.list) > 1 {
			t.Errorf("%s %s: got %q, want %q once", row.path, row.body, got, row.want)
		}
	}
}
