package limits

import (
	"io"
	"net/http"
)

// Responses returns a transport whose responses end after a number of bytes. A longer
// response is truncated, which a decoder of JSON reports. The transport is safe for
// concurrent use if next is.
func Responses(next http.RoundTripper, most int64) http.RoundTripper {
	return responses{next, most}
}

type responses struct {
	next http.RoundTripper
	most int64
}

func (t responses) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, t.most), response.Body}
	}
	return response, err
}
