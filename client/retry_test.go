package client

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var ask = &AccessRequest{User: "alice", Verb: "get", Resource: "pods"}

// answering is a server whose first answers have statuses, and all others allow. A status 0
// breaks the connection.
func answering(t *testing.T, header http.Header, statuses ...int) (*httptest.Server, *atomic.Int32) {
	asked := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(asked.Add(1)) - 1
		w.Header().Set("Content-Type", "application/json")
		switch {
		case n >= len(statuses):
			_, _ = w.Write([]byte(`{"allowed":true,"denied":false}`))
		case statuses[n] == 0:
			panic(http.ErrAbortHandler)
		default:
			maps.Copy(w.Header(), header)
			w.WriteHeader(statuses[n])
			_, _ = w.Write([]byte(`{"detail":"no","field":"verb","error":{"code":"invalid_request","message":"no"}}`))
		}
	}))
	t.Cleanup(s.Close)
	return s, asked
}

// Requests are sent again after the statuses that the package comment lists and after
// broken connections, as often as Attempts permits, and an error never allows.
func TestRetries(t *testing.T) {
	later := http.Header{"Retry-After": {"31"}}
	for _, tt := range []struct {
		name     string
		header   http.Header
		statuses []int
		asked    int32
		status   int // of the error; 0 for none, -1 for one without a status
	}{
		{"an answer", nil, nil, 1, 0},
		{"too busy, once", nil, []int{503}, 2, 0},
		{"all that pass", nil, []int{429, 502, 504}, 4, 0},
		{"a broken connection", nil, []int{0, 0}, 3, 0},
		{"too busy for long", nil, []int{503, 503, 503, 503, 503}, 4, 503},
		{"broken connections", nil, []int{0, 0, 0, 0, 0}, 4, -1},
		{"come back now", http.Header{"Retry-After": {"0"}}, []int{503}, 2, 0},
		{"come back much later", later, []int{503}, 1, 503},
		{"a malformed request", nil, []int{400}, 1, 400},
		{"no credentials", nil, []int{401}, 1, 401},
		{"an internal error", nil, []int{500}, 1, 500},
		{"a redirect", http.Header{"Location": {"/elsewhere"}}, []int{307}, 1, 307},
		{"an empty answer", nil, []int{204}, 1, 204},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, asked := answering(t, tt.header, tt.statuses...)
			c, err := New(Options{URL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			d, err := c.Access(t.Context(), ask)
			refused := new(Error)
			status := 0
			if errors.As(err, &refused) {
				status = refused.Status
			} else if err != nil {
				status = -1
			}
			if status != tt.status || asked.Load() != tt.asked || d.Allowed != (tt.status == 0) {
				t.Errorf("got %v, allowed %t, after %d requests; want %d after %d", err, d.Allowed, asked.Load(), tt.status, tt.asked)
			}
			var invalid *InvalidRequest
			if errors.As(err, &invalid) != (tt.status > 0 && tt.status != 204) || invalid != nil && invalid.Field != "verb" {
				t.Errorf("got %+v in %v", invalid, err)
			}
		})
	}
}

// Answers that are not those of a writ server are errors.
func TestOtherAnswers(t *testing.T) {
	for name, tt := range map[string][2]string{
		"a page":         {"text/html", `{"allowed":true}`},
		"half an answer": {"application/json", `{"allowed":true`},
		"another type":   {"application/json", `{"allowed":"true"}`},
		"not an object":  {"application/json", `[true]`},
		"a long answer":  {"application/json", `{"allowed":true,"reason":"` + strings.Repeat("x", 1000) + `"}`},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt[0])
			_, _ = w.Write([]byte(tt[1]))
		}))
		c, err := New(Options{URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		c.longest = 1000
		if d, err := c.Access(t.Context(), ask); err == nil || d.Allowed {
			t.Errorf("%s: got %+v and %v, want an error", name, d, err)
		}
		s.Close()
	}
}

