package limits

import (
	"regexp"
	"time"
)

// Failures counts failures in a row, so that each is logged once and then seldom: what is polled
// fails in the same way at each poll. The zero value has seen none. It is not safe for concurrent
// use.
type Failures struct {
	last          string
	count         int
	since, logged time.Time
}

// logAgain is how long a failure that repeats is not logged.
const logAgain = time.Hour

// ephemeral is the address from which a connection was opened, which is another one each time.
var ephemeral = regexp.MustCompile(`[^ ]+:[0-9]+->`)

// Failed counts a failure and reports whether to log it: one that differs from the last, and one
// that has not been logged for an hour. about are attributes of the log, how many failures in a row
// there were and since when; it is nil for the first.
func (f *Failures) Failed(text string, now time.Time) (about []any, isLogged bool) {
	text = ephemeral.ReplaceAllLiteralString(text, "")
	if f.count++; f.count == 1 {
		f.since = now
	}
	if text == f.last && now.Sub(f.logged) < logAgain {
		return nil, false
	}
	f.last, f.logged = text, now
	return f.about(), true
}

// Any reports whether there were failures since the last end.
func (f *Failures) Any() bool { return f.count > 0 }

// Ended forgets the failures and reports whether there were any; about is as for Failed.
func (f *Failures) Ended() (about []any, failed bool) {
	about, failed = f.about(), f.Any()
	*f = Failures{}
	return about, failed
}

func (f *Failures) about() []any {
	if f.count < 2 {
		return nil
	}
	return []any{"failures", f.count, "since", f.since}
}
