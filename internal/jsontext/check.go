package jsontext

import (
	"math"
	"sync"
)

// MaxDepth is how deep objects and arrays may nest, unless Limits.Depth is lower.
// A pod with its managed fields has about 15 levels.
const MaxDepth = 128

// Limits adjusts Check. The zero value is the strictest.
type Limits struct {
	Depth         int  // of nesting, from 1 to MaxDepth; 0 is MaxDepth
	LongNumbers   bool // allow numbers beyond MaxNumber and MaxExponent
	DuplicateKeys bool // allow a key twice in an object
	Values        int  // number of values, those of objects and arrays included; 0 is unlimited
}

// Check reports the first reason why data is not one JSON value (RFC 8259) that
// has the same meaning to every reader, or nil: a key twice in an object, invalid
// UTF-8, half of a surrogate pair, text after the value, a value beyond the limits.
// It reads data once and, unless an object has many keys, allocates nothing. It is
// safe for concurrent use.
func Check(data []byte, l Limits) *Error {
	_, err := check(data, l, nil)
	return err
}

// check is Check, and appends the places of the values to nodes unless it is nil. It returns
// the number of values, which is not defined beside an error.
func check(data []byte, l Limits, nodes *[]node) (values int, err *Error) {
	c := checkers.Get().(*checker)
	c.data, c.limits, c.values = data, l, 0
	if l.Depth <= 0 || l.Depth > MaxDepth {
		c.limits.Depth = MaxDepth
	}
	if l.Values <= 0 {
		c.limits.Values = math.MaxInt
	}
	if c.isRecorded = nodes != nil; c.isRecorded {
		c.nodes = *nodes
	}
	err = c.check()
	if c.isRecorded {
		*nodes, c.nodes = c.nodes, nil
	}
	values = c.values
	c.release()
	return values, err
}

var checkers = sync.Pool{New: func() any { return &checker{keys: make([]span, 0, 64)} }}

// release returns the checker to the pool, without data and without buffers that
// only an unusual text needs.
func (c *checker) release() {
	if cap(c.keys) > 4096 {
		return
	}
	c.data, c.keys, c.depth = nil, c.keys[:0], 0
	checkers.Put(c)
}

type checker struct {
	data   []byte
	limits Limits
	// keys are those of all open objects, innermost last.
	keys []span
	// open holds for each open object where its keys begin, -1 for an array.
	open   [MaxDepth]int32
	depth  int
	values int // that have begun
	// nodes are those of the values and keys that have begun, if isRecorded, and within the
	// indexes of those of the open objects and arrays.
	nodes      []node
	within     [MaxDepth]int32
	isRecorded bool
}

func (c *checker) check() *Error {
	i := c.space(0)
	if i == len(c.data) {
		return &Error{Code: Empty, Offset: i}
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
func (c *checker) begin(i int) (end int, opened bool, err *Error) {
	if i == len(c.data) {
		return 0, false, c.fail(ExpectedValue, i)
	}
	if c.values++; c.values > c.limits.Values {
		return 0, false, &Error{Code: TooManyValues, Offset: i}
	}
	from, first := i, kind(c.data[i])
	switch first {
	case '{':
		if err := c.push(i, int32(len(c.keys))); err != nil {
			return 0, false, err
		}
		i = c.space(i + 1)
		if i < len(c.data) && c.data[i] == '}' {
			c.pop(i + 1)
			return i + 1, false, nil
		}
		i, err = c.key(i)
		return i, true, err
	case '[':
		if err := c.push(i, -1); err != nil {
			return 0, false, err
		}
		i = c.space(i + 1)
		if i < len(c.data) && c.data[i] == ']' {
			c.pop(i + 1)
			return i + 1, false, nil
		}
		return i, true, nil
	case '"':
		end, first, err = c.checkText(i)
	case 't':
		end, err = c.literal(i, "true")
	case 'f':
		end, err = c.literal(i, "false")
	case 'n':
		end, err = c.literal(i, "null")
	default:
		end, err = c.number(i)
	}
	c.record(from, end, first)
	return end, false, err
}

// record records a scalar or a key.
func (c *checker) record(from, end int, k kind) {
	if c.isRecorded {
		c.nodes = append(c.nodes, node{uint32(from), uint32(end), uint32(len(c.nodes)) + 1, k})
	}
}

// after reads what follows a value: the ends of the objects and arrays it was the
// last value of, and the text up to the next value. A negative index is the end of
// the data.
func (c *checker) after(i int) (int, *Error) {
	for {
		i = c.space(i)
		if c.depth == 0 {
			if i != len(c.data) {
				return 0, &Error{Code: TrailingText, Offset: i}
			}
			return -1, nil
		}
		first := c.open[c.depth-1]
		b := c.at(i)
		switch {
		case b == ',' && first >= 0:
			return c.key(c.space(i + 1))
		case b == ',':
			return c.space(i + 1), nil
		case b == '}' && first >= 0:
			if err := c.distinct(c.keys[first:]); err != nil {
				return 0, err
			}
			c.keys = c.keys[:first]
		case b == ']' && first < 0:
		case first >= 0:
			return 0, c.fail(ExpectedBrace, i)
		default:
			return 0, c.fail(ExpectedBracket, i)
		}
		i++
		c.pop(i)
	}
}

// push opens the object or array at i.
func (c *checker) push(i int, first int32) *Error {
	if c.depth == c.limits.Depth {
		return &Error{Code: TooDeep, Offset: i}
	}
	c.open[c.depth], c.within[c.depth] = first, int32(len(c.nodes))
	c.record(i, i, kind(c.data[i]))
	c.depth++
	return nil
}

// pop closes the innermost object or array, which ends at i.
func (c *checker) pop(i int) {
	if c.depth--; c.isRecorded {
		n := &c.nodes[c.within[c.depth]]
		n.end, n.next = uint32(i), uint32(len(c.nodes))
	}
}
