package oracle

import (
	"strconv"
	"strings"
	"time"
)

// Dates are when a document begins and ends to hold, as written; empty for no bound.
type Dates struct{ NotBefore, NotAfter string }

// instant is a point in time: seconds since the beginning of the year 0, and nanoseconds.
type instant [2]int64

func (a instant) before(b instant) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

var monthDays = [12]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// instantOf reads "YYYY-MM-DDThh:mm:ss[.fraction](Z|+hh:mm|-hh:mm)", by counting days.
func instantOf(text string) instant {
	number := func(from, to int) int {
		n, err := strconv.Atoi(text[from:to])
		if err != nil {
			panic(err) // generated dates are valid
		}
		return n
	}
	days, year, month := 0, number(0, 4), number(5, 7)
	for y := range year {
		days += 365
		if isLeap(y) {
			days++
		}
	}
	for m := range month - 1 {
		days += monthDays[m]
		if m == 1 && isLeap(year) {
			days++
		}
	}
	days += number(8, 10) - 1
	seconds := int64(days)*86400 + int64(number(11, 13)*3600+number(14, 16)*60+number(17, 19))
	rest, nanoseconds := text[19:], int64(0)
	if strings.HasPrefix(rest, ".") {
		digits := strings.TrimRight(rest[1:len(rest)-len(zoneOf(rest))]+"000000000", "Z")[:9]
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			panic(err)
		}
		nanoseconds, rest = n, zoneOf(rest)
	}
	if rest != "Z" {
		offset := int64((int(rest[1]-'0')*10+int(rest[2]-'0'))*3600 + (int(rest[4]-'0')*10+int(rest[5]-'0'))*60)
		if rest[0] == '-' {
			offset = -offset
		}
		seconds -= offset
	}
	return instant{seconds, nanoseconds}
}

// zoneOf returns the end of a time that is its zone.
func zoneOf(text string) string {
	if strings.HasSuffix(text, "Z") {
		return "Z"
	}
	return text[len(text)-6:]
}

// of1970 is the number of seconds until 1970.
var of1970 = instantOf("1970-01-01T00:00:00Z")[0]

func instantAt(t time.Time) instant { return instant{t.Unix() + of1970, int64(t.Nanosecond())} }

// Hold reports whether a document holds at a time: from its first instant, and before the
// one at which it ends.
func (d Dates) Hold(now time.Time) bool {
	at := instantAt(now)
	return (d.NotBefore == "" || !at.before(instantOf(d.NotBefore))) && (d.NotAfter == "" || at.before(instantOf(d.NotAfter)))
}

// lastTick is the last nanosecond of a clock of 64 bits. What ends later never ends.
var lastTick = instantOf("2262-04-11T23:47:16.854775807Z")

// Until returns the end in UTC, empty for a document without one.
func (d Dates) Until() string {
	if d.NotAfter == "" {
		return ""
	}
	at := instantOf(d.NotAfter)
	if lastTick.before(at) {
		return ""
	}
	return at.text()
}

// Words is what a reason says about the end, empty for a document without one.
func (d Dates) Words() string {
	if until := d.Until(); until != "" {
		return " until " + until
	}
	return ""
}
