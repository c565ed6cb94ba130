package page

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// formats are the functions of templates that turn values into text.
var formats = map[string]any{
	"clock":    func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"day":      func(t time.Time) string { return t.UTC().Format("2 Jan 15:04:05") },
	"date":     func(t time.Time) string { return t.UTC().Format("2 Jan") },
	"hour":     func(t time.Time) string { return t.UTC().Format("15:04") },
	"moment":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"short":    short,
	"age":      age,
	"number":   number,
	"percent":  percent,
	"micro":    micro,
	"badge":    badge,
	"line":     lineHref,
	"plural":   plural,
	"rule":     rule,
	"named":    named,
	"lower":    strings.ToLower,
	"sentence": sentence,
	"dict":     dict,
	"subject":  subjectHref,
	"role":     roleHref,
	"through":  matchedRoleHref,

	"principal": principalWords,
	"join":      func(list []string) string { return strings.Join(list, ", ") },
	"groups":    groupWords,
	"pieces":    pieces,
	"instant":   instant,
	"why":       why,

	"placeFile": func(place string) string { file, _ := splitPlace(place); return file },
	"placeLine": func(place string) string { _, line := splitPlace(place); return line },

	"diffClass": diffClass, "stateWord": func(state string) string { return stateWords[state] },
}

// pieces divides a name where a line may end: after a slash, a colon or an at sign.
func pieces(name string) (list []string) {
	for {
		at := strings.IndexAny(name, "/:@") + 1
		if at == 0 {
			return append(list, name)
		}
		list, name = append(list, name[:at]), name[at:]
	}
}

// splitPlace divides FILE:LINE before the last part of the name, so that a line of a table
// never ends within it or within the number.
func splitPlace(place string) (file, line string) {
	at := strings.LastIndexByte(place, '/') + 1
	if len(place)-at > maxUnbroken {
		at = max(at, strings.LastIndexByte(place, ':'))
	}
	return place[:at], place[at:]
}

// maxUnbroken is how long the last part of a place may be to stay on one line.
const maxUnbroken = 28

// short is the part of a revision that people compare.
func short(revision string) string { return revision[:min(12, len(revision))] }

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// number writes a number with a comma before each three digits. Numbers below ten keep a
// decimal.
func number(value any) string {
	var n float64
	switch v := value.(type) {
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case uint64:
		n = float64(v)
	case float64:
		if n = v; v > 0 && v < 10 && v != math.Trunc(v) {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
	}
	digits := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// percent writes a share as a percentage with one decimal.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

// micro writes microseconds, with a decimal below ten.
func micro(us float64) string { return number(us) + " µs" }

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "s") {
		one += "e"
	}
	return number(n) + " " + one + "s"
}

// mark is how an outcome looks: never by its colour alone.
type mark struct{ Class, Icon, Word string }

var marks = map[string]mark{
	console.Allow:   {"allow", "check", "Allowed"},
	console.Deny:    {"deny", "cross", "Denied"},
	console.None:    {"none", "minus", "Not allowed"},
	console.Partial: {"warn", "part", "Partly"},
	console.Failed:  {"warn", "warning", "Error"},
	console.Depends: {"warn", "part", "Depends"},
}

func badge(outcome string) mark {
	if m, ok := marks[outcome]; ok {
		return m
	}
	return mark{"none", "minus", outcome}
}

// effect is the badge of what a rule does.
func effect(m *console.Matched) mark {
	if m.Effect == "deny" || m.Kind == "DenyPolicy" {
		return mark{"deny", "cross", "denies"}
	}
	return mark{"allow", "check", "allows"}
}

// lineHref is the address of FILE:LINE; empty if the source has no line.
func lineHref(source string) string {
	file, line, found := cutLast(source, ":")
	if _, err := strconv.Atoi(line); !found || err != nil || strings.Contains(file, "bootstrap:") {
		return ""
	}
	return documentHref(file) + "?line=" + line + "#L" + line
}

func documentHref(file string) string {
	return (&url.URL{Path: "/page/documents/" + file}).EscapedPath()
}

func cutLast(text, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(text, separator); at >= 0 {
		return text[:at], text[at+1:], true
	}
	return text, "", false
}

// named is the kind and the name of a document.
func named(kind, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return kind + " " + name
}

// rule is the number of a rule, or its key, in words.
func rule(index any) string {
	switch v := index.(type) {
	case string:
		return v
	case nil:
		return ""
	case float64:
		return ruleIndex(int(v))
	case int:
		return ruleIndex(v)
	case json.Number:
		n, _ := v.Int64() // -1 for what is not a number is never sent
		return ruleIndex(int(n))
	}
	return fmt.Sprint(index)
}

func ruleIndex(n int) string {
	if n < 0 {
		return ""
	}
	return "rule\u00a0" + strconv.Itoa(n)
}

// groupWords are API groups, with a name for the core group; empty for the core group alone.
func groupWords(groups []string) string {
	if len(groups) == 1 && groups[0] == "" {
		return ""
	}
	words := make([]string, len(groups))
	for i, group := range groups {
		if words[i] = group; group == "" {
			words[i] = "core"
		}
	}
	return strings.Join(words, ", ")
}

// icons are the paths of the icons, on a square of 24.
var icons = map[string]string{
	"overview": "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
	"ask":      "M9 9a3 3 0 1 1 4 2.8c-.7.3-1 .8-1 1.7M12 17.5v.3M12 3a9 9 0 1 0 9 9",
	"matrix":   "M4 5h16M4 12h16M4 19h16M9 5v14M15 5v14",
	"document": "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
	"tree":     "M5 6h4M9 6v12h4M9 12h4M15 4h4v4M15 10h5v4h-5zM15 16h5v4h-5z",
	"changes":  "M7 4v16M7 4L4 7M7 4l3 3M17 20V4M17 20l-3-3M17 20l3-3",
	"log":      "M5 6h2M10 6h9M5 12h2M10 12h9M5 18h2M10 18h9",
	"theme":    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
	"check":    "M4 12.5l5 5L20 6.5",
	"cross":    "M6 6l12 12M18 6L6 18",
	"minus":    "M5 12h14",
	"warning":  "M12 3.5L2 20.5h20zM12 10v5M12 17.6v.3",
	"clock":    "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3.5 2",
	"reach":    "M4 6a2 2 0 1 0 4 0 2 2 0 1 0-4 0M16 18a2 2 0 1 0 4 0 2 2 0 1 0-4 0M8 6h5a3 3 0 0 1 3 3v2M13 9l3 3 3-3",
	"proof":    "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM8.5 11.5l2.5 2.5 4.5-5",
	"part":     "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 3v18",
}

// dict is a map of pairs, for a template that takes several values.
func dict(pairs ...any) map[string]any {
	d := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		d[pairs[i].(string)] = pairs[i+1] //nolint:errcheck,forcetypeassert // templates have literals there
	}
	return d
}

// diffClass is the class of a line of a difference.
func diffClass(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "hit allow"
	case strings.HasPrefix(line, "-"):
		return "hit deny"
	case line == "@":
		return "muted"
	}
	return "same"
}
