package exchange

import (
	"net/http"

	"github.com/writ-policy/writ/server/decision"
)

// List is an endpoint without a body that may go through all documents or principals.
type List struct {
	// Form writes refusals.
	Form Form
	// Check, if set, refuses a request before anything else.
	Check func(*http.Request) *Refusal
	// Kept, if set, returns the revision of which an answer is kept for the request; nil if
	// the active one answers it.
	Kept func(*http.Request) *decision.Loaded
	// Answer returns the answer as JSON. At most MaxListing of them run at a time.
	Answer func(*http.Request, decision.Policies) ([]byte, *Refusal)
}

// MaxListing is how many lists are made at a time: many of them must not starve the
// decisions.
const MaxListing = 4

// List returns the handler of e.
func (s *Service) List(e List) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, refused := s.list(w, r, &e)
		if refused != nil {
			s.Refuse(w, e.Form, refused)
			return
		}
		s.Send(w, e.Form, JSON, answer)
	}
}

func (s *Service) list(w http.ResponseWriter, r *http.Request, e *List) (answer []byte, refused *Refusal) {
	if e.Check != nil {
		if refused := e.Check(r); refused != nil {
			return nil, refused
		}
	}
	policies := s.Current()
	of := policies.Loaded()
	if e.Kept != nil {
		if kept := e.Kept(r); kept != nil {
			of = kept
		}
	}
	if refused := s.Require(w, r, of); refused != nil {
		return nil, refused
	}
	refused = s.Listing(func() *Refusal {
		answer, refused = e.Answer(r, policies)
		return refused
	})
	return answer, refused
}

// Listing calls list in one of MaxListing places. It returns tooManyRequests if all
// of them are taken.
func (s *Service) Listing(list func() *Refusal) *Refusal {
	if !s.listing.Acquire(1) {
		return tooManyRequests
	}
	defer s.listing.Release(1)
	return list()
}

// Lend calls f without the place for decisions that the caller's request holds, so that
// the requests that f causes find one. The request has a place again afterwards, even
// beyond the limit: it must not wait for a place that its own requests hold.
func (s *Service) Lend(f func()) {
	s.inFlight.Release(1)
	defer s.inFlight.Release(-1)
	f()
}
