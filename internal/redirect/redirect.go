// Package redirect limits how HTTP clients follow redirects: to which servers, and with
// which headers. It knows neither the clients nor their credentials.
//
// # Design
//
// net/http removes only headers that it knows to be secret, and only if the host changes:
// a header such as X-Api-Key follows a redirect to any host, and Authorization follows one
// to another port or from https to http. The functions of this package compare scheme, host
// and port, and keep only the headers that are listed as harmless.
package redirect

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxRedirects is the limit of net/http.
const maxRedirects = 10

var (
	errTooMany   = errors.New("stopped after 10 redirects")
	errDowngrade = errors.New("the server redirects from https to http")
	errLeaves    = errors.New("the server redirects to another server")
	errMethod    = errors.New("the server redirects to another method")
)

// Follow returns a function for http.Client.CheckRedirect. It follows at most 10 redirects,
// and none from https to http. Once a redirect has left scheme, host and port of the first
// request, of its headers only User-Agent and those in keep are sent.
func Follow(keep ...string) func(*http.Request, []*http.Request) error {
	keep = append([]string{"User-Agent"}, keep...)
	return func(request *http.Request, via []*http.Request) error {
		if err := check(request, via); err != nil {
			return err
		}
		if !leaves(request, via) {
			return nil
		}
		// net/http has copied the headers of the first request, for this request only.
		for name := range request.Header {
			if !slices.Contains(keep, name) {
				delete(request.Header, name)
			}
		}
		request.URL.User = nil
		return nil
	}
}

// Stay is a function for http.Client.CheckRedirect. It follows at most 10 redirects, and only
// those that keep scheme, host, port and method of the first request.
func Stay(request *http.Request, via []*http.Request) error {
	switch err := check(request, via); {
	case err != nil:
		return err
	case leaves(request, via):
		return errLeaves
	case request.Method != via[0].Method:
		return errMethod
	}
	return nil
}

func check(request *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errTooMany
	}
	if request.URL.Scheme != "https" && slices.ContainsFunc(via, func(r *http.Request) bool { return r.URL.Scheme == "https" }) {
		return errDowngrade
	}
	return nil
}

// leaves reports whether the request or one before it goes to another server than the first.
func leaves(request *http.Request, via []*http.Request) bool {
	first := via[0].URL
	return !SameServer(first, request.URL) || slices.ContainsFunc(via, func(r *http.Request) bool { return !SameServer(first, r.URL) })
}

// SameServer reports whether two URLs of http or https have the same scheme, host and port.
func SameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}
