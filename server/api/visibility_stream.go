package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
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

var (
	linesType = []string{linesMedia}
	closing   = []string{"close"}
)

// stream answers a request whose items come one a line, and reports which are visible
// while they come. It keeps its revision to the end.
func (s *service) stream(c *gin.Context) {
	if c.Request.ProtoMajor < 2 {
		// A body may still be coming when it has been answered. On this connection the
		// rest of it would be taken for the next request, which a caller could hide
		// there for a proxy to send.
		c.Writer.Header()["Connection"] = closing
	}
	if encodings := c.Request.Header["Content-Encoding"]; encodings != nil && !slices.Equal(encodings, []string{"identity"}) {
		s.refuse(c, &refusal{status: http.StatusUnsupportedMediaType, message: "the body must not be compressed"})
		return
	}
	if !s.streams.acquire(maxStreams) {
		s.shed(c, &endpoint{})
		return
	}
	defer s.streams.release()
	began := time.Now()
	ctx, cancel := context.WithDeadline(c.Request.Context(), began.Add(streamTimes*s.Timeout))
	defer cancel()
	a := &streamed{s: s, c: c, control: http.NewResponseController(c.Writer)}
	// Without this the server would read the whole body before the first line of
	// the answer. HTTP/2 does not need it; elsewhere its absence only delays the answer.
	_ = a.control.EnableFullDuplex()
	in := decision.NewLines(c.Request.Body, int(s.MaxBody))
	in.Wait = func() error { return errors.Join(ctx.Err(), a.wait()) }
	a.out = decision.Stream{Chunk: streamChunk, Write: a.write}
	r, err := in.Request()
	if err != nil {
		s.refuse(c, broken(err))
		return
	}
	policies, refused := s.policies(c)
	if refused != nil {
		s.refuse(c, refused)
		return
	}
	s.addLabels(r)
	authorization := s.Cache.Visibility(ctx, policies, r)
	c.Writer.Header()["Content-Type"] = linesType
	d, err := a.out.Run(ctx, policies, r, authorization, in.Items())
	if err != nil {
		// The error of a caller that has left is not read.
		_ = a.out.Refuse(streamError(err))
	}
	_, outcome := d.Settle()
	s.visible.Decided(outcome, time.Since(began))
	c.Writer.Flush()
}

// streamed is the answer to a stream on its way out.
type streamed struct {
	s       *service
	c       *gin.Context
	control *http.ResponseController
	out     decision.Stream
}

// wait sends what there is and extends the deadlines. A writer without deadlines is
// not a connection and has no slow callers.
func (a *streamed) wait() error {
	if err := a.out.Flush(); err != nil {
		return err
	}
	if a.c.Writer.Written() {
		a.c.Writer.Flush()
	}
	_ = a.control.SetReadDeadline(time.Now().Add(a.s.Timeout))
	return nil
}

func (a *streamed) write(line []byte) error {
	_ = a.control.SetWriteDeadline(time.Now().Add(a.s.Timeout))
	_, err := a.c.Writer.Write(line)
	return err
}

// broken is the refusal of a stream whose first line is not a request.
func broken(err error) *refusal {
	var invalid *decision.InvalidRequest
	switch {
	case errors.As(err, &invalid):
		return invalidBody(err)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return &refusal{status: http.StatusRequestTimeout, message: "the body took too long"}
	}
	return &refusal{status: http.StatusBadRequest, message: "the body ended too early"}
}

// streamError is the last line of a stream that broke off: what is wrong with an item,
// and of everything else no more than a refusal names.
func streamError(err error) error {
	var invalid *decision.InvalidRequest
	if errors.As(err, &invalid) {
		return invalid
	}
	return &decision.InvalidRequest{Code: decision.CodeEvaluationError, Message: broken(err).message}
}