// The context ends a call while an attempt runs and while the client waits, and a wait that
// outlasts its deadline does not begin.
func TestContextEndsCalls(t *testing.T) {
	released := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}))
	defer s.Close()
	defer close(released)
	c, err := New(Options{URL: s.URL, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Access(ctx, ask); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	busy, asked := answering(t, http.Header{"Retry-After": {"29"}}, 503)
	if c, err = New(Options{URL: busy.URL}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Access(ctx, ask); err == nil || asked.Load() != 1 || ctx.Err() != nil {
		t.Errorf("got %v after %d requests, want the refusal at once", err, asked.Load())
	}
}

// The token of each attempt is new, and without one nothing is sent.
func TestTokens(t *testing.T) {
	var sent []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer s.Close()
	n := 0
	broken := errors.New("no token")
	c, err := New(Options{URL: s.URL, Token: func(context.Context) (string, error) {
		if n++; n > 2 {
			return "", broken
		}
		return strconv.Itoa(n), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Access(t.Context(), ask); !errors.Is(err, broken) || strings.Join(sent, ", ") != "Bearer 1, Bearer 2" {
		t.Errorf("got %v, and %q were sent", err, sent)
	}
}

func TestWaits(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		after       string
		least, most time.Duration
		again       bool
	}{
		{"", 50 * time.Millisecond, 100 * time.Millisecond, true},
		{"-1", 50 * time.Millisecond, 100 * time.Millisecond, true},
		{"soon", 50 * time.Millisecond, 100 * time.Millisecond, true},
		{"3", 3 * time.Second, 3 * time.Second, true},
		{in(20 * time.Second), time.Second, 20 * time.Second, true},
		{in(-time.Hour), 50 * time.Millisecond, 100 * time.Millisecond, true},
		{"31", 31 * time.Second, 31 * time.Second, false},
		{"99999999999", time.Minute, 1 << 62, false},
	} {
		got, again := pauseAfter(errors.New("gone"), http.Header{"Retry-After": {tt.after}}, firstWait)
		if got < tt.least || got > tt.most || again != tt.again {
			t.Errorf("Retry-After %q: got %s and %t, want %s to %s and %t", tt.after, got, again, tt.least, tt.most, tt.again)
		}
	}
}

func TestURLs(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://writ.example:8686": true, "http://127.0.0.1:1/below/": true, "": false, "writ.example": false,
		"ftp://writ.example": false, "https://user:secret@writ.example": false, "https://writ.example?a=b": false,
		"https://writ.example?": false, "https://writ.example#a": false, "https://user:secret@writ.example:x": false,
	} {
		_, err := New(Options{URL: text})
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// A name that a proxy would take for a part of the path is not sent: the server would decide for
// another cluster or namespace, or for none.
func TestNamesStayInTheirPlace(t *testing.T) {
	s, asked := answering(t, nil)
	c, err := New(Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "..", "a/..", "../a", "a/../..", "/", "a//b"} {
		if _, err := c.SubjectAccessReview(t.Context(), name, &SubjectAccessReview{User: "eve"}); err == nil {
			t.Errorf("the cluster %q is sent", name)
		}
		if _, err := c.OriginRoles(t.Context(), name, "view"); err == nil {
			t.Errorf("the namespace %q is sent", name)
		}
		if _, err := c.OriginRoles(t.Context(), "shop", name); err == nil {
			t.Errorf("the role %q is sent", name)
		}
	}
	if _, err := c.LocalSubjectAccessReview(t.Context(), "", &LocalSubjectAccessReview{}); err == nil {
		t.Error("a review without a namespace is sent")
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, err := c.SubjectAccessReview(t.Context(), "prod eu/1..2", &SubjectAccessReview{User: "eve"}); err != nil {
		t.Errorf("a name with a slash and dots: %v", err)
	}
}

// An error comes with the zero value, and not with a part of an answer.
func TestErrorsHaveNoAnswer(t *testing.T) {
	const half = `{"kind":"always","query":5,"revision":"r","state":"verified","users":["eve"],"resources":[{}],"escalations":[{}],` +
		`"groups":5,"warnings":5,"assertions":5}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(half))
	}))
	t.Cleanup(s.Close)
	c, err := New(Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	answers := map[string]func() (any, error){
		"FilterAccess": func() (any, error) { return c.FilterAccess(ctx, &AccessFilterRequest{Target: "cel"}) },
		"Verify":       func() (any, error) { return c.Verify(ctx, &VerifyQuestion{}) },
		"Assertions":   func() (any, error) { return c.Assertions(ctx) },
		"WhoCan":       func() (any, error) { return c.WhoCan(ctx, &WhoCanQuestion{}) },
		"WhatCan":      func() (any, error) { return c.WhatCan(ctx, &WhatCanQuestion{}) },
	}
	for name, answer := range answers {
		if got, err := answer(); err == nil || !reflect.ValueOf(got).IsZero() {
			t.Errorf("%s: got %+v and %v", name, got, err)
		}
	}
}
