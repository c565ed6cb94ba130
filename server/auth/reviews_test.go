package auth

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestReviews(t *testing.T) {
	var asked atomic.Int32
	var revoked, down atomic.Bool
	now := time.Now()
	r := NewReviews(func(_ context.Context, token string) (*Caller, error) {
		asked.Add(1)
		switch {
		case down.Load():
			return nil, errors.New("refused")
		case token != "good" || revoked.Load():
			return nil, nil
		}
		return &Caller{Name: "ada"}, nil
	}, func() time.Time { return now })
	check := func(what, token string, want error, asks int32) {
		t.Helper()
		before := asked.Load()
		caller, err := r.Authenticate(t.Context(), withToken(token))
		if !errors.Is(err, want) || (err == nil) != caller.Is("ada") || asked.Load()-before != asks {
			t.Errorf("%s: got %+v, %v after %d reviews", what, caller, err, asked.Load()-before)
		}
	}
	check("first", "good", nil, 1)
	check("kept", "good", nil, 0)
	check("unknown", "bad", errForeign, 1)
	check("unknown, kept", "bad", errForeign, 0)
	revoked.Store(true)
	check("revoked a moment ago", "good", nil, 0)
	now = now.Add(reviewTTL)
	check("revoked", "good", errForeign, 1)
	down.Store(true)
	check("revoked, kept", "good", errForeign, 0)
	check("not answered", "other", ErrUnavailable, 1)
	check("not answered again", "other", ErrUnavailable, 1)
	for i := range maxReviewed + 1 {
		r.known[[32]byte{byte(i), byte(i >> 8)}] = reviewed{until: now.Add(time.Hour)}
	}
	down.Store(false)
	check("with many tokens", "another", errForeign, 1)
	if len(r.known) != 1 {
		t.Errorf("got %d kept answers, want 1", len(r.known))
	}
}

// Equal tokens share a review, and different ones have a bound.
func TestConcurrentReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		asked := 0
		r := NewReviews(func(context.Context, string) (*Caller, error) {
			asked++
			<-release
			return &Caller{Name: "ada"}, nil
		}, nil)
		for range 50 {
			go func() {
				if _, err := r.Authenticate(t.Context(), withToken("same")); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Authenticate(gone, withToken("same")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a request that ended: got %v", err)
		}
		for range maxReviews - 1 {
			r.places <- struct{}{}
		}
		if _, err := r.Authenticate(t.Context(), withToken("other")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("beyond the bound: got %v", err)
		}
		close(release)
		synctest.Wait()
		if asked != 1 {
			t.Errorf("got %d reviews, want 1", asked)
		}
	})
}

type fixed struct {
	caller *Caller
	err    error
}

func (f fixed) Authenticate(context.Context, Credentials) (*Caller, error) { return f.caller, f.err }

func TestChain(t *testing.T) {
	ada, foreign := fixed{&Caller{Name: "ada"}, nil}, fixed{nil, errForeign}
	rejected, down := fixed{nil, errCredentials}, fixed{nil, ErrUnavailable}
	for _, tt := range []struct {
		name  string
		chain Chain
		want  error
	}{
		{"the first", Chain{ada, rejected}, nil},
		{"the second", Chain{foreign, ada}, nil},
		{"after one that does not answer", Chain{down, ada}, nil},
		{"none", Chain{foreign, foreign}, errCredentials},
		{"rejected by its own", Chain{rejected, ada}, errCredentials},
		{"not known", Chain{down, foreign}, ErrUnavailable},
		{"empty", Chain{}, errCredentials},
	} {
		caller, err := tt.chain.Authenticate(t.Context(), Credentials{})
		if !errors.Is(err, tt.want) || (err == nil) != caller.Is("ada") {
			t.Errorf("%s: got %+v, %v", tt.name, caller, err)
		}
	}
}
