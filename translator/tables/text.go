package tables

import (
	"bytes"
	"crypto/sha256"
	"io"

	"github.com/klauspost/compress/s2"
)

// Text is JSON in parts. Texts of maps share the parts of the rows that they have in common, and
// their hashes, so that hashing the text after a change costs what has changed. The text of rows
// is not kept, because few readers want it, and it is larger than the rows. The zero value is
// empty. It must not be modified.
type Text struct{ parts []part }

// part is a part of a text: the text, or what writes it anew for each reader.
type part struct {
	text []byte
	made *made
}

type made struct {
	// sum is the hash of the text if it is a line, which the parts beside it end; else nil.
	sum    *[sha256.Size]byte
	length int
	by     interface{ write(out *bytes.Buffer) }
}

// Packed returns a text in one part that takes a tenth of the memory.
func Packed(text []byte) Text {
	return Text{[]part{{made: &made{nil, len(text), packed(bytes.Clone(s2.Encode(nil, text)))}}}}
}

// packed is a text that s2 packed.
type packed []byte

func (p packed) write(out *bytes.Buffer) {
	text, err := s2.Decode(nil, p)
	if err != nil {
		panic(err) // it was packed by Packed
	}
	out.Write(text)
}

// TextOf returns a text in one part.
func TextOf(text []byte) Text { return Text{[]part{{text: text}}} }

// with returns a text with more behind it.
func (t Text) with(text []byte) Text { return Text{append(t.parts, part{text: text})} }

// JoinText returns the texts one after another.
func JoinText(texts ...Text) Text {
	n := 0
	for _, t := range texts {
		n += len(t.parts)
	}
	all := Text{make([]part, 0, n)}
	for _, t := range texts {
		all.parts = append(all.parts, t.parts...)
	}
	return all
}

// Len returns the number of bytes.
func (t Text) Len() (n int) {
	for _, p := range t.parts {
		if n += len(p.text); p.made != nil {
			n += p.made.length
		}
	}
	return n
}

// WriteTo implements io.WriterTo.
func (t Text) WriteTo(w io.Writer) (n int64, err error) {
	var room bytes.Buffer
	for _, p := range t.parts {
		written, err := w.Write(p.bytes(&room))
		if n += int64(written); err != nil {
			return n, err
		}
	}
	return n, nil
}

// bytes returns the text of a part, which may be in room.
func (p part) bytes(room *bytes.Buffer) []byte {
	if p.made == nil {
		return p.text
	}
	room.Reset()
	p.made.by.write(room)
	return room.Bytes()
}

// Bytes returns the whole text, a copy unless it has one part.
func (t Text) Bytes() []byte {
	if len(t.parts) == 1 {
		return t.parts[0].bytes(new(bytes.Buffer))
	}
	all := bytes.NewBuffer(make([]byte, 0, t.Len()))
	_, _ = t.WriteTo(all) // a buffer has no errors
	return all.Bytes()
}

// Sum returns the SHA-256 of the SHA-256 of each line. It depends on the bytes of the text and
// not on its parts.
func (t Text) Sum() (sum [sha256.Size]byte) {
	all, line := sha256.New(), sha256.New()
	var room bytes.Buffer
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
		if p.made != nil && p.made.sum != nil {
			known = p.made.sum
			continue
		}
		rest, more := p.bytes(&room), true
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
