package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/writ-policy/writ/internal/progress"
)

var (
	errStalled = errors.New("the transfer stalled")
	errTooLong = errors.New("the transfer timed out")
	errTooMuch = fmt.Errorf("more than %d bytes to transfer", maxPacked)
)

// pace is how many bytes of a transfer must arrive within Stall.
const pace = 16 << 10

// transfer is a body that fails if it stalls, takes too long or is too large. A nil body
// is empty. A few bytes now and then do not count: with them a server could hold a transfer
// until the fetch times out, and the failure would be reported only then.
type transfer struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   context.CancelCauseFunc
	body   io.ReadCloser
	left   int64
	under  *progress.Span // counts the bytes
	stall  time.Duration
	timer  *time.Timer

	// waited is how long the connection was waited for since a whole pace arrived, and
	// arrived how many bytes since then.
	waited  time.Duration
	arrived int64
}

func newTransfer(ctx context.Context, cancel context.CancelFunc, body io.ReadCloser, stall time.Duration) *transfer {
	ctx, stop := context.WithCancelCause(ctx)
	t := &transfer{ctx: ctx, cancel: cancel, stop: stop, body: body, left: maxPacked, stall: stall}
	if body != nil {
		t.timer = time.AfterFunc(stall, func() {
			stop(errStalled)
			cancel() // ends the read of the body
		})
		t.timer.Stop()
	}
	return t
}

func (t *transfer) Read(p []byte) (int, error) {
	if t.body == nil {
		return 0, io.EOF
	}
	if t.left <= 0 {
		return 0, errTooMuch
	}
	// Only the time spent waiting for the connection counts, not that of the reader.
	began := time.Now()
	t.timer.Reset(t.stall - t.waited)
	n, err := t.body.Read(p[:min(int64(len(p)), t.left)])
	t.timer.Stop()
	t.waited += time.Since(began)
	t.left -= int64(n)
	if t.arrived += int64(n); t.arrived >= pace {
		t.waited, t.arrived = 0, 0
	}
	t.under.Count(int64(n), "bytes")
	if err != nil && !errors.Is(err, io.EOF) {
		err = t.reason(err)
	}
	return n, err
}

// reason returns why this side ended the transfer, or err if it did not.
func (t *transfer) reason(err error) error {
	if cause := context.Cause(t.ctx); errors.Is(cause, errStalled) || errors.Is(cause, errTooLong) {
		return cause
	}
	return err
}

func (t *transfer) Close() error {
	var err error
	if t.body != nil {
		t.timer.Stop()
		err = t.body.Close()
	}
	t.stop(nil)
	t.cancel()
	return err
}
