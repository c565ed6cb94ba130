package git

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/progress"
	"github.com/writ-policy/writ/translator/source"
)

var (
	errStalled = errors.New("the transfer stands still")
	errTooLong = errors.New("the transfer takes too long")
)

// tooMuch ends a fetch that is larger than it may be.
type tooMuch struct{ what string }

func (e *tooMuch) Error() string { return e.what }

// maxReferences bounds what a server may say of its references, in bytes.
const maxReferences = 64 << 20

// guard ends a conversation with a server that stands still or says too much, and
// remembers why: the libraries between see no more than an end.
type guard struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stall  time.Duration
	most   int64
}

func newGuard(ctx context.Context, o *Options) *guard {
	g := &guard{stall: o.Stall, most: o.MaxFetch}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

func (g *guard) close() { g.cancel(nil) }

// reason is why the conversation was ended from here, or err where it was not.
func (g *guard) reason(err error) error {
	cause := context.Cause(g.ctx)
	var large *tooMuch
	if errors.Is(cause, errStalled) || errors.Is(cause, errTooLong) || errors.As(cause, &large) {
		return cause
	}
	return withoutURL(err)
}

// watch reads on as long as something comes, and no more than most bytes.
func (g *guard) watch(body io.ReadCloser, most int64, what string) *watchedBody {
	timer := time.AfterFunc(g.stall, func() { g.cancel(errStalled) })
	timer.Stop()
	return &watchedBody{ReadCloser: body, guard: g, left: most, most: most, what: what, timer: timer}
}

type watchedBody struct {
	io.ReadCloser
	guard      *guard
	under      *progress.Span // counts what comes; nil: nobody does
	left, most int64
	what       string
	timer      *time.Timer
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		b.guard.cancel(&tooMuch{fmt.Sprintf("%s has more than the %d bytes that are fetched", b.what, b.most)})
		return 0, context.Cause(b.guard.ctx)
	}
	// One byte more than there may be, so that exactly as many are not refused.
	// Only the waiting counts: what is done with the bytes may take its time.
	b.timer.Reset(b.guard.stall)
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	b.timer.Stop()
	b.left -= int64(n)
	b.under.Count(int64(n), "bytes")
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}

// guardedWeb is HTTP under a guard.
type guardedWeb struct {
	next  http.RoundTripper
	guard *guard
}

func (w *guardedWeb) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		// What a server says of an error is nothing for logs and statuses.
		answer.Body.Close()
		answer.Body = http.NoBody
		return answer, nil
	}
	if request.Method == http.MethodPost {
		answer.Body = w.guard.watch(answer.Body, w.guard.most, "the commit")
	} else {
		answer.Body = w.guard.watch(answer.Body, min(maxReferences, w.guard.most), "the list of references")
	}
	return answer, nil
}

// transport is the one before, unless other authorities are to be trusted now.
func (r *Repository) transport() (*http.Transport, error) {
	var authorities []byte
	if r.o.CABundle != nil {
		var err error
		if authorities, err = r.o.CABundle(); err != nil {
			return nil, err
		}
	}
	if r.web != nil && bytes.Equal(authorities, r.authorities) {
		return r.web, nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = r.o.Stall
	if len(authorities) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(authorities)
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	if r.web != nil {
		r.web.CloseIdleConnections()
	}
	r.web, r.authorities = t, authorities
	return t, nil
}

// repositoryError is what is said of a fault. A server has a part in its text, which goes
// into terminals, logs and the status.
type repositoryError struct {
	prefix string
	err    error
}

func (e *repositoryError) Error() string {
	const most = 500
	text := strings.TrimRight(e.err.Error(), ": \n")
	if len(text) > most {
		text = text[:most] + "..."
	}
	if !source.IsPrintable(text) {
		text = strings.Trim(strconv.QuoteToASCII(text), `"`)
	}
	return e.prefix + text
}

func (e *repositoryError) Unwrap() error { return e.err }
