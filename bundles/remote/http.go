package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/rest"
)

// httpOrigin is a server with OPA's bundle protocol: HTTP with ETags and, optionally, a
// header for long polling.
type httpOrigin struct {
	client rest.Client
	path   string
	wait   time.Duration
	held   bool // whether the last answer announced long polling; not for concurrent use
}

// holdsType is the content type by which a server announces long polling.
const holdsType = "application/vnd.openpolicyagent.bundles"

func newHTTPOrigin(location string, s *service, o Options) (*httpOrigin, error) {
	s = cmp.Or(s, bare(location))
	client, err := s.client(o.Wait)
	if err != nil {
		return nil, err
	}
	return &httpOrigin{client: client, path: s.below(location), wait: o.Wait}, nil
}

func (h *httpOrigin) every() time.Duration { return defaultEvery }

func (h *httpOrigin) fetch(ctx context.Context, known string) (*arrival, error) {
	prefer := "modes=snapshot"
	if h.wait >= time.Second {
		prefer += ";wait=" + strconv.Itoa(int(h.wait/time.Second))
	}
	client := h.client.WithHeader("Prefer", prefer).WithHeader("If-None-Match", known)
	answer, err := client.Do(ctx, http.MethodGet, h.path)
	if err != nil {
		return nil, withoutURL(err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
		h.held = answer.Header.Get("Content-Type") == holdsType
		return &arrival{tag: answer.Header.Get("ETag"), body: answer.Body, held: h.held}, nil
	case http.StatusNotModified:
		answer.Body.Close()
		if known == "" {
			return nil, errors.New("the server returned 304 Not Modified to a request without a precondition")
		}
		return &arrival{tag: known, held: h.held}, nil
	}
	// Part of the body is read so that the connection can be reused.
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10)
	answer.Body.Close()
	return nil, fmt.Errorf("the server returned %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
}

// withoutURL removes the URL from an error: its query may contain a signature.
func withoutURL(err error) error {
	if errors.Is(err, http.ErrSchemeMismatch) {
		return errors.New("the server does not speak TLS (for a registry, --plain-http allows that)")
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}
