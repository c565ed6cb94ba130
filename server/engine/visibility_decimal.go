package engine

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is a number exactly: 0.DIGITS times ten to the power of point. Two of
// them are compared without calculating, which with a number such as 1e999 takes
// OPA so long that sorting many would be a way to keep an engine busy.
type decimal struct {
	sign   int // 0 only of zero, which has neither digits nor point
	point  int
	digits string // without zeros at either end
}

// newDecimal reads a number of JSON, or what numericText lets pass.
func newDecimal(number string) decimal {
	mantissa, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		exponent, _ = strconv.Atoi(mantissa[at+1:]) // a checked number has at most three digits there
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

// plain is the number without an exponent, without zeros that say nothing, and
// without a fraction where it is integral.
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
