package api

import (
	"context"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/cache"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/projection"
	"github.com/writ-policy/writ/translator/footprint"
	"github.com/writ-policy/writ/translator/tables"
)

// allPoints decides every request alike.
type allPoints struct {
	fixed
	keys *projection.GatewayKeys
}

func (p allPoints) At(time.Time) decision.Policies { return p }

func (allPoints) Tables() *tables.Revision { return noTables }

var noTables = new(tables.Revision)

func (allPoints) Visibility(context.Context, *decision.VisibilityRequest) decision.Authorization {
	return decision.Authorization{Decision: decision.VisibleAll, Revision: fixedRevision}
}

func (allPoints) FilterItems(_ context.Context, _ *decision.VisibilityRequest, a decision.Authorization, _ iter.Seq2[decision.Item, error], _ func(int) error) (decision.VisibilityDecision, error) {
	return decision.VisibilityDecision{Authorization: a}, nil
}

func (allPoints) Gateway(context.Context, *decision.GatewayRequest) (decision.GatewayDecision, *decision.InvalidRequest) {
	return decision.GatewayDecision{Allowed: true, Revision: fixedRevision}, nil
}

func (p allPoints) Key(b []byte, q decision.Question) ([]byte, bool) {
	switch q := q.(type) {
	case *decision.GatewayRequest:
		return p.keys.GatewayKey(b, q)
	case *decision.VisibilityRequest:
		return q.AppendKey(b), true
	}
	return p.fixed.Key(b, q)
}

// A cached answer is made without an allocation, where texts are cut from the body in place, and
// each further decision of a batch too.
func TestCachedAnswersAllocateLittle(t *testing.T) {
	const inAccess = `{"user":"alice","groups":["a","b","system:authenticated"],"verb":"get","resource":"pods","namespace":"n","name":"web","attributes":{}}`
	batch := func(n int) string { return `{"requests":[` + strings.Repeat(inAccess+`,`, n-1) + inAccess + `]}` }
	m := metrics.New()
	policies := allPoints{keys: projection.NewGatewayKeys(&footprint.Gateway{Headers: []string{"x-tenant"}, Reads: [][]string{{"auth", "identity", "sub"}}})}
	kept := cache.New(cache.Options{Entries: 1000, Visibility: cache.VisibilityOptions{Entries: 1000}}, m)
	h := New(Options{Current: serving(kept.Of(policies)), Metrics: m, Rule: openRule})
	for _, row := range []struct {
		path, body string
		most       float64
	}{
		{"access", inAccess, 0},
		{"access/batch", batch(2), 24},
		{"access/batch", batch(50), 40}, // the race detector lets pools forget
		{"gateway", `{"request":{"id":"1","host":"a.example","method":"GET","path":"/a?b=c","headers":{"accept":"*/*","x-tenant":"a"}},` +
			`"source":{"address":"192.0.2.7","port":1},"auth":{"identity":{"sub":"alice"}}}`, 0},
		{"visibility", `{"user":"alice","groups":["a","b"],"cluster":{"name":"c1"},"type":"pods"}`, 6},
	} {
		body := strings.NewReader(row.body)
		r := httptest.NewRequest(http.MethodPost, "/v1/decisions/"+row.path, io.NopCloser(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		w := &discard{header: http.Header{}}
		got := math.Inf(1)
		for range 400 { // what else runs allocates too
			got = min(got, testing.AllocsPerRun(1, func() {
				body.Reset(row.body)
				clear(w.header)
				h.ServeHTTP(w, r)
			}))
		}
		if w.status != http.StatusOK {
			t.Fatalf("%s: got status %d", row.path, w.status)
		}
		if got > row.most {
			t.Errorf("%s: got %v allocations, want at most %v", row.path, got, row.most)
		}
	}
}
