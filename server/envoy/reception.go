package envoy

import (
	"context"
	"errors"
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
// A call beyond the bound takes the place of the one that began first, which fails: what
// a proxy sends arrives within milliseconds, so the oldest reception is that of a client
// that does not send.
type receptions struct {
	most    int
	timeout time.Duration
	ended   func(cause error) // counts a reception that fails; must not block

	mu             sync.Mutex
	open           int
	oldest, newest *reception // the ends of a list in the order of beginning
}

// reception is one call whose message is being received.
type reception struct {
	cancel     context.CancelCauseFunc // ends the call
	timer      *time.Timer
	prev, next *reception
	isOpen     bool // it holds a place
}

var (
	errSlow     = errors.New("the message took too long")
	errReplaced = errors.New("too many messages are being received")
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == s.most {
		s.fail(s.oldest, errReplaced)
	}
	s.add(r)
	r.timer = time.AfterFunc(s.timeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(r, errSlow)
	})
	return r
}

// finish gives the place back. It returns false if the call has lost it.
func (s *receptions) finish(r *reception) bool {
	r.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	held := r.isOpen
	s.remove(r)
	return held
}

// fail ends a reception. The caller of fail, add and remove holds mu.
func (s *receptions) fail(r *reception, cause error) {
	if r.isOpen {
		s.remove(r)
		s.ended(cause) // before the client can see the end
		r.cancel(cause)
	}
}

func (s *receptions) add(r *reception) {
	r.isOpen, r.prev = true, s.newest
	if r.prev == nil {
		s.oldest = r
	} else {
		r.prev.next = r
	}
	s.newest = r
	s.open++
}

func (s *receptions) remove(r *reception) {
	if !r.isOpen {
		return
	}
	if r.prev == nil {
		s.oldest = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		s.newest = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.isOpen, r.prev, r.next = false, nil, nil
	s.open--
}
