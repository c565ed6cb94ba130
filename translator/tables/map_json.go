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

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/internal/jsontext"
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
	out.parts = slices.Grow(out.parts, 2*len(m.pieces)+1) // more for nested maps
	between := open
	for _, p := range m.pieces {
		out = out.with(between)
		out.parts = append(out.parts, p.json()...)
		between = next
	}
	return out.with(end)
}

// json returns the rows as JSON: a line, or the texts of nested maps with theirs.
func (p *piece[V]) json() []part {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parts != nil {
		return p.parts
	}
	if _, ok := any(p.rows[0].value).(inParts); ok {
		var out Text
		for i, r := range p.rows {
			if i > 0 {
				out = out.with(comma)
			}
			out = any(r.value).(inParts).text(out.with(jsonText(r.key)).with(colon))
		}
		p.parts = slices.Clip(out.parts)
		return p.parts
	}
	out := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(out)
	out.Reset()
	p.write(out)
	sum := sha256.Sum256(out.Bytes())
	p.parts = []part{{made: &made{&sum, out.Len(), p}}}
	return p.parts
}

// buffers are for lines of which only the hash is kept.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// write writes the rows as a line of JSON.
func (p *piece[V]) write(out *bytes.Buffer) {
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
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // decoded values always have a JSON form
	}
	out.Truncate(out.Len() - 1)
}

func jsonText(value any) []byte {
	var out bytes.Buffer
	writeJSON(&out, value)
	return out.Bytes()
}

// JSON implements Table.
func (a *Access) JSON() (Text, error) {
	out := TextOf([]byte(`{"master":`)).with(jsonText(a.Master))
	if a.Cluster != "" {
		out = out.with([]byte(`,"cluster":`)).with(jsonText(a.Cluster))
	}
	if a.ImpliedGroups != "" {
		out = out.with([]byte(`,"impliedGroups":`)).with(jsonText(a.ImpliedGroups))
	}
	out = a.Roles.text(out.with([]byte(`,"roles":`)))
	out = a.Bindings.text(out.with([]byte(`,"bindings":`)))
	out = a.Subjects.Cluster.text(out.with([]byte(`,"subjects":{"cluster":`)))
	out = a.Subjects.Namespaces.text(out.with([]byte(`,"namespaces":`)))
	out = out.with([]byte(`},"extensions":`)).with(jsonText(a.Extensions))
	if a.ReadsClock {
		out = out.with([]byte(`,"readsClock":true`))
	}
	return out.with([]byte("}")), nil
}

// MarshalJSON returns the map as one JSON text. Access.JSON is faster.
func (m Map[V]) MarshalJSON() ([]byte, error) { return m.text(Text{}).Bytes(), nil }

// rowsPerDecoder is how many rows are decoded together, by one goroutine.
const rowsPerDecoder = 8192

// decode reads an object, with all CPUs if it is large. A small one is decoded with the
// decoder of the value around it.
func (m *Map[V]) decode(object []byte, with *decoder) error {
	var rows []row[V]
	var texts [][]byte
	for key, text := range jsontext.Members(object) {
		rows, texts = append(rows, row[V]{key: key}), append(texts, text)
	}
	if len(rows) <= rowsPerDecoder {
		if err := decodeRows(rows, texts, with); err != nil {
			return err
		}
		m.setRows(rows)
		return nil
	}
	rows = slices.Clip(rows)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < len(rows); from += rowsPerDecoder {
		to := min(from+rowsPerDecoder, len(rows))
		group.Go(func() error { return decodeRows(rows[from:to], texts[from:to], newDecoder(nil)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	m.setRows(rows)
	return nil
}

func decodeRows[V any](rows []row[V], texts [][]byte, with *decoder) error {
	outer := with.tokens
	defer func() { with.tokens = outer }()
	for i := range rows {
		rows[i].value = new(V)
		with.tokens = jsontext.TokensOf(texts[i])
		if err := with.value(with.tokens.Next(), reflect.ValueOf(rows[i].value).Elem()); err != nil {
			return err
		}
	}
	return nil
}

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
