package envoy

import (
	"context"
	"slices"
	"sync"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// receptions bounds how many messages are received at a time, and how long each may
// take. Until a call has a place, the transport stores at most one window of its message.
//
// A call beyond the bound takes a place from the connection that holds most of them, whose
// oldest message fails: what a proxy sends arrives within milliseconds, so a connection
// with many messages that have not arrived is that of a client that does not send. Of
// connections that hold as many, the one whose message is the oldest loses it.
type receptions struct {
	most    int
	timeout time.Duration
	ended   func(cause error) // counts a reception that fails; must not block

	mu   sync.Mutex
	open []*reception // in the order of beginning, at most as many as most
}

// reception is one call whose message is being received.
type reception struct {
	cancel context.CancelCauseFunc // ends the call
	timer  *time.Timer
	client string // the address of the connection
}

// The errors have a status, which a client sees whose message had arrived.
var (
	errSlow     = status.Error(codes.DeadlineExceeded, "the message took too long")
	errReplaced = status.Error(codes.ResourceExhausted, "too many messages are being received")
	errUnknown  = status.Error(codes.Unimplemented, "the method must be "+authv3.Authorization_Check_FullMethodName)
)

type receptionKey struct{}

// prepare makes a call cancellable. The transport calls it before it stores any part of
// a message; it must not block.
func prepare(ctx context.Context, call *tap.Info) (context.Context, error) {
	if call.FullMethodName != authv3.Authorization_Check_FullMethodName {
		return nil, errUnknown
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, receptionKey{}, &reception{cancel: cancel}), nil
}

// begin takes a place for a call that was prepared.
func (s *receptions) begin(ctx context.Context) *reception {
	r := ctx.Value(receptionKey{}).(*reception)
	r.client = addressOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == s.most {
		s.fail(s.greediest(), errReplaced)
	}
	s.open = append(s.open, r)
	r.timer = time.AfterFunc(s.timeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(r, errSlow)
	})
	return r
}

// greediest returns the oldest message of the connection that holds most places.
func (s *receptions) greediest() *reception {
	held := make(map[string]int)
	for _, r := range s.open {
		held[r.client]++
	}
	oldest := s.open[0]
	for _, r := range s.open {
		if held[r.client] > held[oldest.client] {
			oldest = r
		}
	}
	return oldest
}

// finish gives the place back. It returns false if the call has lost it.
func (s *receptions) finish(r *reception) bool {
	r.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(r)
}

// fail ends a reception. The caller of fail and remove holds mu.
func (s *receptions) fail(r *reception, cause error) {
	if s.remove(r) {
		s.ended(cause) // before the client can see the end
		r.cancel(cause)
	}
}

// remove gives a place back, and reports whether the reception held one.
func (s *receptions) remove(r *reception) bool {
	at := slices.Index(s.open, r)
	if at < 0 {
		return false
	}
	s.open = slices.Delete(s.open, at, at+1)
	return true
}
