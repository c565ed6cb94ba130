package decision

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/writ-policy/writ/internal/limits"
)

// Lines reads lines of JSON: a request with streamed items, which is a line with the
// request without items, then one item a line; or any values, one a line. Blank lines are
// skipped. Lines buffers one line at a time.
type Lines struct {
	// Max is the longest line in bytes.
	Max int
	// Wait, if set, is called before a read that may have to wait for more.
	Wait func() error
	// MaxValues is how many JSON values a line may have; zero is unlimited. Values is
	// charged for the request until Release, and for each item while it is in use.
	MaxValues int
	Values    *limits.Budget

	request  int64 // values of the request, which are charged
	document Document
	in       *bufio.Reader
}

// NewLines returns Lines that read from in, with lines of at most max bytes.
func NewLines(in io.Reader, max int) *Lines {
	return &Lines{Max: max, Values: new(limits.Budget), in: bufio.NewReaderSize(in, 64<<10)}
}

// Request reads the first line, with the labels of its cluster as VisibilityRequest.Read. The error
// for an invalid request is an *InvalidRequest.
func (l *Lines) Request(labels ClusterLabels) (*VisibilityRequest, error) {
	text, err := l.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	value, values, err := l.parse(text)
	if err != nil {
		return nil, err
	}
	l.request = values
	r := new(VisibilityRequest)
	if err := r.Read(value, labels); err != nil {
		return nil, err
	}
	if r.Items != nil {
		return nil, invalid("items", `key "items" must be absent where items follow, one a line`)
	}
	return r, nil
}

// ErrValuesInUse is the error for a line for which Values has too little left.
var ErrValuesInUse = errors.New("too many values in use")

// parse checks and charges a line, whose value is valid until the next one. An error has
// charged nothing.
func (l *Lines) parse(text []byte) (Value, int64, error) {
	value, n, err := ParseInto(&l.document, string(text), l.MaxValues)
	if err != nil {
		return Value{}, 0, err
	}
	if values := int64(n); l.Values.Acquire(values) {
		return value, values, nil
	}
	return Value{}, 0, ErrValuesInUse
}

// Release gives back what the request was charged.
func (l *Lines) Release() {
	l.Values.Release(l.request)
	l.request = 0
}

// Items reads the lines after the first. The error for an invalid item is an
// *InvalidRequest that names the item; any error ends the sequence.
func (l *Lines) Items() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for index := 0; ; index++ {
			text, err := l.next()
			if len(text) == 0 && errors.Is(err, io.EOF) {
				return
			}
			var item Item
			var values int64
			if err == nil || errors.Is(err, io.EOF) {
				item, values, err = l.item(text)
			}
			if e := (*InvalidRequest)(nil); errors.As(err, &e) {
				err = itemError(index, e)
			}
			more := yield(item, err)
			l.Values.Release(values)
			if !more || err != nil {
				return
			}
		}
	}
}

// All reads lines of any JSON values, one at a time: a value is charged, and valid, until the
// next one. The error for a line that is not JSON is an *InvalidRequest, and further lines
// follow; any other error ends the sequence.
func (l *Lines) All() iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for {
			text, err := l.next()
			if len(text) == 0 && errors.Is(err, io.EOF) {
				return
			}
			isLast := err != nil
			var value Value
			var values int64
			if err == nil || errors.Is(err, io.EOF) {
				value, values, err = l.parse(text)
				isLast = isLast || err != nil && !errors.As(err, new(*InvalidRequest))
			}
			more := yield(value, err)
			l.Values.Release(values)
			if !more || isLast {
				return
			}
		}
	}
}

// item reads an item, and returns how many values it was charged.
func (l *Lines) item(text []byte) (Item, int64, error) {
	value, values, err := l.parse(text)
	var item Item
	if err == nil {
		item, err = parseItem(value)
	}
	if errors.Is(err, ErrTooManyValues) {
		err = invalid("", "the item has more than %d values", l.MaxValues)
	}
	return item, values, err
}

// next returns the next line that is not blank. With io.EOF the line is the last one,
// or empty.
func (l *Lines) next() ([]byte, error) {
	for {
		text, err := l.line()
		if text = bytes.TrimSpace(text); len(text) > 0 || err != nil {
			return text, err
		}
	}
}

// line reads up to a line feed. It stops reading a line that is too long.
func (l *Lines) line() ([]byte, error) {
	var text []byte
	for {
		if l.in.Buffered() == 0 && l.Wait != nil {
			if err := l.Wait(); err != nil {
				return nil, err
			}
		}
		part, err := l.in.ReadSlice('\n')
		if len(text)+len(part) > l.Max+1 {
			return nil, invalid("", "the line is longer than %d bytes", l.Max)
		}
		if err == nil && text == nil {
			return part, nil // valid until the next read; the caller decodes it before
		}
		text = append(text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}
