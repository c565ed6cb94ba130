package handler

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/metrics"
)

// rated is a console that answers with rates.
type rated struct {
	console.Console
	console.Viewer
}

func (r rated) Now() console.Viewer                        { return r }
func (rated) Revision() string                             { return "" }
func (rated) Rates(console.Caller) (*console.Rates, error) { return new(console.Rates), nil }

// unread is a connection whose client does not read the answer before read is closed.
type unread struct {
	*httptest.ResponseRecorder
	begun chan<- struct{}
	read  <-chan struct{}
}

func (u unread) Write(b []byte) (int, error) {
	u.begun <- struct{}{}
	<-u.read
	return u.ResponseRecorder.Write(b)
}

// Slow readers take no places of the console.
func TestSlowReaders(t *testing.T) {
	service := exchange.New(exchange.Options{
		Rule: auth.Rule{Loopback: true}, Metrics: metrics.New(), Logger: slog.New(slog.DiscardHandler), MaxInFlight: 1, Timeout: time.Second,
	})
	rates := New(service, rated{}).Rates()
	begun, read := make(chan struct{}), make(chan struct{})
	var readers sync.WaitGroup
	for range Places {
		readers.Go(func() {
			rates(unread{httptest.NewRecorder(), begun, read}, httptest.NewRequest(http.MethodGet, "/v1/rates", nil))
		})
		<-begun
	}
	w := httptest.NewRecorder()
	rates(w, httptest.NewRequest(http.MethodGet, "/v1/rates", nil))
	if w.Code != http.StatusOK {
		t.Errorf("got %d %s beside %d slow readers", w.Code, w.Body, Places)
	}
	close(read)
	readers.Wait()
}
