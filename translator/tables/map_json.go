package tables

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/writ-policy/writ/internal/jsontext"
)

// inParts is a value whose JSON is written in parts, so that the parts that did not
// change are reused.
type inParts interface {
	parts(out [][]byte) [][]byte
}

var (
	open, end, comma, colon = []byte("{"), []byte("}"), []byte(","), []byte(":")
)

// parts appends the map as JSON.
func (m Map[V]) parts(out [][]byte) [][]byte {
	out = append(out, open)
	for i, p := range m.pieces {
		if i > 0 {
			out = append(out, comma)
		}
		out = p.parts(out)
	}
	return append(out, end)
}

// parts appends the rows as JSON. Nested maps keep their own text.
func (p *piece[V]) parts(out [][]byte) [][]byte {
	if _, ok := any(p.rows[0].value).(inParts); !ok {
		return append(out, p.json())
	}
	for i, r := range p.rows {
		if i > 0 {
			out = append(out, comma)
		}
		out = append(out, jsonText(r.key), colon)
		out = any(r.value).(inParts).parts(out)
	}
	return out
}

func (p *piece[V]) json() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text != nil {
		return p.text
	}
	var out bytes.Buffer
	for i, r := range p.rows {
		if i > 0 {
			out.WriteByte(',')
		}
		writeJSON(&out, r.key)
		out.WriteByte(':')
		writeJSON(&out, r.value)
	}
	p.text = bytes.Clone(out.Bytes())
	return p.text
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

// JSON returns the tables as JSON, in parts to be joined. The parts must not be modified.
func (a *Access) JSON() ([][]byte, error) {
	out := [][]byte{[]byte(`{"master":`), jsonText(a.Master)}
	if a.Cluster != "" {
		out = append(out, []byte(`,"cluster":`), jsonText(a.Cluster))
	}
	if a.ImpliedGroups != "" {
		out = append(out, []byte(`,"impliedGroups":`), jsonText(a.ImpliedGroups))
	}
	out = append(out, []byte(`,"roles":`))
	out = append(a.Roles.parts(out), []byte(`,"bindings":`))
	out = append(a.Bindings.parts(out), []byte(`,"subjects":{"cluster":`))
	out = append(a.Subjects.Cluster.parts(out), []byte(`,"namespaces":`))
	out = append(a.Subjects.Namespaces.parts(out), []byte(`},"extensions":`), jsonText(a.Extensions))
	if a.ReadsClock {
		out = append(out, []byte(`,"readsClock":true`))
	}
	return append(out, end), nil
}

// MarshalJSON returns the map as one JSON text. Access.JSON is faster.
func (m Map[V]) MarshalJSON() ([]byte, error) { return bytes.Join(m.parts(nil), nil), nil }

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
