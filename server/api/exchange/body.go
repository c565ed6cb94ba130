package exchange

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
)

// buffers are lent to one request each, for its body and its answer.
var buffers = sync.Pool{New: func() any { return &buffer{answer: make([]byte, 0, freeBody), document: new(decision.Document)} }}

type buffer struct {
	bytes    []byte // the body
	answer   []byte
	media    []string           // the content type of the answer
	isBegun  bool               // pieces of the answer were sent, and answer has the rest
	document *decision.Document // the body
	inPlace  bool               // its texts are those of bytes
	large    bool               // the body counts among the large ones
	charge   int64              // of the buffer, while a body is read and answered
	values   int64              // that are charged for the body
	sending  int64              // that a large body is charged while pieces of the answer are sent
}

// The memory of a buffer above freeBody is charged to a budget over all requests, MaxBodies:
// slow senders may hold a buffer on each connection, and most reviews are smaller.
//
// A body above SmallBody takes one of MaxLarge places until its request is answered or a piece of
// the answer is sent, so that memory is bounded by MaxLarge × MaxBody, not by the number of
// connections. Reviews of API servers are about 1 KiB.
const (
	freeBody  = 4 << 10
	MaxBodies = 64 << 20
	SmallBody = 64 << 10
	MaxLarge  = 32
)

// releaseBody gives back what the body of a request was charged, and leaves the answer.
func (s *Service) releaseBody(b *buffer) {
	s.Values.Release(b.values)
	s.bodies.Release(b.charge)
	if b.large {
		s.large.Release(1)
	}
	s.answers.Release(b.sending)
	if b.large || b.sending > 0 || b.inPlace && !b.document.IsDone() {
		b.bytes = nil // it is large, or what is cut from it may be in use
	}
	b.values, b.charge, b.sending, b.large, b.inPlace = 0, 0, 0, false, false
	b.document.Reset()
}

// leave gives back the place of a large body, of which a piece of the answer is sent: a slow reader
// must not keep other large bodies out. If there is room, the body counts among the answers instead.
func (s *Service) leave(b *buffer) {
	size := min(2*int64(cap(b.bytes)), maxAnswers/2) // twice: its texts may be copies
	if b.large && s.answers.Acquire(size) {
		b.large, b.sending = false, size
		s.large.Release(1)
	}
}

// release gives back the buffer, unless a large body has made it large: such memory is better freed.
func (b *buffer) release() {
	b.media, b.isBegun = nil, false
	if max(cap(b.bytes), cap(b.answer)) <= 2*SmallBody {
		b.bytes, b.answer = b.bytes[:0], b.answer[:0]
		buffers.Put(b)
	}
}

// Body reads and checks the body of a request that is not for a decision.
func (s *Service) Body(r *http.Request) (decision.Value, *Refusal) {
	b := buffers.Get().(*buffer)
	defer b.release()
	defer s.releaseBody(b)
	defer func() { b.document = new(decision.Document) }() // the caller keeps it
	return s.parse(r, b, &Decision{})
}

// parse reads a body, checks it and charges its values, before anything is made of
// them. The Value is valid until b is released, and what is cut from it after that, too, unless
// the body was declared done. An absent body is the absent Value if it is optional.
func (s *Service) parse(r *http.Request, b *buffer, e *Decision) (decision.Value, *Refusal) {
	if refused := CheckEncoding(r); refused != nil {
		return decision.Value{}, refused
	}
	if refused := s.read(r, b); refused != nil {
		return decision.Value{}, refused
	}
	if e.BodyIsOptional && len(bytes.TrimSpace(b.bytes)) == 0 {
		return decision.Value{}, nil
	}
	text := unsafe.String(unsafe.SliceData(b.bytes), len(b.bytes))
	if b.inPlace = e.InPlace; !b.inPlace {
		text = strings.Clone(text)
	}
	most := s.MaxValues
	if e.IsList {
		most = 0 // any number
	}
	value, values, err := decision.ParseInto(b.document, text, most)
	switch {
	case errors.Is(err, decision.ErrTooManyValues):
		return value, s.TooManyValues()
	case err != nil:
		return value, InvalidBody(err)
	case !s.Values.Acquire(int64(values)):
		return decision.Value{}, ValuesInUse
	}
	b.values = int64(values)
	return value, nil
}

// read reads the body of a request into the buffer, within the bounds of one body and of all
// together.
func (s *Service) read(r *http.Request, b *buffer) *Refusal {
	if r.ContentLength > s.MaxBody {
		return s.tooLarge()
	}
	// The length is a claim: memory is for bytes that came, apart from a little.
	if b.bytes = b.bytes[:0]; cap(b.bytes) == 0 || !s.hold(b, cap(b.bytes)) {
		b.bytes = make([]byte, 0, min(max(r.ContentLength, 256), freeBody))
	}
	for {
		if refused := s.grow(b); refused != nil {
			return refused
		}
		n, err := r.Body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if int64(len(b.bytes)) > s.MaxBody {
			return s.tooLarge()
		}
		if len(b.bytes) > SmallBody && !b.large {
			if !s.large.Acquire(1) {
				return tooManyLarge
			}
			b.large = true
		}
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return BodyTimeout
		case err != nil:
			return BodyIncomplete
		}
	}
}

// grow makes room for more bytes in a buffer that is full. Above SmallBody, the places for
// large bodies bound the memory.
func (s *Service) grow(b *buffer) *Refusal {
	if len(b.bytes) < cap(b.bytes) {
		return nil
	}
	if size := 2 * cap(b.bytes); size <= 2*SmallBody && !s.hold(b, size) {
		return bodiesInUse
	}
	b.bytes = slices.Grow(b.bytes, cap(b.bytes))
	return nil
}

// hold charges a buffer for its size and reports whether there was room.
func (s *Service) hold(b *buffer, size int) bool {
	more := int64(size-freeBody) - b.charge
	if more <= 0 {
		return true
	}
	if !s.bodies.Acquire(more) {
		return false
	}
	b.charge += more
	return true
}

func (s *Service) tooLarge() *Refusal {
	return &Refusal{
		Status:  http.StatusRequestEntityTooLarge,
		Message: "the body is larger than " + strconv.FormatInt(s.MaxBody, 10) + " bytes",
		Reason:  metrics.LargeBody,
	}
}

// TooManyValues is the refusal of a body with more than MaxValues values.
func (s *Service) TooManyValues() *Refusal {
	return &Refusal{
		Status:  http.StatusRequestEntityTooLarge,
		Message: "the body has more than " + strconv.Itoa(s.MaxValues) + " values",
		Reason:  metrics.ManyValues,
	}
}
