package decision

import (
	"slices"
	"strings"
	"unicode"
)

// Sendable is d where its headers can be sent. Their values come out of requests: a
// line end in one would begin another header. On an allow that is an evaluation error, as the
// value without it would be a different one, perhaps another user's; on a denial controls
// become spaces, and an invalid name is left out.
func (d GatewayDecision) Sendable() GatewayDecision {
	if d.Allowed && !d.Denied {
		for name, value := range d.Headers {
			if !IsHeaderName(name) || strings.ContainsFunc(value, controls) {
				failed := d.Failed("a header of the policy cannot be sent")
				failed.Revision, failed.Target, failed.Policies = d.Revision, d.Target, d.Policies
				return failed
			}
		}
		return d
	}
	if d.Response == nil {
		return d
	}
	response := *d.Response
	response.Headers = make(map[string]string, len(d.Response.Headers))
	for name, value := range d.Response.Headers {
		if IsHeaderName(name) {
			response.Headers[name] = HeaderValue(value)
		}
	}
	d.Response = &response
	return d
}

// HeaderValue is text with a space for each control character.
func HeaderValue(text string) string {
	return strings.Map(func(r rune) rune {
		if controls(r) {
			return ' '
		}
		return r
	}, text)
}

func controls(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// IsHeaderName reports whether text can name a header. A pseudo-header of HTTP/2, such
// as ":path", is not a header: it would change the request that was decided on.
func IsHeaderName(text string) bool {
	return text != "" && !slices.ContainsFunc([]byte(text), func(c byte) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0
	})
}
