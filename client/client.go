// Package client asks a writ server for decisions. Its request and decision types are those
// of package writ, so a program can decide in its own process or by a server with the same
// code. Its API is promised to stay compatible, like that of package writ.
//
// # Failure
//
// Every method returns an error if it has no decision, and then a zero decision, which
// allows nothing. A decision without an error may be the server's own denial because an
// evaluation failed; its Reason says so.
//
// # Retries
//
// No request changes anything at the server, so every one is sent again after a failed
// connection and after the statuses 202, 429, 502, 503 and 504. All other statuses are final. The
// first wait is between 50 and 100 milliseconds, each further one twice as long, up to 2
// seconds. A Retry-After of the server that is longer is honored up to 30 seconds; a
// longer one ends the retries. They also end after Options.Attempts, and when the deadline
// of the context would pass in the wait.
//
// # Deadlines
//
// The context bounds a call with all its attempts, Options.Timeout each attempt. A request
// has the time that its attempt has left, and the server denies one that it cannot decide
// in that time.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	pathname "path"
	"strconv"
	"strings"
	"time"
)

// Options configure a Client. URL is required.
type Options struct {
	// URL is the scheme and host of the server, such as https://writ.example:8686, with a
	// path if a proxy adds one.
	URL string
	// Token returns the bearer token of an attempt. It is called for each, so that a token
	// that is renewed is sent; an error ends the call. Nil sends none.
	Token func(ctx context.Context) (string, error)
	// Transport sends requests. It has client certificates and authorities, if any are
	// needed. Nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout bounds an attempt; zero means 10 seconds.
	Timeout time.Duration
	// Attempts is how often a request is sent at most; zero means 4.
	Attempts int
}

// Client asks one server. It is safe for concurrent use.
type Client struct {
	options Options
	base    string
	http    *http.Client
	// longest is the size of the longest answer in bytes.
	longest int64
}

// New returns a client. It does not connect.
func New(o Options) (*Client, error) {
	if !isBase(o.URL) {
		// The error does not quote the URL, which may contain a password.
		return nil, errors.New("the URL of the server must be such as https://writ.example:8686")
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), 10*time.Second)
	o.Attempts = cmp.Or(max(o.Attempts, 0), 4)
	return &Client{options: o, base: strings.TrimSuffix(o.URL, "/"), longest: longestAnswer, http: &http.Client{
		Transport: o.Transport,
		// A server of writ never redirects, and credentials must not follow one that does.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// isBase reports whether an address is a scheme and a host, and perhaps a path.
func isBase(address string) bool {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.User != nil || strings.ContainsAny(address, "?#") {
		return false
	}
	return at.Scheme == "http" || at.Scheme == "https"
}

// Bounds of waits and answers.
const (
	firstWait     = 50 * time.Millisecond
	longestWait   = 2 * time.Second
	longestAfter  = 30 * time.Second
	longestAnswer = 64 << 20
)

// call sends a request until it is answered, and decodes the answer into out. It returns the
// revision that answered.
func (c *Client) call(ctx context.Context, method, path string, body []byte, out any) (revision string, err error) {
	wait := firstWait
	for attempt := 1; ; attempt++ {
		header, err := c.try(ctx, method, path, body, out)
		if err == nil {
			return header.Get("Writ-Revision"), nil
		}
		pause, again := pauseAfter(err, header, wait)
		if !again || attempt >= c.options.Attempts {
			return "", err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return "", err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
		wait = min(2*wait, longestWait/2)
	}
}

// pauseAfter returns how long to wait before the next attempt, between wait and twice as
// long, and whether there may be one.
func pauseAfter(err error, header http.Header, wait time.Duration) (time.Duration, bool) {
	if _, ok := errors.AsType[*finalError](err); ok {
		return 0, false
	}
	wait += rand.N(wait)
	after := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
		wait = max(wait, time.Duration(min(seconds, 1<<20))*time.Second)
	} else if at, err := http.ParseTime(after); err == nil {
		wait = max(wait, time.Until(at))
	}
	return wait, wait <= longestAfter
}

// finalError is an error after which a request is not sent again.
type finalError struct{ cause error }

func (e *finalError) Error() string { return e.cause.Error() }
func (e *finalError) Unwrap() error { return e.cause }

// try sends a request once. The header is that of the answer, nil without one.
func (c *Client) try(ctx context.Context, method, path string, body []byte, out any) (http.Header, error) {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, &finalError{err}
	}
	response, err := c.http.Do(r)
	if err == nil {
		defer response.Body.Close()
		body, err = io.ReadAll(io.LimitReader(response.Body, c.longest+1))
	}
	switch {
	case err != nil && whole.Err() != nil:
		return nil, &finalError{err}
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return response.Header, errorOf(response, body)
	}
	if media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &finalError{errors.New("the answer is not JSON: is the URL that of a writ server?")}
	}
	if int64(len(body)) > c.longest {
		return nil, &finalError{fmt.Errorf("the answer is longer than %d bytes", c.longest)}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return nil, &finalError{fmt.Errorf("read the answer: %w", err)}
	}
	return response.Header, nil
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	if !isClean(path) {
		return nil, errors.New("a name is empty or has parts that would change the path of the request")
	}
	if deadline, ok := ctx.Deadline(); ok && method == http.MethodPost {
		path += "?timeout=" + max(time.Until(deadline), time.Millisecond).String()
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.options.Token == nil {
		return r, nil
	}
	token, err := c.options.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return r, nil
}

// isClean reports whether a proxy that decodes and cleans a path leaves it as it is. A name of
// a cluster such as ".." would ask about another one.
func isClean(address string) bool {
	plain, _, _ := strings.Cut(address, "?")
	decoded, err := url.PathUnescape(plain)
	return err == nil && pathname.Clean(decoded) == decoded
}

// answer sends a question, or no body if it is nil, and returns the answer: the zero value beside
// an error.
func answer[A any](ctx context.Context, c *Client, method, path string, question any) (A, error) {
	var a, none A
	var body []byte
	if question != nil {
		var err error
		if body, err = json.Marshal(question); err != nil {
			return none, err
		}
	}
	if _, err := c.call(ctx, method, path, body, &a); err != nil {
		return none, err
	}
	return a, nil
}
