package cel

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// writer writes random expressions, most of them of types that fit.
type writer struct {
	*rand.Rand
	locals []string
}

func (w *writer) pick(options ...string) string { return options[w.IntN(len(options))] }

// dyn is what is read from the request, or of a macro's variable.
func (w *writer) dyn(depth int) string {
	var out string
	if len(w.locals) > 0 && w.IntN(2) == 0 {
		out = w.pick(w.locals...)
	} else {
		out = w.pick("request", "auth", "source") + "." + w.pick(keys...)
	}
	for w.IntN(3) == 0 {
		switch {
		case depth > 0 && w.IntN(6) == 0:
			out += "[" + w.any(depth-1) + "]"
		case w.IntN(4) == 0:
			out += fmt.Sprintf("[%d]", w.IntN(4)-1)
		case w.IntN(4) == 0:
			out += "['" + w.pick(keys...) + "']"
		default:
			out += "." + w.pick(keys...)
		}
	}
	return out
}

var keys = []string{"a", "b", "c", "d"}

func (w *writer) any(depth int) string {
	switch w.IntN(9) {
	case 0:
		return w.bool(depth)
	case 1, 2:
		return w.int(depth)
	case 3:
		return w.double(depth)
	case 4, 5:
		return w.text(depth)
	case 6:
		return w.list(depth)
	case 7:
		return w.mapping(depth)
	}
	return w.dyn(depth)
}

// element is what stands in a list or a map: no double, which among elements of other
// types counts as an int if it is whole.
func (w *writer) element(depth int) string {
	switch w.IntN(6) {
	case 0:
		return w.bool(depth)
	case 1:
		return w.int(depth)
	case 2:
		return w.text(depth)
	case 3:
		return w.list(depth)
	case 4:
		return w.mapping(depth)
	}
	return w.dyn(depth)
}

func (w *writer) bool(depth int) string {
	if depth <= 0 {
		return w.pick("true", "false", w.dyn(0), w.dyn(0))
	}
	d := depth - 1
	switch w.IntN(28) {
	case 24, 25, 26, 27:
		return w.plain()
	case 22:
		return w.time(d) + w.pick(comparisons...) + w.time(d)
	case 23:
		return w.lasting(d) + w.pick(comparisons...) + w.lasting(d)
	case 0, 1, 2:
		return "(" + w.bool(d) + " && " + w.bool(d) + ")"
	case 3, 4, 5:
		return "(" + w.bool(d) + " || " + w.bool(d) + ")"
	case 6:
		return "!(" + w.bool(d) + ")"
	case 7:
		return "(" + w.bool(d) + " ? " + w.bool(d) + " : " + w.bool(d) + ")"
	case 8, 9:
		return w.pick("dyn("+w.any(d)+")", w.dyn(d)) + w.pick(" == ", " != ") + w.any(d)
	case 10:
		return w.int(d) + w.pick(comparisons...) + w.int(d)
	case 11:
		return w.text(d) + w.pick(comparisons...) + w.text(d)
	case 12:
		return w.dyn(d) + w.pick(comparisons...) + w.any(d)
	case 13:
		return w.any(d) + " in " + w.pick(w.list(d), w.mapping(d), w.dyn(d))
	case 14:
		return "has(" + w.dyn(d) + "." + w.pick(keys...) + ")"
	case 15:
		return w.text(d) + "." + w.pick("startsWith", "endsWith", "contains") + "(" + w.text(d) + ")"
	case 16:
		return w.text(d) + ".matches(" + w.pick("'^[a-c]'", "'a+'", "'[' + ''", "''", "'é$'") + ")"
	case 17, 18:
		return w.macro(w.pick("all", "exists", "exists_one"), d, w.bool)
	case 19:
		return "type(" + w.any(d) + ") == " + w.pick("int", "string", "double", "bool", "list", "map", "null_type", "type")
	case 20:
		return "bool(" + w.pick("'true'", "'x'", w.dyn(d)) + ")"
	}
	return w.double(d) + w.pick(comparisons...) + w.double(d)
}

// plain is what is compiled to Rego's own words.
func (w *writer) plain() string {
	path := w.pick("request", "auth", "source", "metadata")
	for range w.IntN(4) {
		path += "." + w.pick(keys...)
	}
	literal := w.pick("'a'", "''", "'abc'", "0", "1", "-1", "0.5", "3.0", "true", "null", "2", "'true'")
	switch w.IntN(6) {
	case 0:
		return path + w.pick(comparisons...) + literal
	case 1:
		return literal + w.pick(" == ", " != ") + path
	case 2:
		return "has(" + path + "." + w.pick(keys...) + ")"
	case 3:
		return path + "." + w.pick("startsWith", "endsWith", "contains", "matches") + "(" + w.pick("'a'", "''", "'bc'") + ")"
	case 4:
		return literal + " in " + path
	}
	return path + " in ['a', " + literal + ", 1]"
}

