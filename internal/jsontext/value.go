package jsontext

import (
	"encoding/json"
	"iter"
	"math"
	"unsafe"
)

// Document is a checked text with the places of its values, so that nothing of it is read
// twice. Its zero value is ready, and its memory is reused by each Parse.
type Document struct {
	text   string
	nodes  []node
	isDone bool // see Done
}

// node is a value, or the key before one, in the order written. A string ends past its quote.
type node struct {
	from, end uint32
	next      uint32 // the node behind it and all within it
	kind      kind
}

// kind is the first byte of a value, or escapedText for a string with an escape.
type kind byte

const escapedText kind = 0

// Parse checks a text as Check does, and returns its value and the number of its values: what a
// text takes in memory depends on their number more than on its length. Strings are cut from
// the text. Values of the document before must not be used any more.
func (d *Document) Parse(text string, l Limits) (v Value, values int, err *Error) {
	d.Reset()
	if uint64(len(text)) > math.MaxUint32 {
		return v, 0, &Error{Code: TooManyValues}
	}
	if values, err = check(unsafe.Slice(unsafe.StringData(text), len(text)), l, &d.nodes); err != nil {
		return v, 0, err
	}
	d.text = text
	return Value{d, 0}, values, nil
}

// Done states that nothing that was cut from the text of v's document is used any more, so
// that the memory of the text may be used again.
func (v Value) Done() {
	if v.document != nil {
		v.document.isDone = true
	}
}

// IsDone reports whether Done was called since the last Parse.
func (d *Document) IsDone() bool { return d.isDone }

// Reset drops the text. Room for many values is dropped too.
func (d *Document) Reset() {
	const most = 8 << 10
	if d.text, d.isDone = "", false; cap(d.nodes) > most {
		d.nodes = nil
	}
	d.nodes = d.nodes[:0]
}

// textAt returns the string of a node.
func (d *Document) textAt(n *node) string {
	text := d.text[n.from+1 : n.end-1]
	if n.kind == escapedText {
		return unescape(text)
	}
	return text
}

// Value is one JSON value of a Document. The zero Value is absent and reads as null. A Value
// shares the memory of the document that it was cut from.
type Value struct {
	document *Document
	at       uint32
}

// ValueOf returns the value of a text that Check accepted, with any Limits. It panics on any
// other text. The empty text is the absent Value.
func ValueOf(checked string) Value {
	if checked == "" {
		return Value{}
	}
	v, _, err := new(Document).Parse(checked, Limits{LongNumbers: true, DuplicateKeys: true})
	if err != nil {
		panic(err) // the caller has not checked the text
	}
	return v
}

func (v Value) node() *node { return &v.document.nodes[v.at] }

// kind returns the first byte of the value: n for null, and for one that is absent.
func (v Value) kind() kind {
	if v.document == nil {
		return 'n'
	}
	return v.node().kind
}

// String returns the value as it is written, without space around it; "" if it is absent.
func (v Value) String() string {
	if v.document == nil {
		return ""
	}
	n := v.node()
	return v.document.text[n.from:n.end]
}

// Bytes is a copy of String.
func (v Value) Bytes() []byte { return []byte(v.String()) }

// IsAbsent reports whether v is the zero Value.
func (v Value) IsAbsent() bool { return v.document == nil }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind() == 'n' }

// IsTrue reports whether v is true.
func (v Value) IsTrue() bool { return v.kind() == 't' }

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return v.kind() == '{' }

// IsArray reports whether v is an array.
func (v Value) IsArray() bool { return v.kind() == '[' }

// IsEmptyObject reports whether v is an object without members.
func (v Value) IsEmptyObject() bool { return v.IsObject() && v.node().next == v.at+1 }

// IsBool reports whether v is true or false.
func (v Value) IsBool() bool { return v.kind() == 't' || v.kind() == 'f' }

// IsNumber reports whether v is a number.
func (v Value) IsNumber() bool { return v.kind() == '-' || '0' <= v.kind() && v.kind() <= '9' }

// Text returns the string that v is, and false if v is not a string.
func (v Value) Text() (string, bool) {
	if k := v.kind(); k != '"' && k != escapedText {
		return "", false
	}
	return v.document.textAt(v.node()), true
}

// Members iterates over the keys and values of an object, in the order written.
// Other values have none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) { v.members(yield) }
}

// Member returns a member of an object, absent if v has none of this name.
func (v Value) Member(name string) Value {
	if !v.IsObject() {
		return Value{}
	}
	d := v.document
	for at, end := v.at+1, v.node().next; at < end; at = d.nodes[at+1].next {
		if d.textAt(&d.nodes[at]) == name {
			return Value{d, at + 1}
		}
	}
	return Value{}
}

// Elements iterates over the values of an array. Other values have none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) { v.elements(yield) }
}

func (v Value) members(yield func(string, Value) bool) {
	if !v.IsObject() {
		return
	}
	d := v.document
	for at, end := v.at+1, v.node().next; at < end; at = d.nodes[at+1].next {
		if !yield(d.textAt(&d.nodes[at]), Value{d, at + 1}) {
			return
		}
	}
}

func (v Value) elements(yield func(Value) bool) {
	if !v.IsArray() {
		return
	}
	d := v.document
	for at, end := v.at+1, v.node().next; at < end; at = d.nodes[at].next {
		if !yield(Value{d, at}) {
			return
		}
	}
}

// Any returns v as encoding/json decodes it: nil, bool, json.Number (numbers keep
// the digits they were written with), string, []any or map[string]any.
func (v Value) Any() any {
	switch v.kind() {
	case 'n':
		return nil
	case 't', 'f':
		return v.IsTrue()
	case '"', escapedText:
		text, _ := v.Text()
		return text
	case '[':
		list := []any{}
		for element := range v.Elements() {
			list = append(list, element.Any())
		}
		return list
	case '{':
		object := map[string]any{}
		for key, value := range v.Members() {
			object[key] = value.Any()
		}
		return object
	}
	return json.Number(v.String())
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// valueEnd returns where the value that begins at s[i] ends.
func valueEnd(s []byte, i int) int {
	depth := 0
	for i < len(s) {
		switch c := s[i]; {
		case c == '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 { // the end of what a bare literal stands in
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && (c == ',' || isSpace(c)):
			return i
		}
		i++
	}
	return i
}
