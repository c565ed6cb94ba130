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

var linesType = []string{linesMedia}

// stream answers a request whose items come one a line, and says which of them
// may be seen while they come.
func (s *service) stream(c *gin.Context) {
	if encodings := c.Request.Header["Content-Encoding"]; encodings != nil && !slices.Equal(encodings, []string{"identity"}) {
		s.refuse(c, &refusal{status: http.StatusUnsupportedMediaType, message: "the body must not be compressed"})
		return
	}
	if refused := s.demanded(c); refused != nil {
		s.refuse(c, refused)
		return
	}
	defer s.streams.Add(-1)
	if s.streams.Add(1) > maxStreams {
		s.shed(c, &door{})
		return
	}
	began := time.Now()
	ctx, cancel := context.WithDeadline(c.Request.Context(), began.Add(streamTimes*s.Timeout))
	defer cancel()
	a := &streamed{s: s, c: c, control: http.NewResponseController(c.Writer)}
	// Without this the server would read the whole body before the first line of
	// the answer. Where it cannot be had (HTTP/2 needs none), that is all that is
	// lost.
	_ = a.control.EnableFullDuplex()
	in := decision.NewLines(c.Request.Body, int(s.MaxBody))
	in.Wait = func() error { return errors.Join(ctx.Err(), a.wait()) }
	a.out = decision.Stream{Chunk: streamChunk, Write: a.write}
	r, err := in.Request()
	if err != nil {
		s.refuse(c, broken(err))
		return
	}
	s.label(r)
	v := s.viewer()
	authorization := v.Authorize(ctx, r)
	if !s.answeredBy(c, authorization.Revision) {
		return
	}
	c.Writer.Header()["Content-Type"] = linesType
	d, err := a.out.Run(ctx, v, r, authorization, in.Items())
	if err != nil {
		// Where the caller is gone, nobody reads this.
		_ = a.out.Refuse(streamError(err))
	}
	s.visible.Decided(visibleOutcome(&d.Authorization), time.Since(began))
	c.Writer.Flush()
}

// streamed is the answer to a stream on its way out.
type streamed struct {
	s       *service
	c       *gin.Context
	control *http.ResponseController
	out     decision.Stream
}

// wait sends what there is and gives the caller time for more. Deadlines are those
// of the connection; what has none has no slow callers.
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

// unread is the refusal of a stream whose first line is no request.
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

// streamError is what a caller hears of a stream that broke off: what is wrong
// with an item, and of everything else as little as a refusal would say.
func streamError(err error) error {
	var invalid *decision.InvalidRequest
	if errors.As(err, &invalid) {
		return invalid
	}
	return &decision.InvalidRequest{Code: decision.CodeTrouble, Message: broken(err).message}
}
