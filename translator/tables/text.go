package tables

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"slices"

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
	sum *[sha256.Size]byte
	// within are the lines of a text with several whose hashes are kept; else nil.
	within *lines
	length int
	by     interface{ write(out *bytes.Buffer) }
}

// lines are the lines of a text: what is before the first end of one and after the last as text,
// and between them the hash of each.
type lines struct{ first, sums, last []byte }

// WithPacked returns the text with more behind it: a part that takes a tenth of the memory.
func (t Text) WithPacked(text []byte) Text {
	room := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(room)
	room.Reset()
	room.Grow(s2.MaxEncodedLen(len(text)))
	short := bytes.Clone(s2.Encode(room.AvailableBuffer()[:room.Available()], text))
	return Text{append(t.parts, part{made: &made{length: len(text), by: packed(short)}})}
}

// packed is a text that s2 packed.
type packed []byte

func (p packed) write(out *bytes.Buffer) {
	n, err := s2.DecodedLen(p)
	if err == nil {
		out.Grow(n)
		var text []byte
		text, err = s2.Decode(out.AvailableBuffer()[:n], p)
		out.Write(text)
	}
	if err != nil {
		panic(err) // WithPacked has packed it
	}
}

// Part returns a part of the text, which may be in room.
func (t Text) Part(i int, room *bytes.Buffer) []byte { return t.parts[i].bytes(room) }

// Reader returns a reader of the text.
func (t Text) Reader() io.Reader { return &textReader{parts: t.parts} }

type textReader struct {
	parts []part // that come
	rest  []byte // of the present one
	room  bytes.Buffer
}

func (r *textReader) Read(to []byte) (int, error) {
	for len(r.rest) == 0 {
		if len(r.parts) == 0 {
			return 0, io.EOF
		}
		r.rest, r.parts = r.parts[0].bytes(&r.room), r.parts[1:]
	}
	n := copy(to, r.rest)
	r.rest = r.rest[n:]
	return n, nil
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
	all := sha256.New()
	h := lineHash{line: sha256.New(), ended: func(sum []byte) { all.Write(sum) }}
	h.add(t)
	h.end()
	return [sha256.Size]byte(all.Sum(nil))
}

// madeBy returns a text as one that is written anew for each reader. It keeps the hashes of lines
// that both begin and end in it, and the text, which is short, of what stands around them.
func (t Text) madeBy(by interface{ write(out *bytes.Buffer) }) *made {
	var within *lines
	var line bytes.Buffer
	h := lineHash{line: sha256.New(), text: &line}
	h.ended = func(sum []byte) {
		if within == nil {
			within = &lines{first: bytes.Clone(line.Bytes())}
		} else {
			within.sums = append(within.sums, sum...)
		}
		line.Reset()
	}
	h.add(t)
	if within != nil {
		within.sums, within.last = slices.Clip(within.sums), bytes.Clone(line.Bytes())
	}
	return &made{within: within, length: t.Len(), by: by}
}

// lineHash hashes the lines of texts that are added one after another.
type lineHash struct {
	line  hash.Hash          // of the line that has not ended
	text  *bytes.Buffer      // where its text is written too, except what is known; or nil
	known *[sha256.Size]byte // its hash, if it was added as a part; else nil
	ended func(sum []byte)   // called with the hash of each line
}

func (h *lineHash) add(t Text) {
	var room bytes.Buffer
	for _, p := range t.parts {
		switch {
		case p.made != nil && p.made.sum != nil:
			h.known = p.made.sum
		case p.made != nil && p.made.within != nil:
			h.write(p.made.within.first)
			h.end()
			for sum := range slices.Chunk(p.made.within.sums, sha256.Size) {
				h.ended(sum)
			}
			h.write(p.made.within.last)
		default:
			h.write(p.bytes(&room))
		}
	}
}

func (h *lineHash) write(text []byte) {
	for more := true; more; {
		var line []byte
		if line, text, more = bytes.Cut(text, newline); len(line) > 0 {
			h.line.Write(line)
			if h.text != nil {
				h.text.Write(line)
			}
		}
		if more {
			h.end()
		}
	}
}

// end ends a line.
func (h *lineHash) end() {
	if h.known == nil {
		h.known = (*[sha256.Size]byte)(h.line.Sum(nil))
	}
	h.ended(h.known[:])
	h.known = nil
	h.line.Reset()
}
