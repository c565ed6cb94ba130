package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// waiting shows effective policies when it is released.
type waiting struct {
	decision.Unavailable
	inside, release chan struct{}
}

func (waiting) Loaded() *decision.Loaded { return &decision.Loaded{Revision: "r"} }

func (w waiting) Tables() *tables.Revision {
	w.inside <- struct{}{}
	<-w.release
	return new(tables.Revision)
}

// Questions that may go through everything are few at a time, and there is room
// again when they are answered.
func TestEffectiveBound(t *testing.T) {
	w := waiting{inside: make(chan struct{}), release: make(chan struct{})}
	_, o := endpoints(&fake{}, func(o *Options) { o.Current = serving(w) })
	h := New(o)
	ask := func() int {
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest(http.MethodGet, "/v1/effective/AuthPolicy/replaced", nil))
		return r.Code
	}
	codes := make(chan int)
	for range exchange.MaxListing {
		go func() { codes <- ask() }()
		<-w.inside
	}
	go func() { codes <- ask() }()
	select {
	case <-w.inside:
		t.Error("one more is answered at the same time")
	case code := <-codes:
		if code != http.StatusServiceUnavailable {
			t.Errorf("got %d, want a refusal", code)
		}
	}
	close(w.release)
	for range exchange.MaxListing {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("got %d", code)
		}
	}
	go func() { <-w.inside }()
	if code := ask(); code != http.StatusOK {
		t.Errorf("afterwards: got %d", code)
	}
}
