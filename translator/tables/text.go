package tables

import (
	"bytes"
	"crypto/sha256"
	"io"
)

// Text is JSON in parts. Texts of maps share the parts of the rows that they have in common, and
// their hashes, so that hashing the text after a change costs what has changed. The text of rows
// is not kept, because few readers want it, and it is larger than the rows. The zero value is
// empty. It must not be modified.
type Text struct{ parts []part }

// part is a part of a text: the text, or a line.
type part struct {
	text []byte
	line *line
}

// line is a text without a line end, which the parts beside it end. It is written anew for each
// reader.
type line struct {
	sum    [sha256.Size]byte
	length int
	of     interface{ writeLine(out *bytes.Buffer) }
}

// TextOf returns a text in one part.
func TextOf(text []byte) Text { return Text{[]part{{text: text}}} }

// with returns a text with more behind it.
func (t Text) with(text []byte) Text { return Text{append(t.parts, part{text: text})} }

// JoinText returns the texts one after another.
func JoinText(texts ...Text) Text {
	var all Text
	for _, t := range texts {
		all.parts = append(all.parts, t.parts...)
	}
	return all
}

// Len returns the number of bytes.
func (t Text) Len() (n int) {
	for _, p := range t.parts {
		if n += len(p.text); p.line != nil {
			n += p.line.length
		}
	}
	return n
}

// WriteTo implements io.WriterTo.
func (t Text) WriteTo(w io.Writer) (n int64, err error) {
	var made bytes.Buffer
	for _, p := range t.parts {
		text := p.text
		if p.line != nil {
			made.Reset()
			p.line.of.writeLine(&made)
			text = made.Bytes()
		}
		written, err := w.Write(text)
		if n += int64(written); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Bytes returns the whole text, a copy unless it has one part.
func (t Text) Bytes() []byte {
	if len(t.parts) == 1 && t.parts[0].line == nil {
		return t.parts[0].text
	}
	all := bytes.NewBuffer(make([]byte, 0, t.Len()))
	_, _ = t.WriteTo(all) // a buffer has no errors
	return all.Bytes()
}

// Sum returns the SHA-256 of the SHA-256 of each line. It depends on the bytes of the text and
// not on its parts.
func (t Text) Sum() (sum [sha256.Size]byte) {
	all, line := sha256.New(), sha256.New()
	var known *[sha256.Size]byte // of the line so far
	end := func() {
		if known == nil {
			known = (*[sha256.Size]byte)(line.Sum(nil))
		}
		all.Write(known[:])
		known = nil
		line.Reset()
	}
	for _, p := range t.parts {
		if p.line != nil {
			known = &p.line.sum
			continue
		}
		rest, more := p.text, true
		for more {
			var text []byte
			if text, rest, more = bytes.Cut(rest, newline); len(text) > 0 {
				line.Write(text)
			}
			if more {
				end()
			}
		}
	}
	end()
	return [sha256.Size]byte(all.Sum(nil))
}
