package decision

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Lines reads a request with streamed items: a line of JSON with the request without
// items, then one item a line. Blank lines are skipped. Lines buffers one line at a
// time.
type Lines struct {
	// Max is the longest line in bytes.
	Max int
	// Wait, if set, is called before a read that may have to wait for more.
	Wait func() error

	in *bufio.Reader
}

// NewLines returns Lines that read from in, with lines of at most max bytes.
func NewLines(in io.Reader, max int) *Lines {
	return &Lines{Max: max, in: bufio.NewReaderSize(in, 64<<10)}
}

// Request reads the first line. The error for an invalid request is an
// *InvalidRequest.
func (l *Lines) Request() (*VisibilityRequest, error) {
	text, err := l.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	r, err := DecodeVisibility(text)
	if err != nil {
		return nil, err
	}
	if r.Items != nil {
		return nil, invalid("items", `key "items" must be absent where items follow, one a line`)
	}
	return r, nil
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
			if err == nil || errors.Is(err, io.EOF) {
				item, err = decodeItem(text)
			}
			if e := (*InvalidRequest)(nil); errors.As(err, &e) {
				err = itemError(index, e)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
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
