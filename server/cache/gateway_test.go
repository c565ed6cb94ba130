package cache

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// guards decides by the request's key; what is "own" must not be shared, what is "bad"
// is invalid, what is "fail" has an evaluation error.
type guards struct {
	decision.Unavailable
	revision string
	keeps    bool
	asked    atomic.Int64
	inside   chan struct{}
}

func (g *guards) Loaded() *decision.Loaded { return &decision.Loaded{Revision: g.revision} }

func (g *guards) Key(b []byte, q decision.Question) ([]byte, bool) {
	key := q.(*decision.GatewayRequest).Attributes["key"].(string)
	return append(b, key...), key != "unknown"
}

func (g *guards) Keeps(_ decision.Question, d decision.Answer, _ []byte) bool {
	d.(*decision.GatewayDecision).Revision = g.revision
	return g.keeps
}

func (g *guards) Gateway(_ context.Context, r *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	g.asked.Add(1)
	if g.inside != nil {
		<-g.inside
	}
	d := decision.GatewayDecision{Allowed: true, Reason: "by " + g.revision, Revision: g.revision}
	sent, _ := r.Attributes["key"].(string)
	d.Headers, d.Metadata = map[string]string{"x-key": sent}, map[string]any{"of": []any{map[string]any{sent: sent}, json.Number("1.5")}}
	d.Response = &decision.GatewayResponse{Message: sent, Body: sent, Headers: map[string]string{"x-key": sent}}
	switch sent {
	case "own":
		d.IsOwn = true
	case "bad":
		return decision.GatewayDecision{Revision: g.revision}, &decision.InvalidRequest{Code: decision.CodeInvalidRequest}
	case "fail":
		d = d.Failed("failed")
		d.Revision = g.revision
	}
	return d, nil
}

func guard(key string) *decision.GatewayRequest {
	return &decision.GatewayRequest{Attributes: map[string]any{"key": key}}
}

func TestGateway(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		want      int64 // evaluations of three requests
	}{
		{"a decision", "a", 1},
		{"one that is its own", "own", 3},
		{"an invalid request", "bad", 3},
		{"an evaluation error", "fail", 3},
		{"a request without a key", "unknown", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &guards{revision: "r1"}
			c := New(Options{Entries: 40}, metrics.New())
			for range 3 {
				asked := g.asked.Load()
				d, invalid := c.Of(g).Gateway(t.Context(), guard(tt.key))
				if d.Cached != (g.asked.Load() == asked) {
					t.Errorf("got cached %t with %d evaluations", d.Cached, g.asked.Load()-asked)
				}
				d.Cached = false
				want, wantInvalid := (&guards{revision: "r1"}).Gateway(t.Context(), guard(tt.key))
				if d.Encoded == nil { // those that are kept have it already
					d.Encode()
				}
				want.Encode()
				if !reflect.DeepEqual(d, want) || !reflect.DeepEqual(invalid, wantInvalid) {
					t.Errorf("got %+v, %v, want %+v, %v", d, invalid, want, wantInvalid)
				}
			}
			if got := g.asked.Load(); got != tt.want {
				t.Errorf("got %d evaluations, want %d", got, tt.want)
			}
		})
	}
}

// A decision of an earlier revision answers only if nothing that it depends on changed,
// and then is one of the present revision.
func TestGatewayOverAReload(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		c := New(Options{Entries: 40}, metrics.New())
		c.Of(&guards{revision: "r1"}).Gateway(t.Context(), guard("a"))
		next := &guards{revision: "r2", keeps: keeps}
		d, _ := c.Of(next).Gateway(t.Context(), guard("a"))
		if d.Revision != "r2" || (next.asked.Load() == 0) != keeps || (d.Reason == "by r1") != keeps {
			t.Errorf("keeps %v: got %+v after %d evaluations", keeps, d, next.asked.Load())
		}
		c.Of(next).Gateway(t.Context(), guard("own"))
	}
}

// Requests that wait for a decision of another one which is its own evaluate themselves,
// all at once.
func TestGatewayOwnDecisionsDoNotQueue(t *testing.T) {
	g := &guards{revision: "r1", inside: make(chan struct{})}
	c := New(Options{Entries: 40}, metrics.New())
	var callers sync.WaitGroup
	const count = 8
	for range count {
		callers.Go(func() {
			if d, _ := c.Of(g).Gateway(t.Context(), guard("own")); !d.IsOwn {
				t.Errorf("got %+v, want a decision of its own", d)
			}
		})
	}
	for range count {
		g.inside <- struct{}{}
	}
	callers.Wait()
	if got := g.asked.Load(); got != count {
		t.Errorf("got %d evaluations, want %d", got, count)
	}
}
