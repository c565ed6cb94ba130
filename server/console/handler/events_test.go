package handler

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/metrics"
)

// silent is a console without events.
type silent struct{ console.Console }

func (silent) Subscribe(context.Context, console.Caller, int64, bool) (<-chan console.Event, error) {
	events := make(chan console.Event)
	close(events)
	return events, nil
}

// connection is a writer that has a deadline.
type connection struct {
	*httptest.ResponseRecorder
	deadline time.Time
	written  []time.Time // the deadlines at which something was written
}

func (c *connection) SetWriteDeadline(d time.Time) error { c.deadline = d; return nil }

func (c *connection) Write(b []byte) (int, error) {
	c.written = append(c.written, c.deadline)
	return c.ResponseRecorder.Write(b)
}

// Between two comments a stream is quiet for longer than a client may take to read: a deadline
// of HTTP/2 would end it.
func TestQuietEventsHaveNoDeadline(t *testing.T) {
	service := exchange.New(exchange.Options{Rule: auth.Rule{Loopback: true}, Metrics: metrics.New(), MaxInFlight: 1, Timeout: time.Second})
	c := &connection{ResponseRecorder: httptest.NewRecorder()}
	New(service, silent{}).Events(c, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", nil))
	if c.Code != http.StatusOK || len(c.written) != 1 || c.written[0].IsZero() || !c.deadline.IsZero() {
		t.Errorf("got %d, written at %v, afterwards %v", c.Code, c.written, c.deadline)
	}
}
