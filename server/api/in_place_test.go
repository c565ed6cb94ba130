package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/projection"
)

// holding keeps the users of the requests that it evaluates, and denies one verb.
type holding struct {
	allPoints
	held *[]string
}

func (p holding) At(time.Time) decision.Policies { return p }

func (p holding) Key(b []byte, q decision.Question) ([]byte, bool) {
	if r, ok := q.(*decision.Request); ok {
		return append(b, r.Verb...), r.Verb != "watch"
	}
	return p.allPoints.Key(b, q)
}

func (p holding) Access(ctx context.Context, r *decision.Request) decision.Decision {
	*p.held = append(*p.held, r.User)
	d := p.allPoints.Access(ctx, r)
	d.Allowed, d.Denied = r.Verb != "delete", r.Verb == "delete"
	return d
}

func (p holding) Gateway(ctx context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	*p.held = append(*p.held, r.Text("request", "host"))
	return p.allPoints.Gateway(ctx, r)
}

func (p holding) Visibility(ctx context.Context, r *decision.VisibilityRequest) decision.Authorization {
	*p.held = append(*p.held, r.User)
	return p.allPoints.Visibility(ctx, r)
}

// Record keeps what the audit keeps: the requests that are denied.
func (p holding) Record(_ context.Context, r *decision.Request, d *decision.Decision) {
	if d.Denied {
		*p.held = append(*p.held, r.User)
	}
}

func (holding) RecordFilter(context.Context, *decision.Filter) {}

// Memory of a body is not used again while an evaluation, or the audit, may have its texts.
func TestTextsOfBodiesAreKept(t *testing.T) {
	var held []string
	m := metrics.New()
	p := holding{allPoints{keys: projection.NewGatewayKeys(nil)}, &held}
	kept := cache.New(cache.Options{Entries: 1000, Visibility: cache.VisibilityOptions{Entries: 1000}}, m)
	h := New(Options{Current: serving(kept.Of(p)), Metrics: m, Rule: openRule, Recorder: p})
	asked := func(user string) string {
		return fmt.Sprintf(`{"user":%q,"verb":"get","resource":"pods"}`, user)
	}
	for _, row := range []struct{ path, body string }{
		{"access", strings.ReplaceAll(asked("USER"), "get", "watch")},
		{"access", strings.ReplaceAll(asked("USER"), "get", "delete")},
		{"access/batch", `{"requests":[` + asked("a") + `,` + strings.ReplaceAll(asked("USER"), "get", "watch") + `,` + asked("b") + `]}`},
		{"gateway", `{"request":{"host":"USER","method":"GET","path":"/"}}`},
		{"visibility", `{"user":"USER","type":"pods"}`},
	} {
		send := func(user string) {
			t.Helper()
			r := httptest.NewRequest(http.MethodPost, "/v1/decisions/"+row.path, strings.NewReader(strings.ReplaceAll(row.body, "USER", user)))
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Fatalf("%s: got status %d: %s", row.path, w.Code, w.Body)
			}
		}
		send("first") // fills the cache
		held = nil
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprintf("user-%02d", i))
			send(want[i])
		}
		if got := strings.Join(held, " "); got != strings.Join(want, " ") {
			t.Errorf("%s: got %s", row.path, got)
		}
	}
}
