package bundles

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/translator/tables"
)

// dataFile is the content of compiled/data.json, which may be too large to be in memory at once: it is
// kept in packed blocks, and checked, hashed and decoded in groups of members on all CPUs.
type dataFile struct {
	text      tables.Text
	sum       func() [sha256.Size]byte // of the text
	object    *jsontext.Object         // of the text; nil if it has to be read whole
	isChecked bool                     // all groups have been
}

var errNotUTF8 = errors.New("must be UTF-8")

// readData reads the file.
func readData(r io.Reader) (*dataFile, error) {
	d, isUTF8 := new(dataFile), true
	var err error
	d.object, err = jsontext.Split(r, func(block []byte) {
		d.text = d.text.WithPacked(block)
		isUTF8 = isUTF8 && utf8.Valid(block)
	})
	switch {
	case err != nil:
		return nil, err
	case !isUTF8 && (d.object != nil || !utf8.Valid(d.text.Bytes())): // blocks of an object end with ASCII
		return nil, errNotUTF8
	}
	d.sum = sync.OnceValue(d.text.Sum)
	return d, nil
}

// dataFileOf returns the file of a text.
func dataFileOf(text tables.Text) (*dataFile, error) { return readData(text.Reader()) }

// groups returns a reader of groups, for one goroutine, which returns an error for those that checkJSON rejects.
func (d *dataFile) groups() func(*jsontext.Member) ([]byte, error) {
	var room bytes.Buffer
	var block, object []byte
	at := -1
	return func(m *jsontext.Member) ([]byte, error) {
		if m.Block != at {
			block, at = d.text.Part(m.Block, &room), m.Block
		}
		object = m.AppendObject(object[:0], block)
		if d.isChecked {
			return object, nil
		}
		return object, checkBelow(object, m.Depth)
	}
}

// hash implements content.
func (d *dataFile) hash(path string, h hash.Hash) (string, error) {
	if d.object != nil {
		if err := d.hashObject(h); err == nil {
			d.isChecked = true
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		h.Reset() // the error is that of the whole text
	}
	return fileHash(path, d.text.Bytes(), h)
}

// piece is a part of the canonical form of an object: a text, or a group.
type piece struct {
	text  string
	group *jsontext.Member
}

// piecesOf appends the pieces of an object.
func piecesOf(list []piece, o *jsontext.Object) []piece {
	if len(o.Members) == 0 {
		return append(list, piece{text: "{}"})
	}
	before := "{"
	for i := range o.Members {
		m := &o.Members[i]
		if m.Object == nil {
			list = append(list, piece{text: before, group: m})
		} else {
			list = piecesOf(append(list, piece{text: before + string(appendText(nil, m.First)) + ":"}), m.Object)
		}
		before = ","
	}
	return append(list, piece{text: "}"})
}

// hashObject hashes the canonical form. Groups are written on all CPUs, and hashed in their order.
func (d *dataFile) hashObject(h hash.Hash) error {
	list := piecesOf(nil, d.object)
	workers := runtime.GOMAXPROCS(0)
	written := make([]chan []byte, len(list))
	for i := range written {
		written[i] = make(chan []byte, 1)
	}
	rooms := make(chan []byte, 2*workers) // as many groups are written before they are hashed
	for range cap(rooms) {
		rooms <- nil
	}
	var next atomic.Int64
	var all errgroup.Group
	for range workers {
		all.Go(func() error {
			read := d.groups()
			var c canonical
			var failed error
			for {
				room := <-rooms
				i := int(next.Add(1) - 1)
				if i >= len(list) {
					rooms <- room
					return failed
				}
				room = append(room[:0], list[i].text...)
				if m := list[i].group; m != nil && failed == nil {
					var object []byte
					if object, failed = read(m); failed == nil {
						room = c.appendMembers(room, object)
					}
				}
				written[i] <- room
			}
		})
	}
	for _, part := range written {
		room := <-part
		h.Write(room)
		rooms <- room
	}
	return all.Wait()
}
