package decision

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// MaxDepth is how deeply objects and arrays of a body may nest. A pod with its
// managed fields has about 15 levels.
const MaxDepth = 128

// CheckJSON says whether data is one JSON value that means the same to every
// reader: no key twice in an object, no bytes that are no UTF-8, no lone
// surrogate, nothing after the value, not nested deeper than MaxDepth. The error
// is an *InvalidRequest. It reads the data once and, unless an object has many
// keys, allocates nothing.
func CheckJSON(data []byte) error {
	c := checkers.Get().(*checker)
	c.data = data
	err := c.check()
	c.release()
	if err != nil {
		return err
	}
	return nil
}

var checkers = sync.Pool{New: func() any { return &checker{keys: make([]span, 0, 64)} }}

// release gives the checker back, without the body and without the room that
// only a strange body needs.
func (c *checker) release() {
	if cap(c.keys) > 4096 {
		return
	}
	c.data, c.keys, c.depth = nil, c.keys[:0], 0
	checkers.Put(c)
}

// span is where the inside of a key stands in the data.
type span struct {
	from, to int
	escaped  bool
}

type checker struct {
	data []byte
	// keys are those of all open objects, innermost last.
	keys []span
	// open holds for each open object where its keys begin, -1 for an array.
	open  [MaxDepth]int32
	depth int
}

func (c *checker) check() *InvalidRequest {
	i := c.space(0)
	if i == len(c.data) {
		return invalid("", "the body is empty")
	}
	for {
		end, opened, err := c.begin(i)
		if err != nil {
			return err
		}
		if opened {
			i = end
			continue
		}
		if i, err = c.after(end); err != nil || i < 0 {
			return err
		}
	}
}

// begin reads the value at i: whole if it is a scalar or empty, and otherwise
// up to its first value within, in which case opened is true.
func (c *checker) begin(i int) (end int, opened bool, err *InvalidRequest) {
	if i == len(c.data) {
		return 0, false, c.syntax(i)
	}
	switch c.data[i] {
	case '{':
		if err := c.push(int32(len(c.keys))); err != nil {
			return 0, false, err
		}
		i = c.space(i + 1)
		if i < len(c.data) && c.data[i] == '}' {
			c.depth--
			return i + 1, false, nil
		}
		i, err = c.key(i)
		return i, true, err
	case '[':
		if err := c.push(-1); err != nil {
			return 0, false, err
		}
		i = c.space(i + 1)
		if i < len(c.data) && c.data[i] == ']' {
			c.depth--
			return i + 1, false, nil
		}
		return i, true, nil
	case '"':
		end, _, err = c.text(i)
	case 't':
		end, err = c.literal(i, "true")
	case 'f':
		end, err = c.literal(i, "false")
	case 'n':
		end, err = c.literal(i, "null")
	default:
		end, err = c.number(i)
	}
	return end, false, err
}

// after reads what follows a value: the ends of what it was the last of, and
// the way to the next one. A negative index is the end of the data.
func (c *checker) after(i int) (int, *InvalidRequest) {
	for {
		i = c.space(i)
		if c.depth == 0 {
			if i != len(c.data) {
				return 0, invalid("", "the body goes on after its JSON value, at byte %d", i)
			}
			return -1, nil
		}
		if i == len(c.data) {
			return 0, c.syntax(i)
		}
		first := c.open[c.depth-1]
		switch {
		case c.data[i] == ',' && first >= 0:
			return c.key(c.space(i + 1))
		case c.data[i] == ',':
			return c.space(i + 1), nil
		case c.data[i] == '}' && first >= 0:
			if err := c.distinct(c.keys[first:]); err != nil {
				return 0, err
			}
			c.keys = c.keys[:first]
		case c.data[i] == ']' && first < 0:
		default:
			return 0, c.syntax(i)
		}
		c.depth--
		i++
	}
}

