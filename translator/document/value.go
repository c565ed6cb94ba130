package document

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

// value turns a node into a JSON value: strings, booleans, nil, json.Number,
// []any and map[string]any. What JSON cannot say is reported.
func (d *decoder) value(n *node) (any, bool) {
	switch n.kind {
	case null:
		return nil, true
	case boolean:
		return fold(n.value) == "true", true
	case integer, float:
		return d.number(n)
	case text:
		return n.value, true
	case list:
		out, ok := make([]any, len(n.items)), true
		for i, item := range n.items {
			v, fine := d.value(item)
			out[i], ok = v, ok && fine
		}
		return out, ok
	default:
		out, ok := make(map[string]any, len(n.fields)), true
		for _, f := range n.fields {
			v, fine := d.value(f.value)
			out[f.key.value], ok = v, ok && fine
		}
		return out, ok
	}
}

// number writes a number of YAML as JSON has it.
func (d *decoder) number(n *node) (any, bool) {
	f, err := strconv.ParseFloat(n.value, 64)
	switch {
	case jsonNumber.MatchString(n.value):
		if err != nil || math.IsInf(f, 0) {
			break
		}
		return json.Number(n.value), true
	case n.kind == integer:
		if i, ok := new(big.Int).SetString(strings.TrimPrefix(n.value, "+"), integerBase(n.value)); ok && len(n.value) < 400 {
			return json.Number(i.String()), true
		}
	case err == nil && !math.IsInf(f, 0) && !math.IsNaN(f):
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
	}
	d.fail(n, diag.BadValue, "", "number %s is none of JSON's", quote(n.value))
	return nil, false
}

// maxInteger is the largest integer that every reader of JSON holds exactly.
const maxInteger = 1<<53 - 1

// integer reads an integer between least and most; name is the field's.
func (d *decoder) integer(n *node, name string, least, most int) (int, bool) {
	if n.kind != integer {
		hint := ""
		if n.kind == text && integerForm.MatchString(n.value) {
			hint = "write it without quotes: " + n.value
		}
		d.fail(n, diag.WrongType, hint, "%s is an integer, this is %s", name, describe(n))
		return 0, false
	}
	value, err := strconv.ParseInt(strings.TrimPrefix(n.value, "+"), integerBase(n.value), 64)
	below := strings.HasPrefix(n.value, "-") // of a number that does not fit
	switch {
	case err != nil && !below || value > int64(most):
		d.fail(n, diag.BadValue, "", "%s %s is above %d", name, quote(n.value), most)
	case err != nil || value < int64(least):
		d.fail(n, diag.BadValue, "", "%s %s is below %d", name, quote(n.value), least)
	default:
		return int(value), true
	}
	return 0, false
}

// integerBase is 0, which reads a prefix, unless a leading zero would then mean
// octal: in YAML 1.2 it means nothing.
func integerBase(value string) int {
	if strings.HasPrefix(value, "0x") || strings.HasPrefix(value, "0o") {
		return 0
	}
	return 10
}

// encoded is value as JSON text, nil where it has none.
func (d *decoder) encoded(n *node) []byte {
	v, ok := d.value(n)
	if !ok {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		d.fail(n, diag.BadValue, "", "%s is none of JSON's values: %v", describe(n), err)
		return nil
	}
	return out
}
