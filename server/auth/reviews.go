package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// reviewTTL is how long the answer about a token is used. A token that is revoked is
	// refused after it.
	reviewTTL = 10 * time.Second
	// reviewTimeout bounds a review.
	reviewTimeout = 5 * time.Second
	// maxReviews is the number of concurrent reviews: a sender can make tokens up.
	maxReviews = 32
	// maxReviewed bounds the tokens whose answers are kept.
	maxReviewed = 10_000
)

// Reviews authenticates tokens by a service that knows them, such as Kubernetes'
// TokenReview. Answers are kept for some seconds, by the hash of the token. It is safe
// for concurrent use.
type Reviews struct {
	review func(ctx context.Context, token string) (*Caller, error)
	now    func() time.Time
	places chan struct{} // one element a review in progress
	flight singleflight.Group

	mu    sync.Mutex // held to read and write known
	known map[[sha256.Size]byte]reviewed
}

// reviewed is an answer about a token: nil for one that is not accepted.
type reviewed struct {
	caller *Caller
	until  time.Time
}

var _ Authenticator = (*Reviews)(nil)

// NewReviews returns an authenticator that asks review, which returns nil for a token
// that is not accepted, and an error if that could not be found out. A nil now is time.Now.
func NewReviews(review func(ctx context.Context, token string) (*Caller, error), now func() time.Time) *Reviews {
	if now == nil {
		now = time.Now
	}
	return &Reviews{
		review: review, now: now, places: make(chan struct{}, maxReviews), known: make(map[[sha256.Size]byte]reviewed),
	}
}

// Authenticate returns the caller whose token it is.
func (r *Reviews) Authenticate(ctx context.Context, c Credentials) (*Caller, error) {
	token, err := bearer(c.Authorization)
	if token == "" {
		return nil, err
	}
	key := sha256.Sum256([]byte(token))
	answer, found := r.lookUp(key)
	if !found {
		// Equal tokens share a review, which the end of one request must not end.
		answered := r.flight.DoChan(string(key[:]), func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
			defer cancel()
			return r.ask(ctx, key, token)
		})
		select {
		case result := <-answered:
			if result.Err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnavailable, result.Err)
			}
			answer = result.Val.(reviewed)
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
	}
	if answer.caller == nil {
		return nil, errForeign
	}
	return answer.caller, nil
}

func (r *Reviews) lookUp(key [sha256.Size]byte) (reviewed, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := r.known[key]
	return answer, r.now().Before(answer.until)
}

func (r *Reviews) ask(ctx context.Context, key [sha256.Size]byte, token string) (reviewed, error) {
	select {
	case r.places <- struct{}{}:
		defer func() { <-r.places }()
	default:
		return reviewed{}, errors.New("too many tokens are being reviewed")
	}
	caller, err := r.review(ctx, token)
	if err != nil {
		return reviewed{}, fmt.Errorf("review the token: %w", err)
	}
	answer := reviewed{caller, r.now().Add(reviewTTL)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxReviewed {
		clear(r.known)
	}
	r.known[key] = answer
	return answer, nil
}