func (c *checker) push(first int32) *InvalidRequest {
	if c.depth == MaxDepth {
		return invalid("", "the body nests deeper than %d levels", MaxDepth)
	}
	c.open[c.depth] = first
	c.depth++
	return nil
}

// key reads a key and its colon, and returns where the value begins.
func (c *checker) key(i int) (int, *InvalidRequest) {
	if i == len(c.data) || c.data[i] != '"' {
		return 0, c.syntax(i)
	}
	end, escaped, err := c.text(i)
	if err != nil {
		return 0, err
	}
	c.keys = append(c.keys, span{i + 1, end - 1, escaped})
	if end = c.space(end); end == len(c.data) || c.data[end] != ':' {
		return 0, c.syntax(end)
	}
	return c.space(end + 1), nil
}

// distinct refuses keys that are not. Few are compared with each other, many
// are looked up: a body of nothing but keys must not cost the square of its
// size. Nor are escapes resolved more often than once.
func (c *checker) distinct(keys []span) *InvalidRequest {
	lookUp := len(keys) > 16
	for i, key := range keys {
		lookUp = lookUp || key.escaped
		if lookUp {
			break
		}
		text := c.data[key.from:key.to]
		for _, earlier := range keys[:i] {
			if bytes.Equal(c.data[earlier.from:earlier.to], text) {
				return twice(string(text))
			}
		}
	}
	if !lookUp {
		return nil
	}
	seen := make(map[string]struct{}, len(keys))
	for _, key := range keys {
		text := unescape(string(c.data[key.from:key.to]))
		if _, ok := seen[text]; ok {
			return twice(text)
		}
		seen[text] = struct{}{}
	}
	return nil
}

func twice(key string) *InvalidRequest {
	return invalid(key, "key %s occurs twice in one object", shown(key))
}

func (c *checker) literal(i int, want string) (int, *InvalidRequest) {
	if len(c.data)-i < len(want) || string(c.data[i:i+len(want)]) != want {
		return 0, c.syntax(i)
	}
	return i + len(want), nil
}

// Bounds of a number. A policy may calculate with it, and a short text like
// 1e999999999 stands for a number of a billion digits.
const (
	maxNumber   = 128 // characters
	maxExponent = 3   // digits
)

func (c *checker) number(i int) (int, *InvalidRequest) {
	begin := i
	if c.at(i) == '-' {
		i++
	}
	from := i
	if c.at(i) == '0' {
		i++
	} else if i = c.digits(i); i == from {
		return 0, c.syntax(i)
	}
	if c.at(i) == '.' {
		from = i + 1
		if i = c.digits(from); i == from {
			return 0, c.syntax(i)
		}
	}
	if b := c.at(i); b == 'e' || b == 'E' {
		i++
		if b := c.at(i); b == '+' || b == '-' {
			i++
		}
		from = i
		if i = c.digits(from); i == from {
			return 0, c.syntax(i)
		}
		if i-from > maxExponent {
			return 0, invalid("", "a number's exponent has more than %d digits, at byte %d", maxExponent, begin)
		}
	}
	if i-begin > maxNumber {
		return 0, invalid("", "a number has more than %d characters, at byte %d", maxNumber, begin)
	}
	return i, nil
}

func (c *checker) digits(i int) int {
	for b := c.at(i); '0' <= b && b <= '9'; b = c.at(i) {
		i++
	}
	return i
}

// at is the byte at i, zero past the end: no JSON holds a zero byte.
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

func (c *checker) syntax(i int) *InvalidRequest {
	if i >= len(c.data) {
		return invalid("", "the body is no JSON: it ends too early")
	}
	if c.data[i] >= utf8.RuneSelf && !utf8.Valid(c.data[i:min(i+utf8.UTFMax, len(c.data))]) {
		if r, size := utf8.DecodeRune(c.data[i:]); r == utf8.RuneError && size == 1 {
			return invalid("", "the body is not UTF-8, at byte %d", i)
		}
	}
	return invalid("", "the body is no JSON, at byte %d", i)
}
