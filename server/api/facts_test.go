package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// unknownLabels is how such a denial's reason ends.
const unknownLabels = ": namespace labels are unknown (fail-closed)"

// judge has pod security of its own: it denies an exec without a pod, and a delete
// without the labels of the namespace.
type judge struct {
	fake
	err error
}

func (j *judge) MissingFacts(_ context.Context, r *decision.Request) (decision.Facts, error) {
	j.remember("missing facts", r)
	return decision.Facts{Pod: r.Subresource == "exec", NamespaceLabels: true}, j.err
}

func (j *judge) Access(_ context.Context, r *decision.Request) decision.Decision {
	j.remember("evaluate", r)
	switch {
	case r.Subresource == "exec" && r.Pod == nil:
		return decision.Decision{Denied: true, Reason: "no pod: " + r.PodError, Pods: []decision.PodOutcome{{Policy: "p", Action: "deny"}}}
	case r.Subresource == "exec":
		return decision.Decision{Allowed: true, Reason: "of " + r.Tenant, Pods: []decision.PodOutcome{{Policy: "p", Action: "allow", Evaluated: true}}}
	case r.Verb == "update" && r.NamespaceLabels == nil:
		return decision.Decision{Denied: true, Unknown: decision.Facts{NamespaceLabels: true}}
	case r.Verb == "update" && r.Labels == nil:
		return decision.Decision{Denied: true, Reason: "labels are unknown", Unknown: decision.Facts{Labels: true, Node: true}}
	case r.Verb == "delete" && r.NamespaceLabels == nil:
		return decision.Decision{Denied: true, Reason: "denied by DenyPolicy p, rule 0" + unknownLabels, Unknown: decision.Facts{NamespaceLabels: true}}
	}
	return decision.Decision{Allowed: true, Reason: r.Cluster + " " + r.Session + " " + r.Escalation}
}

// atlas knows the cluster prod, which is the default.
type atlas struct {
	read    []decision.Facts
	nothing bool
	bare    bool // labels of objects cannot be read
	inside  func()
}

func (a *atlas) Place(r *decision.Request) error {
	if r.Cluster != "" && r.Cluster != "prod" {
		return errors.New("no such cluster")
	}
	r.Cluster, r.Tenant = "prod", "bank"
	return nil
}

func (a *atlas) Complete(_ context.Context, r *decision.Request, w decision.Facts) {
	a.read = append(a.read, w)
	if a.inside != nil {
		a.inside()
	}
	switch {
	case a.nothing:
		return
	case w.Pod:
		r.Pod = map[string]any{"kind": "Pod"}
	}
	if w.NamespaceLabels {
		r.NamespaceLabels = map[string]string{}
	}
	if w.Labels && !a.bare {
		r.Labels = map[string]string{}
	}
}

func (*atlas) Labels(string) map[string]string { return nil }

