package aggregated

import (
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

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

// A client that does not read is left, and a watch that is quiet goes on: a deadline of HTTP/2
// ends a stream also while nothing is written.
func TestQuietWatchHasNoDeadline(t *testing.T) {
	c := &connection{ResponseRecorder: httptest.NewRecorder()}
	s := &stream{w: c}
	if !s.event(watch.Bookmark, map[string]string{}) || !s.flush() || len(c.written) != 1 {
		t.Fatalf("got %v", c.written)
	}
	if c.written[0].IsZero() {
		t.Error("an event is written without a deadline")
	}
	if !c.deadline.IsZero() {
		t.Errorf("after the event the deadline is %v", c.deadline)
	}
}
