package exchange

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/writ-policy/writ/internal/jsontext"
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

// Answerer answers requests one after the other, as Decision.Answer does. End is called after
// the last one, and Restart after a pause between two of them.
type Answerer interface {
	Answer(request decision.Value, b []byte) ([]byte, *Refusal)
	Restart()
	End()
}

// Batch returns the handler of e for a body {"requests":[...]}. It answers with
// {"decisions":[...]}, in order and from one revision. A request that is refused has an
// error in its place.
func (s *Service) Batch(e Decision, begin func(*http.Request, decision.Policies) Answerer) http.HandlerFunc {
	return s.InPieces(e, func(r *http.Request, p decision.Policies, body decision.Value, b []byte, flush Flush) ([]byte, *Refusal) {
		requests, refused := requestsOf(body)
		if refused != nil {
			return b, refused
		}
		p = p.AtNow() // all of them are decided at one time
		a := begin(r, p)
		defer a.End()
		b = append(b, `{"decisions":[`...)
		isFirst := true
		for request := range requests.Elements() {
			if !isFirst {
				b = append(b, ',')
			}
			isFirst = false
			b = AppendAnswer(a, request, b)
			before := len(b)
			var ok bool
			if b, ok = flush(b); !ok {
				return b, nil
			}
			if len(b) < before {
				a.Restart()
			}
		}
		return append(b, "]}\n"...), nil
	})
}

// Flush sends what is pending if it is a piece, and returns what is pending then. It
// returns false if the caller has left.
type Flush func(pending []byte) ([]byte, bool)

// InPieces returns a handler like Decision, whose answer is sent in pieces, because it may be
// much larger than the body. answer must not refuse a request after a piece was sent.
func (s *Service) InPieces(e Decision, answer func(*http.Request, decision.Policies, decision.Value, []byte, Flush) ([]byte, *Refusal)) http.HandlerFunc {
	return s.serve(&e, func(w http.ResponseWriter, r *http.Request, p decision.Policies, body decision.Value, b *buffer) (refused *Refusal) {
		ctx, cancel := context.WithTimeout(r.Context(), batchTimes*s.Timeout)
		defer cancel()
		w.Header()["Content-Type"], b.media = JSON, JSON
		b.answer, refused = answer(r.WithContext(ctx), p, body, b.answer, func(pending []byte) (_ []byte, isRead bool) {
			if len(pending) < batchChunk {
				return pending, true
			}
			b.isBegun = true
			s.leave(b)
			s.Lend(func() { isRead = s.sendPiece(w, pending) == nil })
			return pending[:0], isRead
		})
		return refused
	})
}

// sendPiece writes a piece of an answer, without the place for decisions: a caller that reads
// slowly must not keep others out.
func (s *Service) sendPiece(w http.ResponseWriter, piece []byte) error {
	// A writer without deadlines is not a connection and has no slow callers.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.Timeout))
	_, err := w.Write(piece)
	return err
}

// AppendAnswer appends the answer to one of several requests, without a line feed: a
// decision, or an object with the error.
func AppendAnswer(a Answerer, request decision.Value, b []byte) []byte {
	start := len(b)
	b, refused := a.Answer(request, b)
	if refused == nil {
		return b[:len(b)-1]
	}
	return refused.appendError(b[:start])
}

// appendError appends an object with the error, for an answer in which other requests
// have decisions.
func (r *Refusal) appendError(b []byte) []byte {
	code := cmp.Or(r.Code, decision.CodeInvalidRequest)
	if !r.Invalid {
		code = decision.CodeEvaluationError
	}
	b = jsontext.AppendString(append(b, `{"error":{"code":`...), code)
	return append(jsontext.AppendString(append(b, `,"message":`...), Line(r.Message, MaxText)), "}}"...)
}

// requestsOf returns the list of the requests of a batch.
func requestsOf(body decision.Value) (requests decision.Value, refused *Refusal) {
	if !body.IsObject() {
		return requests, BadRequest("", "the batch is not a JSON object")
	}
	for key, member := range body.Members() {
		if key != "requests" {
			return requests, BadRequest(key, "unknown key "+strconv.Quote(Line(key, MaxName)))
		}
		requests = member
	}
	count := 0
	for range requests.Elements() {
		count++
	}
	switch {
	case requests.IsNull():
		return requests, BadRequest("requests", `key "requests" must be given`)
	case !requests.IsArray():
		return requests, BadRequest("requests", `"requests" must be a list`)
	case count > MaxBatch:
		return requests, &Refusal{
			Status: http.StatusRequestEntityTooLarge, Field: "requests",
			Message: "the batch has more than " + strconv.Itoa(MaxBatch) + " requests; send them as application/x-ndjson",
		}
	}
	return requests, nil
}