func TestFacts(t *testing.T) {
	const exec = `"resourceAttributes":{"verb":"create","resource":"pods","subresource":"exec","namespace":"s","name":"p"}`
	const remove = `"resourceAttributes":{"verb":"delete","resource":"deployments","group":"apps","namespace":"s","name":"p"}`
	const get = `"resourceAttributes":{"verb":"get","resource":"pods","namespace":"s","name":"p"}`
	const update = `"resourceAttributes":{"verb":"update","resource":"deployments","group":"apps","namespace":"s","name":"p"}`
	object := decision.Facts{Labels: true, Node: true}
	pod, labels := decision.Facts{Pod: true, NamespaceLabels: true}, decision.Facts{NamespaceLabels: true}
	for _, tt := range []struct {
		name, path, spec string
		judge            *judge
		atlas            *atlas // nil: no clusters
		allowed          bool
		reason           string
		read             []decision.Facts
	}{
		{"a pod", "", exec, &judge{}, &atlas{}, true, "of bank", []decision.Facts{pod}},
		{"no clusters", "/clusters/x", exec, &judge{}, nil, false, "no pod: ", nil},
		{"no way there", "", exec, &judge{}, &atlas{nothing: true}, false, "no pod: ", []decision.Facts{pod}},
		{"another cluster", "/clusters/x", exec, &judge{}, &atlas{}, false, "denied: evaluation error: no such cluster", nil},
		{"an evaluation error", "", exec, &judge{err: errors.New("no answer")}, &atlas{}, false, "denied: evaluation error: no answer", nil},
		{"labels decide", "", remove, &judge{}, &atlas{}, true, "prod  ", []decision.Facts{labels}},
		{"labels cannot be read", "", remove, &judge{}, &atlas{nothing: true}, false, unknownLabels, []decision.Facts{labels}},
		{"labels of the object decide", "", update, &judge{}, &atlas{}, true, "prod  ", []decision.Facts{labels, object}},
		{"labels of the object cannot be read", "", update, &judge{}, &atlas{bare: true}, false, "labels are unknown", []decision.Facts{labels, object}},
		{"nothing is needed", "", get, &judge{}, &atlas{}, true, "prod  ", nil},
		{"claims", "", get + `,"extra":{"my/session":["s"],"my/escalation":["e"]}`, &judge{}, &atlas{}, true, "prod s e", nil},
		{"claims without clusters", "", get + `,"extra":{"my/session":["s"],"my/escalation":["e"]}`, &judge{}, nil, true, " s e", nil},
		{"empty claims", "", get + `,"extra":{"my/session":[],"my/escalation":null,"writ.dev/session":["x"]}`, &judge{}, &atlas{}, true, "prod  ", nil},
		{"two claims", "", get + `,"extra":{"my/session":["s","s"]}`, &judge{}, nil, false, "more than one value of my/session", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, o := endpoints(&fake{}, nil)
			o.Current, o.SessionKey, o.EscalationKey = serving(tt.judge), "my/session", "my/escalation"
			if tt.atlas != nil {
				o.Clusters = tt.atlas
			}
			allowed, reason := sar(t, New(o), tt.path, tt.spec)
			if allowed != tt.allowed || !strings.Contains(reason, tt.reason) {
				t.Errorf("got %v, %q; want %v, %q", allowed, reason, tt.allowed, tt.reason)
			}
			var read []decision.Facts
			if tt.atlas != nil {
				read = tt.atlas.read
			}
			if fmt.Sprint(read) != fmt.Sprint(tt.read) {
				t.Errorf("got reads %v, want %v", read, tt.read)
			}
		})
	}
}

func sar(t *testing.T, h http.Handler, path, spec string) (allowed bool, reason string) {
	t.Helper()
	w := httptest.NewRecorder()
	body := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u",` + spec + `}}`
	h.ServeHTTP(w, httptest.NewRequest("POST", path+"/apis/authorization.k8s.io/v1/subjectaccessreviews", strings.NewReader(body)))
	var review struct {
		Status struct {
			Allowed, Denied bool
			Reason          string
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if review.Status.Allowed == review.Status.Denied {
		t.Errorf("got %s, want allowed or denied", w.Body)
	}
	return review.Status.Allowed, review.Status.Reason
}

// What a read comes back as finds a place, though there is only one.
func TestAReadHoldsNoPlace(t *testing.T) {
	a := &atlas{}
	_, o := endpoints(&fake{}, nil)
	o.Current, o.Clusters, o.MaxInFlight = serving(&judge{}), a, 1
	h := New(o)
	inside := false
	a.inside = func() {
		inside, _ = sar(t, h, "", `"resourceAttributes":{"verb":"get","resource":"pods","namespace":"s","name":"p"}`)
	}
	outside, reason := sar(t, h, "", `"resourceAttributes":{"verb":"create","resource":"pods","subresource":"exec","namespace":"s","name":"p"}`)
	if !inside || !outside {
		t.Errorf("got %v for the read and %v, %q for the review, want both allowed", inside, outside, reason)
	}
}

// A canonical request is evaluated as it was sent.
func TestNothingIsReadForACanonicalRequest(t *testing.T) {
	a := &atlas{}
	_, o := endpoints(&fake{}, nil)
	o.Current, o.Clusters = serving(&judge{}), a
	w := httptest.NewRecorder()
	New(o).ServeHTTP(w, httptest.NewRequest("POST", "/v1/decisions/access",
		strings.NewReader(`{"user":"u","verb":"create","resource":"pods","subresource":"exec","namespace":"s","name":"p","cluster":"x"}`)))
	if !strings.Contains(w.Body.String(), "no pod: ") || len(a.read) > 0 {
		t.Errorf("got %s and reads %v", w.Body, a.read)
	}
}

// An Origin review is of the default cluster.
func TestAnOriginReviewIsOfTheDefaultCluster(t *testing.T) {
	_, o := endpoints(&fake{}, nil)
	o.Current, o.Clusters = serving(&judge{}), &atlas{}
	w := httptest.NewRecorder()
	New(o).ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/ns/s/subjectAccessReviews",
		strings.NewReader(`{"kind":"SubjectAccessReview","apiVersion":"v1","spec":{"verb":"get","resourceKind":"Pod","userName":"u"}}`)))
	if !strings.Contains(w.Body.String(), `"allowReason":"prod  "`) {
		t.Errorf("got %s", w.Body)
	}
}
