package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/exchange"
)

// unread is a connection whose client does not read the answer before read is closed.
type unread struct {
	*httptest.ResponseRecorder
	begun chan<- struct{}
	read  <-chan struct{}
}

func (u unread) Write(b []byte) (int, error) {
	select {
	case u.begun <- struct{}{}:
	case <-u.read:
	}
	<-u.read
	return u.ResponseRecorder.Write(b)
}

// A slow reader keeps no decision from being made: neither the place nor the values of its request
// are taken while the answer is sent.
func TestSlowReaders(t *testing.T) {
	e := engineOf(t, hiddenByLabel)
	for _, endpoint := range slices.Concat(bodyEndpoints, questionEndpoints) {
		t.Run(endpoint.name, func(t *testing.T) {
			values := limits.NewBudget(1000)
			_, o := endpoints(&fake{}, func(o *Options) { o.Current, o.MaxInFlight, o.Values = serving(e), 1, values })
			h, begun, read := New(o), make(chan struct{}), make(chan struct{})
			slow := httptest.NewRecorder()
			var reader sync.WaitGroup
			reader.Go(func() {
				r := httptest.NewRequest(http.MethodPost, endpoint.path, strings.NewReader(endpoint.body+strings.Repeat(" ", exchange.SmallBody)))
				h.ServeHTTP(unread{slow, begun, read}, r)
			})
			<-begun
			if held := values.Held(); held != 0 {
				t.Errorf("%d values are charged", held)
			}
			if w := send(h, http.MethodPost, reviewPath, strings.NewReader(asked)); w.Code != http.StatusOK {
				t.Errorf("got %d %s beside a slow reader", w.Code, w.Body)
			}
			close(read)
			reader.Wait()
			if slow.Code != http.StatusOK {
				t.Errorf("the slow reader gets %d %s", slow.Code, slow.Body)
			}
		})
	}
}

// questionEndpoints are endpoints for questions whose answers may be large.
var questionEndpoints = []struct{ name, path, body string }{
	{"who-can", "/v1/who-can", `{"request":{"verb":"get","resource":"pods","namespace":"hammer"}}`},
	{"what-can", "/v1/what-can", `{"user":"clark"}`},
	{"data", "/v1/data/writ/access/decision", `{"input":{"user":"clark","verb":"get","resource":"pods"}}`},
	{"filter", "/v1/filters/access", `{"target":"ucast+all","request":{"user":"clark","verb":"get","resource":"pods"}}`},
}

// Slow readers of batches hold no place for large bodies, neither in the middle of an answer nor at
// its end.
func TestSlowReadersOfBatches(t *testing.T) {
	one := `{"user":"clark","verb":"get","resource":"pods"}`
	for name, count := range map[string]int{"in the middle": 200, "at the end": 1} {
		t.Run(name, func(t *testing.T) {
			_, o := endpoints(&fake{}, nil)
			h, begun, read := New(o), make(chan struct{}), make(chan struct{})
			body := `{"requests":[` + one + strings.Repeat(","+one, count-1) + `]}` + strings.Repeat(" ", exchange.SmallBody)
			answers := make([]*httptest.ResponseRecorder, exchange.MaxLarge)
			var readers sync.WaitGroup
			for i := range answers {
				answers[i] = httptest.NewRecorder()
				readers.Go(func() {
					r := httptest.NewRequest(http.MethodPost, "/v1/decisions/access/batch", strings.NewReader(body))
					h.ServeHTTP(unread{answers[i], begun, read}, r)
				})
				<-begun
			}
			padded := strings.NewReader(asked + strings.Repeat(" ", exchange.SmallBody))
			if w := send(h, http.MethodPost, reviewPath, padded); w.Code != http.StatusOK {
				t.Errorf("got %d %s beside slow readers", w.Code, w.Body)
			}
			close(read)
			readers.Wait()
			for _, w := range answers {
				if got := strings.Count(w.Body.String(), `"allowed":true`); w.Code != http.StatusOK || got != count {
					t.Errorf("a slow reader gets %d with %d decisions, want %d", w.Code, got, count)
				}
			}
		})
	}
}
