package decision

import (
	"slices"
	"strings"
	"unicode"

	"github.com/writ-policy/writ/translator/tables"
)

// Sendable returns d with headers that are valid in HTTP. Values come from requests, and
// a line end in a value would begin another header. On an allowed decision an invalid
// header is an evaluation error, because a changed value could be that of another user.
// On a denial control characters become spaces, and invalid names are removed.
func (d GatewayDecision) Sendable() GatewayDecision {
	if d.Allowed && !d.Denied {
		for name, value := range d.Headers {
			if !CanSetHeader(name) || strings.ContainsFunc(value, isControl) {
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
		if CanSetHeader(name) {
			response.Headers[name] = HeaderValue(value)
		}
	}
	d.Response = &response
	return d
}

// HeaderValue returns text with each control character replaced by a space.
func HeaderValue(text string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, text)
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\t' }

// CanSetHeader reports whether text is the name of a header that a policy can set. One
// that changes framing or routing, such as "host" or ":path", would change the request
// after the decision; documents cannot name it, but an older bundle may.
func CanSetHeader(text string) bool {
	return text != "" && !tables.IsReservedHeader(text) && !slices.ContainsFunc([]byte(text), func(c byte) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0
	})
}
