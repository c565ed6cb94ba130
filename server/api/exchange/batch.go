package exchange

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/writ-policy/writ/server/decision"
)

// Bounds of a batch in one body.
const (
	// MaxBatch is how many requests a batch may have. A stream has no such bound.
	MaxBatch = 10_000
	// batchTimes is how many times Timeout a batch may take in all.
	batchTimes = 30
	// batchChunk is how many bytes of an answer are held before they are sent.
	batchChunk = 32 << 10
)

// BatchTimeout is how long several requests in one body may take in all.
func (s *Service) BatchTimeout() time.Duration { return batchTimes * s.Timeout }

// Batch returns the handler of e for a body {"requests":[...]}. It answers with
// {"decisions":[...]}, in order and from one revision. A request that e refuses has an
// error in its place. The answer is sent in pieces, because it may be much larger than
// the body.
func (s *Service) Batch(e Decision) http.HandlerFunc {
	return s.serve(&e, func(w http.ResponseWriter, r *http.Request, p decision.Policies, body decision.Value, b *buffer) *Refusal {
		requests, refused := requestsOf(body)
		if refused != nil {
			return refused
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.BatchTimeout())
		defer cancel()
		r = r.WithContext(ctx)
		w.Header()["Content-Type"] = JSON
		b.bytes = append(b.bytes, `{"decisions":[`...)
		for i, request := range requests {
			if i > 0 {
				b.bytes = append(b.bytes, ',')
			}
			b.bytes = e.AppendAnswer(r, p, request, b.bytes)
			if len(b.bytes) < batchChunk {
				continue
			}
			if err := s.send(w, b.bytes); err != nil {
				return nil // the caller has left
			}
			b.bytes = b.bytes[:0]
		}
		_ = s.send(w, append(b.bytes, "]}\n"...)) // the caller may have left
		return nil
	})
}

// send writes a piece of an answer, without the place for decisions: a caller that reads
// slowly must not keep others out.
func (s *Service) send(w http.ResponseWriter, piece []byte) (err error) {
	// A writer without deadlines is not a connection and has no slow callers.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.Timeout))
	s.Lend(func() { _, err = w.Write(piece) })
	return err
}

// AppendAnswer appends the answer to one of several requests, without a line feed: a
// decision, or an object with the error.
func (e *Decision) AppendAnswer(r *http.Request, p decision.Policies, request decision.Value, b []byte) []byte {
	start := len(b)
	b, refused := e.Answer(r, p, request, b)
	if refused == nil {
		return b[:len(b)-1]
	}
	return refused.AppendError(b[:start])
}

// AppendError appends an object with the error, for an answer in which other requests
// have decisions.
func (r *Refusal) AppendError(b []byte) []byte {
	code := cmp.Or(r.Code, decision.CodeInvalidRequest)
	if !r.Invalid {
		code = decision.CodeEvaluationError
	}
	b = decision.AppendString(append(b, `{"error":{"code":`...), code)
	return append(decision.AppendString(append(b, `,"message":`...), Line(r.Message, MaxText)), "}}"...)
}

// requestsOf returns the requests of a batch.
func requestsOf(body decision.Value) ([]decision.Value, *Refusal) {
	if !body.IsObject() {
		return nil, BadRequest("", "the batch is not a JSON object")
	}
	reader := Reader{}
	found := false
	var requests []decision.Value
	for key, member := range body.Members() {
		if key != "requests" {
			return nil, BadRequest(key, "unknown key "+strconv.Quote(Line(key, MaxName)))
		}
		found = !member.IsNull()
		requests = reader.Elements(key, member)
	}
	switch {
	case reader.Refused != nil:
		return nil, reader.Refused
	case !found:
		return nil, BadRequest("requests", `key "requests" must be given`)
	case len(requests) > MaxBatch:
		return nil, &Refusal{
			Status: http.StatusRequestEntityTooLarge, Field: "requests",
			Message: "the batch has more than " + strconv.Itoa(MaxBatch) + " requests; send them as application/x-ndjson",
		}
	}
	return requests, nil
}
