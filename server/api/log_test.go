package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// The line of a request has the revision that answered and the trace of the caller, and
// nothing else of its headers.
func TestRequestLog(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	for _, tt := range []struct {
		name, traceparent, want string
	}{
		{"none", "", ""},
		{"sampled", "00-" + id + "-b7ad6b7169203331-01", id},
		{"not sampled", "00-" + id + "-b7ad6b7169203331-00", id},
		{"another form", "secret-" + id, ""},
		{"too long", "00-" + id + "-b7ad6b7169203331-01-secret", ""},
	} {
		var log bytes.Buffer
		_, o := endpoints(&fake{}, func(o *Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		r := httptest.NewRequest("POST", "/v1/decisions/access?token=secret", strings.NewReader(`{"user":"secret","verb":"get","resource":"pods"}`))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization-Secret", "secret")
		if tt.traceparent != "" {
			r.Header.Set("Traceparent", tt.traceparent)
		}
		w := httptest.NewRecorder()
		New(o).ServeHTTP(w, r)
		var line struct{ Msg, Route, Revision, Trace string }
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %s", tt.name, err, log.String())
		}
		if revision := w.Header().Get("Writ-Revision"); line.Msg != "request" || line.Route != "/v1/decisions/access" || revision == "" || line.Revision != revision || line.Trace != tt.want {
			t.Errorf("%s: got %s", tt.name, log.String())
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("%s: the line has what the caller chose: %s", tt.name, log.String())
		}
	}
}

// The steps of a request for visibility are logged at level debug, without what the caller
// chose and with a bound on the policies that are named.
func TestLoggedSteps(t *testing.T) {
	var log bytes.Buffer
	_, o := endpoints(nil, func(o *Options) {
		o.Current = serving(&listing{})
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r := httptest.NewRequest("POST", "/v1/decisions/visibility", strings.NewReader(`{"user":"secret","cluster":{"name":"secret-1"},"type":"pods","items":[{"name":"secret"},{"name":"x"}]}`))
	r.Host = "localhost"
	New(o).ServeHTTP(httptest.NewRecorder(), r)
	at := 0
	for _, want := range []string{
		"step=retrieval count=30 policies=\"[dash/p dash/p", "and 10 more]", "step=validation active=29 others=\"[dash/p: Expired]",
		"step=match decision=partial policy=dash/p rule=2 source=p.yaml:7", "step=filter items=2 visible=1",
	} {
		found := strings.Index(log.String()[at:], want)
		if found < 0 {
			t.Fatalf("want %q after %d of\n%s", want, at, log.String())
		}
		at += found
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log has what the caller chose: %s", log.String())
	}
}

// listing is a fake with many policies for everybody, one of them expired.
type listing struct{ viewing }

func (l *listing) Lists() decision.Lists { return l }

func (*listing) ListPolicies(context.Context, decision.Principal) decision.PolicyListing {
	var l decision.PolicyListing
	for i := range 30 {
		state := decision.PolicyActive
		if i == 7 {
			state = decision.PolicyExpired
		}
		l.Policies = append(l.Policies, decision.PolicySummary{Namespace: "dash", Name: "p", State: state})
	}
	return l
}

func (l *listing) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	a := l.viewing.Visibility(ctx, r)
	a.Matched = []decision.Matched{{Namespace: "dash", Name: "p", Rule: 2, Source: "p.yaml:7"}}
	return a
}
