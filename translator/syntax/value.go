package syntax

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// Value converts a node to a JSON value: strings, booleans, nil, json.Number, []any and
// map[string]any. It reports a value that JSON cannot represent and returns false.
func (d *Decoder) Value(n *Node) (any, bool) {
	switch n.Type {
	case null:
		return nil, true
	case Boolean:
		return Fold(n.Value) == "true", true
	case Integer, float:
		return d.number(n)
	case String:
		return n.Value, true
	case List:
		out, ok := make([]any, len(n.Items)), true
		for i, item := range n.Items {
			v, fine := d.Value(item)
			out[i], ok = v, ok && fine
		}
		return out, ok
	default:
		out, ok := make(map[string]any, len(n.Fields)), true
		for _, f := range n.Fields {
			v, fine := d.Value(f.Value)
			out[f.Key.Value], ok = v, ok && fine
		}
		return out, ok
	}
}

// number converts a YAML number to a JSON number.
func (d *Decoder) number(n *Node) (any, bool) {
	if d.hasLeadingZero(n) {
		return nil, false
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case jsonNumber.MatchString(n.Value):
		if err != nil || math.IsInf(f, 0) {
			break
		}
		return json.Number(n.Value), true
	case n.Type == Integer:
		if i, ok := new(big.Int).SetString(strings.TrimPrefix(n.Value, "+"), integerBase(n.Value)); ok && len(n.Value) < 400 {
			return json.Number(i.String()), true
		}
	case err == nil && !math.IsInf(f, 0) && !math.IsNaN(f):
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
	}
	d.Fail(n, diag.BadValue, "", "number %s cannot be represented in JSON", Quote(n.Value))
	return nil, false
}

// MaxInteger is the largest integer that every JSON reader represents exactly.
const MaxInteger = 1<<53 - 1

// Integer reads an integer between least and most; name is the field's.
func (d *Decoder) Integer(n *Node, name string, least, most int) (int, bool) {
	if n.Type != Integer {
		hint := ""
		if n.Type == String && integerForm.MatchString(n.Value) {
			hint = "write it without quotes: " + n.Value
		}
		d.Fail(n, diag.WrongType, hint, "%s must be an integer, not %s", name, Describe(n))
		return 0, false
	}
	if d.hasLeadingZero(n) {
		return 0, false
	}
	value, err := strconv.ParseInt(strings.TrimPrefix(n.Value, "+"), integerBase(n.Value), 64)
	below := strings.HasPrefix(n.Value, "-") // of a number that does not fit
	switch {
	case err != nil && !below || value > int64(most):
		d.Fail(n, diag.BadValue, "", "%s %s is above %d", name, Quote(n.Value), most)
	case err != nil || value < int64(least):
		d.Fail(n, diag.BadValue, "", "%s %s is below %d", name, Quote(n.Value), least)
	default:
		return int(value), true
	}
	return 0, false
}

// leadingZero matches an integer that YAML 1.2 reads as decimal, and YAML 1.1 as octal.
var leadingZero = regexp.MustCompile(`^[-+]?0[0-9]+$`)

// hasLeadingZero reports an integer with a leading zero, and whether n is one: an API server reads
// YAML 1.1.
func (d *Decoder) hasLeadingZero(n *Node) bool {
	if n.Type != Integer || !leadingZero.MatchString(n.Value) {
		return false
	}
	d.Fail(n, diag.BadValue, "write a decimal number without leading zeros",
		"number %s has a leading zero: some readers take it for octal", Quote(n.Value))
	return true
}

// integerBase returns the base for strconv: 0 for a number with a prefix, else 10.
func integerBase(value string) int {
	if strings.HasPrefix(value, "0x") || strings.HasPrefix(value, "0o") {
		return 0
	}
	return 10
}

// Encoded returns the JSON text of a node. It reports a value that JSON cannot represent
// and returns nil.
func (d *Decoder) Encoded(n *Node) []byte {
	v, ok := d.Value(n)
	if !ok {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		d.Fail(n, diag.BadValue, "", "%s cannot be represented in JSON: %v", Describe(n), err)
		return nil
	}
	return out
}
