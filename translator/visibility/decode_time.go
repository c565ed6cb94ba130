package visibility

import (
	"regexp"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// decodeValidity decodes the time in which a policy is active.
func decodeValidity(d *syntax.Decoder, c *syntax.Cursor, p *MonitorAccessPolicy) {
	if c == nil {
		return
	}
	p.NotBefore, p.NotAfter = decodeMoment(d, c, "notBefore", p.Deny), decodeMoment(d, c, "notAfter", p.Deny)
	if p.NotBefore != nil && p.NotAfter != nil && p.NotBefore.Time != nil && p.NotAfter.Time != nil &&
		p.NotAfter.Time.Before(*p.NotBefore.Time) {
		d.Fail(c.Value("notAfter"), diag.BadValue, "", "notAfter %s is before notBefore %s",
			syntax.Quote(p.NotAfter.Value), syntax.Quote(p.NotBefore.Value))
	}
	c.Done()
}

// decodeMoment decodes an optional time. An invalid time is a warning for an Allow
// policy, which is never active then, and an error for a Deny policy, which must not be
// skipped. A scalar that YAML resolves to a number is read as text.
func decodeMoment(d *syntax.Decoder, c *syntax.Cursor, name string, deny bool) *Moment {
	n := c.Value(name)
	switch {
	case n == nil || n.Type == syntax.String && n.Value == "":
		return nil
	case n.Type == syntax.List || n.Type == syntax.Mapping:
		d.Fail(n, diag.WrongType, "", "%s must be a string, not %s", name, syntax.Describe(n))
		return nil
	}
	const hint = `write it like "2026-01-20T10:00:00Z"`
	t, ok := parseInstant(n.Value)
	switch {
	case ok:
		return &Moment{d.Text(n), &t}
	case deny:
		d.Fail(n, diag.BadValue, hint, "%s %s must be an RFC 3339 time: a Deny policy must not be skipped", name, syntax.Quote(n.Value))
	default:
		d.Warn(n, diag.MalformedTime, hint, "%s %s must be an RFC 3339 time: the policy never applies", name, syntax.Quote(n.Value))
	}
	return &Moment{d.Text(n), nil}
}

// timeForm rejects commas and hours of one digit, which the time package accepts, and
// accepts the lower-case letters of RFC 3339, which it rejects.
var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]([01]\d|2[0-3]):[0-5]\d)$`)

// The first and the last instant that RFC 3339 can represent in UTC.
var (
	firstInstant = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
)

// parseInstant parses a time of RFC 3339. An offset can lead out of the years that can be
// written in UTC; then parseInstant returns the nearest one within.
func parseInstant(value string) (time.Time, bool) {
	if !timeForm.MatchString(value) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(value))
	if err != nil {
		return time.Time{}, false
	}
	switch t = t.UTC(); {
	case t.Before(firstInstant):
		t = firstInstant
	case t.After(lastInstant):
		t = lastInstant
	}
	return t, true
}
