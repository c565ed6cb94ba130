package visibility

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is an exact number: 0.DIGITS times ten to the power of point. Comparing two
// decimals needs no arithmetic. With a number such as 1e999, arithmetic in OPA is so
// slow that a request could block an engine by having it sort many of them.
type decimal struct {
	sign   int // -1, 0 or 1; zero has neither digits nor point
	point  int
	digits string // without zeros at either end
}

// newDecimal converts a JSON number, or a text that parseNumber accepts.
func newDecimal(number string) decimal {
	mantissa, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		exponent, _ = strconv.Atoi(mantissa[at+1:]) // the exponent has at most three digits
		mantissa = mantissa[:at]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{}
	}
	d := decimal{sign: 1, point: len(digits) - len(fraction) + exponent, digits: strings.TrimRight(digits, "0")}
	if negative {
		d.sign = -1
	}
	return d
}

func (d decimal) compare(other decimal) int {
	if d.sign != other.sign {
		return cmp.Compare(d.sign, other.sign)
	}
	if d.point != other.point {
		return d.sign * cmp.Compare(d.point, other.point)
	}
	return d.sign * strings.Compare(d.digits, other.digits)
}

// plain returns the number without an exponent and without leading or trailing zeros
// that do not change it.
func (d decimal) plain() string {
	var text string
	switch {
	case d.sign == 0:
		return "0"
	case d.point <= 0:
		text = "0." + strings.Repeat("0", -d.point) + d.digits
	case d.point >= len(d.digits):
		text = d.digits + strings.Repeat("0", d.point-len(d.digits))
	default:
		text = d.digits[:d.point] + "." + d.digits[d.point:]
	}
	if d.sign < 0 {
		return "-" + text
	}
	return text
}
