package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// Bounds of a stream. Its body has no bound of its own: only lines have, and time.
const (
	// maxStreams is how many are answered at a time. They take no place from
	// decisions, which do not wait for their callers.
	maxStreams = 32
	// streamTimes is how many times Timeout a stream may take in all; each read and
	// each write may take Timeout.
	streamTimes = 30
	streamChunk = 1000
)

var tooManyStreams = &exchange.Refusal{
	Status: http.StatusServiceUnavailable, Message: "too many streams in flight", Reason: metrics.ManyStreams,
}

var (
	linesType = []string{linesMedia}
	closing   = []string{"close"}
)

// stream answers a request whose items come one a line, and reports which are visible
// while they come. It keeps its revision to the end.
func (s *canonical) stream(w http.ResponseWriter, r *http.Request) {
	s.lines(w, r, func(ctx context.Context, a *streamed, in *decision.Lines) *exchange.Refusal {
		began := time.Now()
		q, err := in.Request(s.decider.Labels)
		if err != nil {
			return s.broken(err)
		}
		policies, refused := s.service.Policies(w, r)
		if refused != nil {
			return refused
		}
		authorization := policies.Visibility(ctx, q)
		w.Header()["Content-Type"] = linesType
		d, err := a.out.Run(ctx, policies, q, authorization, in.Items())
		if err != nil {
			// The error of a caller that has left is not read.
			_ = a.out.Refuse(s.streamError(err))
		}
		s.service.Counter(decision.Visibility).Decided(d.Settle(), time.Since(began))
		return nil
	})
}

// lines reads a body of lines and writes lines meanwhile, in one of maxStreams places.
// answer returns a refusal if it has written nothing.
func (s *canonical) lines(w http.ResponseWriter, r *http.Request, answer func(context.Context, *streamed, *decision.Lines) *exchange.Refusal) {
	if r.ProtoMajor < 2 {
		// A body may still be coming when it has been answered. On this connection the
		// rest of it would be taken for the next request, which a caller could hide
		// there for a proxy to send.
		w.Header()["Connection"] = closing
	}
	if refused := exchange.CheckEncoding(r); refused != nil {
		s.service.Refuse(w, exchange.Problem, refused)
		return
	}
	if !s.streams.Acquire(1) {
		s.service.Refuse(w, exchange.Problem, tooManyStreams)
		return
	}
	defer s.streams.Release(1)
	ctx, cancel := context.WithTimeout(r.Context(), streamTimes*s.service.Timeout)
	defer cancel()
	a := &streamed{timeout: s.service.Timeout, writer: w, control: http.NewResponseController(w)}
	// Without this the server would read the whole body before the first line of
	// the answer. HTTP/2 does not need it; elsewhere its absence only delays the answer.
	_ = a.control.EnableFullDuplex()
	in := decision.NewLines(r.Body, int(s.service.MaxBody))
	in.MaxValues, in.Values = s.service.MaxValues, s.service.Values
	defer in.Release()
	in.Wait = func() error { return errors.Join(ctx.Err(), a.wait()) }
	a.out = decision.Stream{Chunk: streamChunk, Write: a.write}
	if refused := answer(ctx, a, in); refused != nil {
		s.service.Refuse(w, exchange.Problem, refused)
		return
	}
	a.flush()
}

// streamed is the answer to a stream on its way out.
type streamed struct {
	timeout time.Duration
	writer  http.ResponseWriter
	control *http.ResponseController
	out     decision.Stream
	pending []byte // lines of a batch that are not written yet
	begun   bool   // a line was written
}

// wait sends what there is and extends the deadlines. A writer without deadlines is
// not a connection and has no slow callers.
func (a *streamed) wait() error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	if err := a.writePending(); err != nil {
		return err
	}
	if a.begun {
		a.flush()
	}
	_ = a.control.SetReadDeadline(time.Now().Add(a.timeout))
	return nil
}

// writePending writes the lines of a batch that are not written yet.
func (a *streamed) writePending() error {
	if len(a.pending) == 0 {
		return nil
	}
	err := a.write(a.pending)
	a.pending = a.pending[:0]
	return err
}

// flush sends what was written. The next write returns its error.
func (a *streamed) flush() { _ = a.control.Flush() }

func (a *streamed) write(line []byte) error {
	a.begun = true
	_ = a.control.SetWriteDeadline(time.Now().Add(a.timeout))
	_, err := a.writer.Write(line)
	return err
}

// broken is the refusal of a stream whose first line is not a request.
func (s *canonical) broken(err error) *exchange.Refusal {
	var invalid *decision.InvalidRequest
	switch {
	case errors.As(err, &invalid):
		return exchange.InvalidBody(err)
	case errors.Is(err, decision.ErrTooManyValues):
		return s.service.TooManyValues()
	case errors.Is(err, decision.ErrValuesInUse):
		return exchange.ValuesInUse
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return exchange.BodyTimeout
	}
	return exchange.BodyIncomplete
}

// streamError is the last line of a stream that broke off: what is wrong with an item,
// and of everything else no more than a refusal names.
func (s *canonical) streamError(err error) error {
	if invalid, ok := errors.AsType[*decision.InvalidRequest](err); ok {
		return invalid
	}
	refused := s.broken(err)
	if refused.Reason != "" {
		s.service.Metrics.Refused(refused.Reason)
	}
	return &decision.InvalidRequest{Code: decision.CodeEvaluationError, Message: refused.Message}
}
