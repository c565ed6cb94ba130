package tables

import (
	"bytes"
	"crypto/sha256"
)

// Text is JSON in parts. Texts of maps share the parts of the rows that they have in common, and
// their hashes, so that writing and hashing the text after a change costs what has changed. The
// zero value is empty. It must not be modified.
type Text struct{ parts []part }

// part is a part of a text.
type part struct {
	text []byte
	// sum is the hash of the text if it is a line, which the parts beside it end; else nil.
	sum *[sha256.Size]byte
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
		n += len(p.text)
	}
	return n
}

// Bytes returns the whole text, a copy unless it has one part.
func (t Text) Bytes() []byte {
	if len(t.parts) == 1 {
		return t.parts[0].text
	}
	all := make([]byte, 0, t.Len())
	for _, p := range t.parts {
		all = append(all, p.text...)
	}
	return all
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
		if p.sum != nil {
			known = p.sum
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
