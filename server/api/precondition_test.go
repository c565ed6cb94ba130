package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// serves has every kind of answer.
type serves struct{ viewing }

func (*serves) Gateway(context.Context, *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	return decision.GatewayDecision{Allowed: true, Status: http.StatusOK, Revision: fakeRevision}, nil
}

// Every endpoint that answers from a revision loads it once and checks the request's
// preconditions on it.
func TestPreconditions(t *testing.T) {
	loaded := 0
	_, o := endpoints(&fake{}, func(o *Options) {
		o.Current = func() decision.Policies { loaded++; return &serves{} }
		o.Rule.Authenticator, o.Rule.Auditors = tokens(t, "t,clark,1,sec\n"), []string{"sec"}
	})
	h := New(o)
	for name, row := range map[string]struct{ method, path, media, body string }{
		"access":            {"POST", "/v1/decisions/access", "application/json", `{"user":"clark","verb":"get","resource":"pods"}`},
		"visibility":        {"POST", visiblePath, "application/json", `{"user":"clark"}`},
		"visibility stream": {"POST", visiblePath, linesMedia, "{\"user\":\"clark\"}\n{\"name\":\"clark\"}\n"},
		"gateway":           {"POST", "/v1/decisions/gateway", "application/json", `{}`},
		"debugging":         {"GET", dashboardPath + "policies", "", ""},
		"effective":         {"GET", "/v1/effective/AuthPolicy/replaced", "", ""},
		"review": {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json",
			`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"clark","resourceAttributes":{"verb":"get","resource":"pods"}}}`},
	} {
		for header, values := range map[string]struct{ met, unmet string }{
			exchange.MinSequenceHeader: {"5", "7"},
			exchange.RevisionHeader:    {fakeRevision, "before"},
		} {
			for value, want := range map[string]int{values.met: http.StatusOK, values.unmet: http.StatusPreconditionFailed, "": http.StatusBadRequest} {
				r := httptest.NewRequest(row.method, row.path, strings.NewReader(row.body))
				r.Header.Set("Content-Type", row.media)
				r.Header.Set("Authorization", "Bearer t")
				r.Header.Set(header, value)
				w := httptest.NewRecorder()
				loaded = 0
				h.ServeHTTP(w, r)
				if w.Code != want || loaded != 1 || w.Header().Get(exchange.RevisionHeader) != fakeRevision {
					t.Errorf("%s, %s: %q: got %d %s of revision %q loaded %d times, want %d",
						name, header, value, w.Code, w.Body, w.Header().Get(exchange.RevisionHeader), loaded, want)
				}
			}
		}
	}
}