var comparisons = []string{" < ", " <= ", " > ", " >= ", " == ", " != "}

// macro is one with a variable of its own, or one that shadows another. cel-go goes
// through the keys of a map as they are written, and here they are sorted.
func (w *writer) macro(name string, depth int, body func(int) string) string {
	collection := w.pick(w.list(depth), w.list(depth), w.dyn(depth), "{'a': "+w.element(depth)+"}")
	variable := w.pick("x", "y", "z", "k")
	before := w.locals
	w.locals = append(slices.Clip(w.locals), variable)
	said := body(depth)
	w.locals = before
	return collection + "." + name + "(" + variable + ", " + said + ")"
}

func (w *writer) int(depth int) string {
	if depth <= 0 {
		return w.pick("0", "1", "2", "-1", "3", "9223372036854775807", "-9223372036854775808", w.dyn(0), w.dyn(0), w.dyn(0))
	}
	d := depth - 1
	switch w.IntN(10) {
	case 7:
		return w.pick(w.time(d), w.time(d), w.lasting(d)) + "." + w.pick("getFullYear", "getMonth", "getDate", "getDayOfMonth",
			"getDayOfYear", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds") +
			"(" + w.pick("", "", "'UTC'", "'+02:00'", "'-03:30'", "'11:15'") + ")"
	case 8:
		return "int(" + w.pick(w.time(d), w.lasting(d)) + ")"
	case 0, 1:
		return "(" + w.int(d) + w.pick(" + ", " - ", " * ", " / ", " % ") + w.int(d) + ")"
	case 2:
		return "size(" + w.pick(w.text(d), w.list(d), w.mapping(d), w.dyn(d)) + ")"
	case 3:
		return "int(" + w.pick("'12'", "'-7'", "'+3'", "'x'", "'-007'", "'08'", "'99999999999999999999'", "2.5", "-2.5", w.dyn(d)) + ")"
	case 4:
		return w.text(d) + "." + w.pick("indexOf("+w.text(d)+")", "indexOf("+w.text(d)+", "+w.int(d)+")", "lastIndexOf("+w.text(d)+")")
	case 5:
		return "-(" + w.int(d) + ")"
	case 6:
		return "(" + w.bool(d) + " ? " + w.int(d) + " : " + w.int(d) + ")"
	}
	return w.int(0)
}

// double keeps to numbers that are exact in binary and decimal: doubles are
// computed in decimal.
func (w *writer) double(depth int) string {
	if depth <= 0 {
		return w.pick("0.5", "1.0", "-0.25", "2.0", w.dyn(0), w.dyn(0))
	}
	d := depth - 1
	switch w.IntN(5) {
	case 0, 1:
		return "(" + w.double(d) + w.pick(" + ", " - ", " * ") + w.double(d) + ")"
	case 2:
		return "(" + w.double(d) + " / " + w.pick("0.5", "2.0", "-4.0") + ")"
	case 3:
		return "double(" + w.pick("'1.5'", "'-2'", "'x'", "'+.5'", "'07.'", "'1e7'", "'1.5e18'", "'1e2'", "'-05.0E-1'", "2", w.dyn(d)) + ")"
	}
	return "[" + w.pick("0.5", "2.0") + ", double(" + w.int(d) + ")]" + w.pick("[0]", "[1]")
}

func (w *writer) text(depth int) string {
	if depth <= 0 {
		return w.pick("''", "'a'", "'aa'", "'aaa'", "'b'", "'abcA AB'", "'é'", "'a,b'", "' a '", `'\u2028"\\'`, w.dyn(0), w.dyn(0), w.dyn(0))
	}
	d := depth - 1
	switch w.IntN(12) {
	case 0, 1:
		return "(" + w.text(d) + " + " + w.text(d) + ")"
	case 2:
		return w.text(d) + "." + w.pick("lowerAscii", "upperAscii", "trim", "reverse") + "()"
	case 3:
		return w.text(d) + ".replace(" + w.text(d) + ", " + w.text(d) + w.pick("", ", "+w.int(d)) + ")"
	case 4:
		return w.text(d) + ".substring(" + w.int(d) + w.pick("", ", "+w.int(d)) + ")"
	case 5:
		return w.text(d) + ".charAt(" + w.int(d) + ")"
	case 6:
		return w.pick(w.list(d), "["+w.text(d)+", "+w.text(d)+"]") + ".join(" + w.pick("", w.text(d)) + ")"
	case 7:
		return "string(" + w.any(d) + ")"
	case 8:
		return "(" + w.bool(d) + " ? " + w.text(d) + " : " + w.text(d) + ")"
	case 9:
		return "string(" + w.pick(w.time(d), w.lasting(d)) + ")"
	}
	return w.text(0)
}

// time is a timestamp. One that is written with an offset keeps it in cel-go, and
// here stands in UTC, so that none of them is written out.
func (w *writer) time(depth int) string {
	if depth <= 0 {
		return "timestamp('' + " + w.pick(
			"'2024-02-29T10:30:00Z'", "'1969-12-31T23:59:58.25Z'", "'9999-12-31T23:59:59.999999999Z'", "'0001-01-01T00:00:00Z'",
			"'2100-02-29T00:00:00Z'", "'2024-13-01T00:00:00Z'", "'2024-01-01t00:00:00Z'", "'1582-10-15T07:08:09.000001Z'",
			"'2024-06-30T23:59:60Z'", "'now'", w.dyn(0),
		) + ")"
	}
	switch w.IntN(5) {
	case 4:
		return "timestamp(" + w.pick("0", "1700000000", "-1", w.dyn(0)) + ")"
	case 0:
		return "(" + w.time(depth-1) + w.pick(" + ", " - ") + w.lasting(depth-1) + ")"
	case 1:
		return fmt.Sprintf("timestamp('' + '%04d-%02d-%02dT%02d:%02d:%02dZ')", w.IntN(9999)+1, w.IntN(12)+1, w.IntN(31)+1, w.IntN(24), w.IntN(60), w.IntN(60))
	}
	return w.time(0)
}

// lasting is a duration.
func (w *writer) lasting(depth int) string {
	if depth <= 0 {
		return "duration('' + " + w.pick(
			"'1s'", "'-1.5h'", "'1h30m'", "'100ms'", "'0'", "'3us'", "'.5s'", "'1.s'", "'2562047h'", "'9999999h'", "'1d'", "''", "'s'",
			"'1'", "'7µs'", "'1.000000001s'", w.dyn(0),
		) + ")"
	}
	switch w.IntN(5) {
	case 0:
		return "(" + w.lasting(depth-1) + w.pick(" + ", " - ") + w.lasting(depth-1) + ")"
	case 1:
		return "(" + w.time(depth-1) + " - " + w.time(depth-1) + ")"
	}
	return w.lasting(0)
}

func (w *writer) list(depth int) string {
	if depth <= 0 {
		return w.pick("[]", "[1, 2]", "['a', 'b']", "[1, 'a', null, 0.5]", w.dyn(0), w.dyn(0))
	}
	d := depth - 1
	switch w.IntN(8) {
	case 0, 1:
		return w.macro("map", d, w.element)
	case 2:
		return w.macro("filter", d, w.bool)
	case 3:
		return w.macro("map", d, func(int) string { return w.bool(d) + ", " + w.element(d) })
	case 4:
		return w.text(d) + ".split(" + w.text(d) + w.pick("", ", "+w.int(d)) + ")"
	case 5:
		return "(" + w.list(d) + " + " + w.list(d) + ")"
	}
	items := make([]string, w.IntN(4))
	for i := range items {
		items[i] = w.element(d)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (w *writer) mapping(depth int) string {
	if depth <= 0 {
		return w.pick("{}", "{'a': 1}", "{'b': 'x'}", w.dyn(0))
	}
	entries := make([]string, w.IntN(2+w.IntN(2)))
	for i := range entries {
		key := w.pick("'a'", "'b'", "'c'", "string("+w.dyn(0)+")", "1", "true", "size("+w.dyn(0)+")")
		entries[i] = key + ": " + w.element(depth-1)
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// json is a random value of a request.
func (w *writer) json(depth int) any {
	if depth > 0 && w.IntN(2) == 0 {
		if w.IntN(2) == 0 {
			out := make([]any, w.IntN(4))
			for i := range out {
				out[i] = w.json(depth - 1)
			}
			return out
		}
		return w.object(depth)
	}
	return []any{
		true, false, nil, 0, 1, json.Number("2.0"), -1, json.Number("1e0"), 0.5, -0.25, 2.5, "a", "b", "", "abc", "é", "12", "true", "1.5",
		4611686018427387904, 1e18,
	}[w.IntN(21)]
}

func (w *writer) object(depth int) map[string]any {
	out := map[string]any{}
	for _, key := range keys {
		if w.IntN(4) > 0 {
			out[key] = w.json(depth - 1)
		}
	}
	return out
}

func (w *writer) request() map[string]any {
	out := map[string]any{"request": w.object(3), "auth": w.object(3)}
	if w.IntN(4) > 0 {
		out["source"] = w.object(2)
	}
	return out
}
