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

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/translator/source"
)

var (
	errStalled = errors.New("the transfer stalled")
	errTimeout = errors.New("the transfer timed out")
)

// limitError reports a fetch that exceeds a limit.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// maxReferenceBytes bounds the list of references that a server sends.
const maxReferenceBytes = 64 << 20

// transferLimiter ends transfers that stall or exceed their size, and records why: the
// libraries in between report only a closed connection.
type transferLimiter struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stall    time.Duration
	maxBytes int64
}

func newTransferLimiter(ctx context.Context, o *Options) *transferLimiter {
	l := &transferLimiter{stall: o.Stall, maxBytes: o.MaxFetch}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	return l
}

func (l *transferLimiter) close() { l.cancel(nil) }

// cause returns the limit that ended the transfer, or err if none did.
func (l *transferLimiter) cause(err error) error {
	cause := context.Cause(l.ctx)
	var exceeded *limitError
	if errors.Is(cause, errStalled) || errors.Is(cause, errTimeout) || errors.As(cause, &exceeded) {
		return cause
	}
	return withoutURL(err)
}

// limit returns body, bounded to maxBytes and to Stall for each read. The subject names the
// content in errors.
func (l *transferLimiter) limit(body io.ReadCloser, maxBytes int64, subject string) *limitedBody {
	timer := time.AfterFunc(l.stall, func() { l.cancel(errStalled) })
	timer.Stop()
	return &limitedBody{ReadCloser: body, limiter: l, left: maxBytes, maxBytes: maxBytes, subject: subject, timer: timer}
}

type limitedBody struct {
	io.ReadCloser
	limiter        *transferLimiter
	span           *progress.Span // counts the bytes; may be nil
	left, maxBytes int64
	subject        string
	timer          *time.Timer
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		b.limiter.cancel(&limitError{fmt.Sprintf("%s exceeds the limit of %d bytes", b.subject, b.maxBytes)})
		return 0, context.Cause(b.limiter.ctx)
	}
	// The timer runs only during the read: processing the bytes may take longer.
	b.timer.Reset(b.limiter.stall)
	// One byte beyond the limit, so that a body of exactly maxBytes is accepted.
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	b.timer.Stop()
	b.left -= int64(n)
	b.span.Count(int64(n), "bytes")
	return n, err
}

func (b *limitedBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}

// limitedRoundTripper limits the bodies of HTTP responses.
type limitedRoundTripper struct {
	next    http.RoundTripper
	limiter *transferLimiter
}

func (t *limitedRoundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		// The body of an error must not reach logs and statuses.
		response.Body.Close()
		response.Body = http.NoBody
		return response, nil
	}
	if request.Method == http.MethodPost {
		response.Body = t.limiter.limit(response.Body, t.limiter.maxBytes, "the commit")
	} else {
		response.Body = t.limiter.limit(response.Body, min(maxReferenceBytes, t.limiter.maxBytes), "the list of references")
	}
	return response, nil
}

// httpTransport returns the transport of the previous fetch unless CABundle has changed. It
// returns an error if CABundle does.
func (r *Repository) httpTransport() (*http.Transport, error) {
	var cas []byte
	if r.o.CABundle != nil {
		var err error
		if cas, err = r.o.CABundle(); err != nil {
			return nil, err
		}
	}
	r.connecting.Lock()
	defer r.connecting.Unlock()
	if r.http != nil && bytes.Equal(cas, r.cas) {
		return r.http, nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = r.o.Stall
	if len(cas) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM(cas)
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	if r.http != nil {
		r.http.CloseIdleConnections()
	}
	r.http, r.cas = t, cas
	return t, nil
}

// readError is the error of Snapshot. It bounds and escapes the text of err, part of which a
// server may have chosen and which reaches terminals, logs and the status.
type readError struct {
	prefix string
	err    error
}

func (e *readError) Error() string {
	const maxBytes = 500
	text := strings.TrimRight(e.err.Error(), ": \n")
	if len(text) > maxBytes {
		text = text[:maxBytes] + "..."
	}
	if !source.IsPrintable(text) {
		text = strings.Trim(strconv.QuoteToASCII(text), `"`)
	}
	return e.prefix + text
}

func (e *readError) Unwrap() error { return e.err }
