package jsontext

import (
	"bytes"
)

// span is where the inside of a key stands in data.
type span struct {
	from, to int
	escaped  bool
}

// key reads a key and its colon, and returns where the value begins.
func (c *checker) key(i int) (int, *Error) {
	if c.at(i) != '"' {
		return 0, c.fail(ExpectedKey, i)
	}
	end, k, err := c.checkText(i)
	if err != nil {
		return 0, err
	}
	c.keys = append(c.keys, span{i + 1, end - 1, k == escapedText})
	c.record(i, end, k)
	if end = c.space(end); c.at(end) != ':' {
		return 0, c.fail(ExpectedColon, end)
	}
	return c.space(end + 1), nil
}

// distinct rejects a key that occurs twice. Few keys are compared with each other,
// many are looked up: a text of nothing but keys must not cost the square of its
// size. Escapes are resolved once.
func (c *checker) distinct(keys []span) *Error {
	if c.limits.DuplicateKeys {
		return nil
	}
	lookUp := len(keys) > 16
	var likes uint64 // a bit for a length and a first letter: most keys differ in them
	for i, key := range keys {
		lookUp = lookUp || key.escaped
		if lookUp {
			break
		}
		text := c.data[key.from:key.to]
		bit := uint64(1) << ((uint(len(text)) + 7*uint(c.data[key.from])) % 64)
		if likes&bit == 0 {
			likes |= bit
			continue
		}
		for _, earlier := range keys[:i] {
			if bytes.Equal(c.data[earlier.from:earlier.to], text) {
				return duplicate(key, string(text))
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
			return duplicate(key, text)
		}
		seen[text] = struct{}{}
	}
	return nil
}

func duplicate(key span, text string) *Error {
	return &Error{Code: DuplicateKey, Offset: key.from - 1, Key: text}
}
