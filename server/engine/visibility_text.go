package engine

import (
	"encoding/json"
	"strconv"
	"strings"
)

// textForm is a field's value as criteria compare it; false for what has none.
// What is missing is the empty text.
func textForm(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return plainNumber(string(v)), true
	}
	return "", false
}

// plainNumber is a number of JSON without an exponent, without zeros that say
// nothing, and without a fraction where it is integral.
func plainNumber(number string) string {
	mantissa, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		exponent, _ = strconv.Atoi(mantissa[at+1:]) // a checked number has at most three digits there
		mantissa = mantissa[:at]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := len(digits) - len(fraction) + exponent // how many digits stand before it
	digits = strings.TrimRight(digits, "0")
	var text string
	switch {
	case digits == "":
		return "0"
	case point <= 0:
		text = "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		text = digits + strings.Repeat("0", point-len(digits))
	default:
		text = digits[:point] + "." + digits[point:]
	}
	if negative {
		return "-" + text
	}
	return text
}
