package piece

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	h "github.com/writ-policy/writ/server/console/page/html"
)

// Short is the part of a revision that people compare.
func Short(revision string) string { return revision[:min(12, len(revision))] }

// Number writes a number with a comma before each three digits. Numbers below ten keep a
// decimal.
func Number[T int | int64 | uint64 | float64](value T) string {
	n := float64(value)
	if n > 0 && n < 10 && n != math.Trunc(n) {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Plural is a number of things of which one has a name.
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "s") {
		one += "e"
	}
	return Number(n) + " " + one + "s"
}

// LineHref is the address of FILE:LINE; empty if the source has no line.
func LineHref(source string) string {
	at := max(0, strings.LastIndexByte(source, ':'))
	file, line := source[:at], strings.TrimPrefix(source[at:], ":")
	if _, err := strconv.Atoi(line); at == 0 || err != nil || strings.Contains(file, "bootstrap:") {
		return ""
	}
	return DocumentHref(file) + "?line=" + line + "#L" + line
}

// DocumentHref is the address of a file.
func DocumentHref(file string) string {
	return (&url.URL{Path: "/page/documents/" + file}).EscapedPath()
}

// Place is FILE:LINE of the documents, with a link to the line if there is one.
func Place(source string) h.Node {
	if href := LineHref(source); href != "" {
		return place(source, href)
	}
	return h.Text(source)
}

// place is a place with its address. It is divided before the last part of the name, so that a
// line of a table never ends within it or within the number.
func place(source, href string) h.Node {
	const maxUnbroken = 28 // how long the last part may be to stay on one line
	at := strings.LastIndexByte(source, '/') + 1
	if len(source)-at > maxUnbroken {
		at = max(at, strings.LastIndexByte(source, ':'))
	}
	return h.A(h.Class("place"), h.Href(href), h.Text(source[:at]), Span("nowrap", h.Text(source[at:])))
}

// Breakable is a name in which a line may end: after a slash, a colon or an at sign.
func Breakable(name string) h.Node {
	var parts h.Group
	for {
		at := strings.IndexAny(name, "/:@") + 1
		if at == 0 {
			return append(parts, h.Text(name))
		}
		parts, name = append(parts, h.Text(name[:at]), h.Wbr()), name[at:]
	}
}

// Moment is a time to the second, with its day.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Time is a time in words, for programs too. The whole of it is shown on demand if the words are
// not all of it.
func Time(t time.Time, form string, isWhole bool) h.Node {
	t = t.UTC()
	return h.Time(h.DateTime(t.Format(time.RFC3339)), h.If(!isWhole, h.Title(Moment(t))), h.Text(t.Format(form)))
}

// Clock is the form of the time of a day.
const Clock = "15:04:05"
