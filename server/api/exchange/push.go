package exchange

import (
	"context"
	"net/http"
	"time"

	"github.com/writ-policy/writ/server/auth"
)

// WriteWithin is how long a client may take to read a piece of a stream.
const WriteWithin = 10 * time.Second

// admitEvery is how often the sender of a request is admitted again whose answer is a stream. Files
// of tokens are read as often.
const admitEvery = time.Second

// WhileAdmitted returns the context of a request to an endpoint of a role whose answer is a stream.
// It is done when the sender would not be admitted any more: the token is revoked or has expired,
// the certificate is not accepted, a group is lost, or holds, if it is not nil, returns false. A
// client that is still admitted may come back. The caller must call the function.
func (s *Service) WhileAdmitted(r *http.Request, role auth.Role, holds func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	if s.Rule.IsOpen() {
		return ctx, cancel
	}
	go func() {
		defer cancel()
		again := time.NewTicker(admitEvery)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
			_, err := s.Rule.Admit(ctx, credentialsOf(r), role)
			isOver := err == nil && holds != nil && !holds()
			if ctx.Err() == nil && (err != nil || isOver) {
				s.Logger.InfoContext(ctx, "a stream has ended: its caller is not accepted any more", "from", r.RemoteAddr, "error", err)
				return
			}
		}
	}()
	return ctx, cancel
}

// An answer above freeAnswer is charged to a budget over all requests while it is sent, maxAnswers
// bytes: slow readers may hold one on each connection. Those above largeAnswer leave a part to others.
const (
	freeAnswer  = freeBody
	maxAnswers  = 128 << 20
	largeAnswer = 1 << 20
)

// Send writes an answer, or a refusal if the answers that are being sent take too much memory.
func (s *Service) Send(w http.ResponseWriter, form Form, contentType []string, answer []byte) {
	if size := int64(len(answer)); size > freeAnswer {
		size = min(size, maxAnswers/2) // an operator may permit larger ones
		if !s.answers.Acquire(size) {
			s.Refuse(w, form, answersInUse)
			return
		}
		defer s.answers.Release(size)
	}
	Write(w, http.StatusOK, contentType, answer)
}

// Push sends a piece of a stream that may be quiet for long. It returns false if the client has
// left, or does not read the piece within WriteWithin. Afterwards the connection has no deadline
// for writing: that of HTTP/2 would end a quiet stream.
func Push(w http.ResponseWriter, piece []byte) bool {
	control := http.NewResponseController(w)
	// Errors of deadlines are those of writers that are not connections.
	_ = control.SetWriteDeadline(time.Now().Add(WriteWithin))
	if _, err := w.Write(piece); err != nil || control.Flush() != nil {
		return false
	}
	_ = control.SetWriteDeadline(time.Time{})
	return true
}
