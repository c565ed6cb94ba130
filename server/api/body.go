package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
)

// buffers are lent to one request each, for its body and then for its answer.
var buffers = sync.Pool{New: func() any { return &buffer{bytes: make([]byte, 0, 4<<10)} }}

type buffer struct {
	bytes []byte
	large bool // the body counts among the large ones
}

// A body above smallBody takes one of maxLarge places until its request is answered,
// so that memory is bounded by maxLarge × MaxBody, not by the number of connections.
// Reviews of API servers are about 1 KiB.
const (
	smallBody = 64 << 10
	maxLarge  = 32
)

// release gives the buffer back, unless a large body has made it large: such
// memory is better freed.
func (s *service) release(b *buffer) {
	if b.large {
		b.large = false
		s.large.release()
	}
	if cap(b.bytes) <= 2*smallBody {
		b.bytes = b.bytes[:0]
		buffers.Put(b)
	}
}

// parse reads a body and checks it. The Value is a copy: the buffer is free for
// the answer then. What is compressed is refused: its size says nothing of what
// it becomes.
func (s *service) parse(c *gin.Context, b *buffer) (decision.Value, *refusal) {
	if encodings := c.Request.Header["Content-Encoding"]; encodings != nil && !slices.Equal(encodings, []string{"identity"}) {
		return "", &refusal{status: http.StatusUnsupportedMediaType, message: "the body must not be compressed"}
	}
	if refused := s.read(c.Request, b); refused != nil {
		return "", refused
	}
	value, err := decision.Parse(b.bytes)
	b.bytes = b.bytes[:0]
	if err != nil {
		return "", invalidBody(err)
	}
	return value, nil
}

func (s *service) read(r *http.Request, b *buffer) *refusal {
	if r.ContentLength > s.MaxBody {
		return s.tooLarge()
	}
	// The length is a claim: beyond a little, memory is for bytes that came.
	b.bytes = slices.Grow(b.bytes[:0], int(min(max(r.ContentLength, 0), smallBody))+1)
	for {
		if len(b.bytes) == cap(b.bytes) {
			b.bytes = slices.Grow(b.bytes, 1)
		}
		n, err := r.Body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if int64(len(b.bytes)) > s.MaxBody {
			return s.tooLarge()
		}
		if len(b.bytes) > smallBody && !b.large {
			if !s.large.acquire(maxLarge) {
				return errTooManyRequests
			}
			b.large = true
		}
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &refusal{status: http.StatusRequestTimeout, message: "the body took too long"}
		case err != nil:
			return &refusal{status: http.StatusBadRequest, message: "the body ended too early"}
		}
	}
}

func (s *service) tooLarge() *refusal {
	return &refusal{
		status:  http.StatusRequestEntityTooLarge,
		message: "the body is larger than " + strconv.FormatInt(s.MaxBody, 10) + " bytes",
	}
}
