package jsontext

import "unicode/utf8"

// MaxNumber and MaxExponent bound a number, in characters and in digits. A policy
// may calculate with a number, and a short text like 1e999999999 stands for one of
// a billion digits.
const (
	MaxNumber   = 128
	MaxExponent = 3
)

func (c *checker) literal(i int, want string) (int, *Error) {
	if len(c.data)-i < len(want) || string(c.data[i:i+len(want)]) != want {
		return 0, c.fail(ExpectedValue, i)
	}
	return i + len(want), nil
}

func (c *checker) number(i int) (int, *Error) {
	begin := i
	if c.at(i) == '-' {
		i++
	} else if b := c.at(i); b < '0' || '9' < b {
		return 0, c.fail(ExpectedValue, i)
	}
	from := i
	if c.at(i) == '0' {
		i++
	} else if i = c.digits(i); i == from {
		return 0, c.fail(ExpectedDigit, i)
	}
	if c.at(i) == '.' {
		from = i + 1
		if i = c.digits(from); i == from {
			return 0, c.fail(ExpectedDigit, i)
		}
	}
	exponent := 0
	if b := c.at(i); b == 'e' || b == 'E' {
		i++
		if b := c.at(i); b == '+' || b == '-' {
			i++
		}
		from = i
		if i = c.digits(from); i == from {
			return 0, c.fail(ExpectedDigit, i)
		}
		exponent = i - from
	}
	switch {
	case c.limits.LongNumbers:
	case exponent > MaxExponent:
		return 0, &Error{Code: ExponentTooLong, Offset: begin}
	case i-begin > MaxNumber:
		return 0, &Error{Code: NumberTooLong, Offset: begin}
	}
	return i, nil
}

func (c *checker) digits(i int) int {
	for b := c.at(i); '0' <= b && b <= '9'; b = c.at(i) {
		i++
	}
	return i
}

// at is the byte at i, zero past the end: JSON has no zero byte.
func (c *checker) at(i int) byte {
	if i < len(c.data) {
		return c.data[i]
	}
	return 0
}

func (c *checker) space(i int) int {
	for i < len(c.data) && isSpace(c.data[i]) {
		i++
	}
	return i
}

// fail returns an error of code at i, unless the cause is a byte that is not UTF-8.
func (c *checker) fail(code Code, i int) *Error {
	if i < len(c.data) {
		if r, size := utf8.DecodeRune(c.data[i:]); r == utf8.RuneError && size == 1 {
			code = InvalidUTF8
		}
	}
	return &Error{Code: code, Offset: i}
}
