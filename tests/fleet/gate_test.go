package fleet

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The states of a registry, as replicas see it.
const (
	healthy = iota
	slow
	down
)

// gate is between replicas and the registry.
type gate struct {
	server *httptest.Server
	state  atomic.Int32
}

// newGate returns a gate before a server.
func newGate(t *testing.T, upstream string, wait time.Duration) *gate {
	t.Helper()
	at, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch g.state.Load() {
		case slow:
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
			}
		case down:
			panic(http.ErrAbortHandler) // the connection is closed
		}
		proxy.ServeHTTP(w, r)
	}))
	g.server.Config.ErrorLog = proxy.ErrorLog
	t.Cleanup(g.server.Close)
	return g
}

func (g *gate) address() string { return strings.TrimPrefix(g.server.URL, "http://") }

// wait waits until a condition holds.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
