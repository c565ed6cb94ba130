package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// swapped is served when a request comes, and another revision when it is answered.
type swapped struct{ now string }

func (s swapped) Revision() string { return s.now }

func (swapped) Sequence(revision string) (int64, bool) {
	return map[string]int64{"before": 7, fakeRevision: 5}[revision], true
}

// Every door that answers from a revision heeds what the request demands of it.
func TestDemands(t *testing.T) {
	_, o := doors(nil, func(o *Options) {
		o.Reviewer, o.Authenticator = &viewing{}, tokens(t, "t,clark,1\n")
		o.Guard, o.Effective = guarding{}, guarding{}
	})
	for name, row := range map[string]struct{ method, path, media, body string }{
		"access":            {"POST", "/v1/decisions/access", "application/json", `{"user":"clark","verb":"get","resource":"pods"}`},
		"visibility":        {"POST", visiblePath, "application/json", `{"user":"clark"}`},
		"visibility stream": {"POST", visiblePath, linesMedia, "{\"user\":\"clark\"}\n{\"name\":\"clark\"}\n"},
		"gateway":           {"POST", "/v1/decisions/gateway", "application/json", `{}`},
		"debugging":         {"GET", debugPath + "policies", "", ""},
		"effective":         {"GET", "/v1/effective/AuthPolicy/replaced", "", ""},
		"review": {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json",
			`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":"clark","resourceAttributes":{"verb":"get","resource":"pods"}}}`},
	} {
		for when, served := range map[string]string{"before it is asked": fakeRevision, "meanwhile": "before"} {
			o.Revisions = swapped{served}
			h := New(o)
			for header, values := range map[string]struct{ met, unmet string }{
				minSequenceName: {"5", "7"},
				revisionName:    {fakeRevision, "before"},
			} {
				for value, want := range map[string]int{values.met: http.StatusOK, values.unmet: http.StatusPreconditionFailed, "": http.StatusBadRequest} {
					if value == fakeRevision && served != fakeRevision {
						continue // it is not yet served, and so refused at once
					}
					r := httptest.NewRequest(row.method, row.path, strings.NewReader(row.body))
					r.Header.Set("Content-Type", row.media)
					r.Header.Set("Authorization", "Bearer t")
					r.Header.Set(header, value)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != want {
						t.Errorf("%s, %s: %q, swapped %s: got %d %s, want %d", name, header, value, when, w.Code, w.Body, want)
					}
				}
			}
		}
	}
}

// guarding allows at the gateway point, and has nothing to show of policies.
type guarding struct{}

func (guarding) Guard(context.Context, *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	return decision.GatewayDecision{Allowed: true, Status: http.StatusOK, Revision: fakeRevision}, nil
}

func (guarding) Effective(decision.EffectiveQuestion) (any, string, error) {
	return []string{}, fakeRevision, nil
}
