package tables

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/internal/parallel"
)

// inParts is a value whose JSON is written in parts, so that the parts that did not
// change are reused.
type inParts interface {
	text(out Text) Text
}

// The JSON of each piece is a line, for the hash of a text.
var (
	open, next, end       = []byte("{\n"), []byte("\n,\n"), []byte("\n}")
	none                  = []byte("{}")
	comma, colon, newline = []byte(","), []byte(":"), []byte("\n")
)

// text appends the map as JSON.
func (m Map[V]) text(out Text) Text {
	if len(m.pieces) == 0 {
		return out.with(none)
	}
	out.parts = slices.Grow(out.parts, 2*len(m.pieces)+1)
	between := open
	for _, p := range m.pieces {
		out = out.with(between)
		out.parts = append(out.parts, part{made: p.json()})
		between = next
	}
	return out.with(end)
}

// json returns the rows as JSON, without the surrounding braces: a line, or lines of nested maps.
func (p *piece[V]) json() *made {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made != nil {
		return p.made
	}
	if _, ok := any(p.rows[0].value).(inParts); ok {
		p.made = p.nested().madeBy(p)
		return p.made
	}
	out := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(out)
	out.Reset()
	p.write(out)
	sum := sha256.Sum256(out.Bytes())
	p.made = &made{sum: &sum, length: out.Len(), by: p}
	return p.made
}

// nested returns the rows of a map of maps as a text.
func (p *piece[V]) nested() (out Text) {
	for i, r := range p.rows {
		if i > 0 {
			out = out.with(comma)
		}
		out = any(r.value).(inParts).text(out.with(jsontext.Encode(r.key)).with(colon))
	}
	return out
}

// buffers are for lines of which only the hash is kept.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// write writes the rows as JSON.
func (p *piece[V]) write(out *bytes.Buffer) {
	if _, ok := any(p.rows[0].value).(inParts); ok {
		_, _ = p.nested().WriteTo(out) // a buffer has no errors
		return
	}
	for i, r := range p.rows {
		if i > 0 {
			out.WriteByte(',')
		}
		writeJSON(out, r.key)
		out.WriteByte(':')
		writeJSON(out, r.value)
	}
}

// writeJSON writes JSON with text as it is written and no line end.
func writeJSON(out *bytes.Buffer, value any) {
	out.Write(jsontext.Append(out.AvailableBuffer(), value))
}

// JSON implements Table.
func (a *Access) JSON() (Text, error) {
	out := TextOf([]byte(`{"master":`)).with(jsontext.Encode(a.Master))
	if a.Cluster != "" {
		out = out.with([]byte(`,"cluster":`)).with(jsontext.Encode(a.Cluster))
	}
	if a.ImpliedGroups != "" {
		out = out.with([]byte(`,"impliedGroups":`)).with(jsontext.Encode(a.ImpliedGroups))
	}
	var roles, rest Text
	parallel.Run(func() { roles = a.Roles.text(TextOf([]byte(`,"roles":`))) }, func() {
		rest = a.Bindings.text(TextOf([]byte(`,"bindings":`)))
		rest = a.Subjects.Cluster.text(rest.with([]byte(`,"subjects":{"cluster":`)))
		rest = a.Subjects.Namespaces.text(rest.with([]byte(`,"namespaces":`)))
	})
	out = JoinText(out, roles, rest)
	out = out.with([]byte(`},"extensions":`)).with(jsontext.Encode(a.Extensions))
	if a.ReadsClock {
		out = out.with([]byte(`,"readsClock":true`))
	}
	return out.with([]byte("}")), nil
}

// MarshalJSON returns the map as one JSON text. Access.JSON is faster.
func (m Map[V]) MarshalJSON() ([]byte, error) { return m.text(Text{}).Bytes(), nil }

// decode reads an object with the decoder of the value around it.
func (m *Map[V]) decode(object []byte, with *decoder) error {
	rows, err := decodeRows[V](nil, object, with)
	if err != nil {
		return err
	}
	m.setRows(slices.Clone(rows))
	return nil
}

// decodeSplit reads an object that was split, with all CPUs.
func (m *Map[V]) decodeSplit(o *jsontext.Object, groups Groups) error {
	decoded := make([][]row[V], len(o.Members))
	var next atomic.Int64
	work := func() error {
		d, read := newDecoder(nil), groups()
		var room []row[V]
		for i := int(next.Add(1) - 1); i < len(decoded); i = int(next.Add(1) - 1) {
			member := &o.Members[i]
			if member.Object != nil {
				value := new(V)
				if err := d.members(member.Object, groups, reflect.ValueOf(value).Elem()); err != nil {
					return err
				}
				decoded[i] = []row[V]{{member.First, value}}
				continue
			}
			object, err := read(member)
			if err != nil {
				return err
			}
			if room, err = decodeRows(room[:0], object, d); err != nil {
				return err
			}
			decoded[i] = slices.Clone(room)
		}
		return nil
	}
	var group errgroup.Group
	for range min(runtime.GOMAXPROCS(0), len(decoded)) {
		group.Go(work)
	}
	if err := group.Wait(); err != nil {
		return err
	}
	*m = Map[V]{}
	for _, rows := range decoded {
		m.cut(rows)
	}
	return nil
}

// decodeRows appends the rows of an object.
func decodeRows[V any](rows []row[V], object []byte, with *decoder) ([]row[V], error) {
	outer := with.tokens
	defer func() { with.tokens = outer }()
	with.tokens = jsontext.TokensOf(object)
	with.tokens.Next() // the opening brace
	var free []V
	for key := with.tokens.Next(); key.Kind != '}'; key = with.tokens.Next() {
		if len(free) == 0 {
			free = make([]V, min(1+len(rows), valuesTogether))
		}
		name, value := with.keep(key), &free[0]
		free, with.key = free[1:], name
		if err := with.value(with.tokens.Next(), reflect.ValueOf(value).Elem()); err != nil {
			return nil, err
		}
		rows = append(rows, row[V]{name, value})
	}
	return rows, nil
}

// valuesTogether is how many values of rows are in one piece of memory: with Go's own word before
// them, they fill it.
const valuesTogether = 63

// UnmarshalJSON reads an object. Decode is faster.
func (m *Map[V]) UnmarshalJSON(content []byte) error {
	if content[0] != '{' {
		var none map[string]V
		return json.Unmarshal(content, &none)
	}
	return m.decode(content, newDecoder(nil))
}

// setRows makes m the map of rows, which it keeps if they are in the order of their keys.
func (m *Map[V]) setRows(rows []row[V]) {
	*m = Map[V]{}
	if slices.IsSortedFunc(rows, func(a, b row[V]) int { return cmp.Or(strings.Compare(a.key, b.key), 1) }) {
		m.cut(rows)
		return
	}
	changes := make(map[string]*V, len(rows))
	for _, r := range rows {
		changes[r.key] = r.value
	}
	*m = m.With(changes)
}
