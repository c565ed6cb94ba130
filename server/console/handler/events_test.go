package handler

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
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

// endless is a console whose events do not end before their subscriber does.
type endless struct{ console.Console }

func (endless) Subscribe(ctx context.Context, _ console.Caller, _ int64, _ bool) (<-chan console.Event, error) {
	events := make(chan console.Event)
	context.AfterFunc(ctx, func() { close(events) })
	return events, nil
}

// changing authenticates every request as the same caller, until it is another one or none.
type changing struct {
	mu     sync.Mutex
	caller *auth.Caller
	err    error
}

func (c *changing) set(caller *auth.Caller, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caller, c.err = caller, err
}

func (c *changing) Authenticate(context.Context, auth.Credentials) (*auth.Caller, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caller, c.err
}

// A stream ends with the token that opened it, the role of its caller or the session, and not
// before.
func TestEventsEndWithTheirCaller(t *testing.T) {
	auditor := &auth.Caller{Name: "ada", Groups: []string{"auditors"}}
	for name, end := range map[string]func(c *changing, endSession func()){
		"the token is revoked":      func(c *changing, _ func()) { c.set(nil, auth.ErrUnavailable) },
		"the group is lost":         func(c *changing, _ func()) { c.set(&auth.Caller{Name: "ada"}, nil) },
		"the session is signed out": func(_ *changing, endSession func()) { endSession() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				who := &changing{caller: auditor}
				service := exchange.New(exchange.Options{
					Rule: auth.Rule{Authenticator: who, Auditors: auditor.Groups}, Metrics: metrics.New(),
					Logger: slog.New(slog.DiscardHandler), MaxInFlight: 1, Timeout: time.Second,
				})
				session, endSession := context.WithCancel(t.Context())
				ctx := console.WithSignIn(t.Context(), func() bool { return session.Err() == nil })
				r := httptest.NewRequestWithContext(auth.WithCaller(ctx, auditor), http.MethodGet, "/v1/events", nil)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					New(service, endless{}).Events(httptest.NewRecorder(), r)
				}()
				time.Sleep(time.Hour)
				select {
				case <-ended:
					t.Fatal("the stream ends while its caller is admitted")
				default:
				}
				end(who, endSession)
				select {
				case <-ended:
				case <-time.After(2 * time.Second):
					t.Error("the stream goes on")
				}
				endSession()
			})
		})
	}
}
