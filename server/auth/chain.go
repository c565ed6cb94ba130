package auth

import (
	"context"
	"errors"
)

// Chain authenticates a bearer token by the first authenticator that knows it. If none
// does, and one could not answer, the error is ErrUnavailable.
type Chain []Authenticator

// Authenticate identifies the sender.
func (chain Chain) Authenticate(ctx context.Context, c Credentials) (*Caller, error) {
	rejected := errForeign
	for _, authenticator := range chain {
		caller, err := authenticator.Authenticate(ctx, c)
		switch {
		case err == nil:
			return caller, nil
		case errors.Is(err, ErrUnavailable):
			rejected = err
		case !errors.Is(err, errForeign):
			return nil, err
		}
	}
	return nil, rejected
}
