// Package dates has instants and the time between two of them: when a binding, a denial or
// a session begins and ends. It reads and prints instants and compares them. It does not
// read documents and does not read the clock.
//
// # Design
//
// An instant is the number of nanoseconds that OPA's clock returns, so that the embedded
// engine and a stock OPA compare the same numbers. What is outside of the 64 bits of that
// clock, before 1677 and after 2262, becomes the nearest instant instead of another one.
// The alternative, to compare texts or times of package time in Go, would differ from Rego
// at the ends of the range.
package dates

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"time"
)

// Hint is how an instant is written.
const Hint = `write it like "2026-01-20T10:00:00Z" or "2026-01-20T11:00:00+01:00"`

// Instant is a number of nanoseconds since 1970 in UTC.
type Instant int64

// The ends of the clock. first also stands for all instants before it, and last for all
// after it.
const (
	first Instant = math.MinInt64
	last  Instant = math.MaxInt64
)

// Of returns the instant of a time, the nearest one for a time outside of the clock.
func Of(t time.Time) Instant {
	switch {
	case t.Before(first.Time()):
		return first
	case t.After(last.Time()):
		return last
	}
	return Instant(t.UnixNano())
}

// Time returns the instant in UTC.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)).UTC() }

// String returns the instant in UTC, without zeros at the end of the fraction.
func (i Instant) String() string { return Format(i.Time()) }

// Format prints a time as an instant is printed.
func Format(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// form is the form of an instant. The time package accepts more than it: a comma, and hours
// of one digit.
var form = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[-+]([01]\d|2[0-3]):[0-5]\d)$`)

// ErrForm is the error of Parse.
var ErrForm = errors.New("must be an RFC 3339 time such as 2026-01-20T10:00:00Z")

// Parse parses a time of RFC 3339, in capitals, with at most nine digits of a fraction. Its
// day must exist and its year in UTC be within 1 and 9999; a leap second is refused. The
// time is in UTC.
func Parse(text string) (time.Time, error) {
	if !form.MatchString(text) {
		return time.Time{}, ErrForm
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, ErrForm
	}
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, ErrForm
	}
	return t, nil
}

// duration is the form of a duration: whole days, then numbers with units.
var duration = regexp.MustCompile(`^(?:(\d{1,3})d)?((?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))*)$`)

// maxDays is the largest number of whole days of a duration.
const maxDays = 365

// ErrDuration is the error of ParseDuration.
var ErrDuration = errors.New("must be a duration such as 90m or 1d12h, longer than zero and with at most 365 days")

// ParseDuration parses a positive duration, which may begin with whole days.
func ParseDuration(text string) (time.Duration, error) {
	parts := duration.FindStringSubmatch(text)
	if parts == nil {
		return 0, ErrDuration
	}
	var length time.Duration
	if parts[1] != "" {
		days, err := strconv.Atoi(parts[1])
		if err != nil || days > maxDays {
			return 0, ErrDuration
		}
		length = time.Duration(days) * 24 * time.Hour
	}
	if parts[2] != "" {
		rest, err := time.ParseDuration(parts[2])
		if err != nil {
			return 0, ErrDuration
		}
		length += rest
	}
	if length <= 0 {
		return 0, ErrDuration
	}
	return length, nil
}
