package progress

import (
	"cmp"
	"net/http"
	"strconv"
)

// Transport returns a transport that reports each request to the observers in its context,
// from the request to the header of the answer. Neither path nor query nor header is
// reported: they may be secret. The transport is safe for concurrent use if next is. Nil means
// http.DefaultTransport.
func Transport(next http.RoundTripper) http.RoundTripper {
	next = cmp.Or(next, http.DefaultTransport)
	return transport{next}
}

type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, span := Start(r.Context(), Request)
	if span == nil {
		return t.next.RoundTrip(r)
	}
	span.Set(Method, r.Method)
	span.Set(Host, r.URL.Hostname())
	if port, err := strconv.Atoi(r.URL.Port()); err == nil {
		span.Set(Port, port)
	}
	response, err := t.next.RoundTrip(r)
	if err == nil {
		span.Set(Status, response.StatusCode)
	}
	span.End(err)
	return response, err
}
