package source

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Text is the content of a file. Snapshots keep it for as long as their revision is compared or
// shown, and few files of one are read then: a large text is packed, to a tenth of its size. The
// zero value is empty.
type Text struct {
	plain, packed []byte // one of them
	length        int
}

// plainBytes is the size up to which packing saves too little.
const plainBytes = 4 << 10

// TextOf returns a text. A short one is content itself, which must not be changed.
func TextOf(content []byte) Text {
	if len(content) <= plainBytes {
		return Text{plain: content, length: len(content)}
	}
	r := takeRoom()
	defer r.leave()
	return Text{packed: bytes.Clone(s2.Encode(r.of(s2.MaxEncodedLen(len(content))), content)), length: len(content)}
}

// room is memory that is used again: for what is read and what is packed, as much as the files of a
// directory together. Nil has none.
type room struct{ bytes []byte }

var rooms = sync.Pool{New: func() any { return new(room) }}

func takeRoom() *room { return rooms.Get().(*room) }

// leave gives the room back, unless a large file needed it.
func (r *room) leave() {
	const most = 1 << 20
	if cap(r.bytes) <= most {
		rooms.Put(r)
	}
}

// of returns n bytes of the room.
func (r *room) of(n int) []byte {
	if r == nil {
		return make([]byte, n)
	}
	r.bytes = slices.Grow(r.bytes[:0], n)
	return r.bytes[:n]
}

// Len returns the number of bytes.
func (t Text) Len() int { return t.length }

// Bytes returns the text, which must not be changed. Of a packed one it is made at each call.
func (t Text) Bytes() []byte {
	if t.packed == nil {
		return t.plain
	}
	content, err := s2.Decode(nil, t.packed)
	if err != nil {
		panic(err) // it was packed by TextOf
	}
	return content
}

// NewFile returns a file with a content and its hash.
func NewFile(path string, content []byte) File {
	return File{Path: path, Content: TextOf(content), Hash: sha256.Sum256(content)}
}
