package hostile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// node is a JSON value. Its members keep their order and may repeat a key.
type node struct {
	kind    byte   // { [ " or 0
	text    string // of a string; a number, boolean or null as it is written
	keys    []string
	members []*node // the values of an object, or the elements of an array
}

var errNotJSON = errors.New("not JSON")

// parse reads one JSON value and nothing after it.
func parse(text []byte) (*node, error) {
	if !utf8.Valid(text) {
		return nil, errNotJSON
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	n, err := parseNext(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return n, nil
}

func parseNext(d *json.Decoder) (*node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		n := &node{kind: byte(token)}
		for d.More() {
			if n.kind == '{' {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				n.keys = append(n.keys, key.(string))
			}
			member, err := parseNext(d)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member)
		}
		_, err := d.Token()
		return n, err
	case string:
		return &node{kind: '"', text: token}, nil
	case nil:
		return &node{text: "null"}, nil
	}
	return &node{text: fmt.Sprint(token)}, nil
}

// isAmbiguous reports whether readers may take the value for different ones: some object
// has a key twice.
func (n *node) isAmbiguous() bool {
	seen := make(map[string]bool)
	for i, member := range n.members {
		if n.kind == '{' {
			if seen[n.keys[i]] {
				return true
			}
			seen[n.keys[i]] = true
		}
		if member.isAmbiguous() {
			return true
		}
	}
	return false
}

// all are the value and all values in it.
func (n *node) all() []*node {
	list := []*node{n}
	for _, member := range n.members {
		list = append(list, member.all()...)
	}
	return list
}

// style is how JSON is written.
type style struct{ spaces, escapes, backwards bool }

// write writes the value.
func (n *node) write(b *strings.Builder, s style) {
	if s.spaces {
		b.WriteString(" \n\t")
	}
	switch n.kind {
	case '{', '[':
		b.WriteByte(n.kind)
		for i := range n.members {
			at := i
			if s.backwards && n.kind == '{' {
				at = len(n.members) - 1 - i
			}
			if i > 0 {
				b.WriteByte(',')
			}
			if n.kind == '{' {
				writeText(b, n.keys[at], s)
				b.WriteByte(':')
			}
			n.members[at].write(b, s)
		}
		b.WriteByte(n.kind + 2) // the closing bracket
	case '"':
		writeText(b, n.text, s)
	default:
		b.WriteString(n.text)
	}
	if s.spaces {
		b.WriteString("\r ")
	}
}

func writeText(b *strings.Builder, text string, s style) {
	if !s.escapes {
		written, err := json.Marshal(text)
		if err != nil {
			panic(err)
		}
		b.Write(written)
		return
	}
	b.WriteByte('"')
	for _, c := range text {
		if c > 0xffff {
			c -= 0x10000
			fmt.Fprintf(b, `\u%04x\u%04X`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		} else {
			fmt.Fprintf(b, `\u%04x`, c)
		}
	}
	b.WriteByte('"')
}

// strict is the naive reading of a body: one JSON object in UTF-8 without a repeated key,
// whose strings are whole characters. It is nil for everything else.
func strict(body []byte) map[string]any {
	n, err := parse(body)
	if err != nil || n.kind != '{' || n.isAmbiguous() {
		return nil
	}
	if !strings.Contains(string(body), "\ufffd") && !strings.Contains(strings.ToLower(string(body)), `\ufffd`) {
		for _, inner := range n.all() {
			if strings.Contains(inner.text+strings.Join(inner.keys, ""), "\ufffd") {
				return nil // half of a surrogate pair
			}
		}
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil
	}
	return object
}

// has reports whether an object has no keys but some.
func has(object map[string]any, known ...string) bool {
	for key := range object {
		if !contains(known, key) {
			return false
		}
	}
	return true
}

func contains(list []string, text string) bool {
	return slices.Contains(list, text)
}

// fields reads the members of an object. ok becomes false at a member that is not what
// it should be; null is as if a member were absent.
type fields struct {
	object map[string]any
	ok     bool
}

func read[T any](f *fields, key string) (value T) {
	switch member := f.object[key].(type) {
	case nil:
	case T:
		return member
	default:
		f.ok = false
	}
	return value
}

func (f *fields) text(key string) string { return read[string](f, key) }

func (f *fields) texts(key string) []string {
	list := read[[]any](f, key)
	if list == nil {
		return nil
	}
	texts := []string{}
	for _, element := range list {
		text, ok := element.(string)
		f.ok = f.ok && ok
		texts = append(texts, text)
	}
	return texts
}

func (f *fields) textMap(key string) map[string]string {
	object := read[map[string]any](f, key)
	if object == nil {
		return nil
	}
	texts := map[string]string{}
	for name, member := range object {
		text, ok := member.(string)
		f.ok = f.ok && ok
		texts[name] = text
	}
	return texts
}

func (f *fields) in(key string) *fields { return &fields{read[map[string]any](f, key), true} }
