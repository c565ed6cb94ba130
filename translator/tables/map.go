package tables

import (
	"iter"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Map is an immutable map in the order of its keys. It consists of pieces. A map made
// from another one shares the pieces without a changed key, including their JSON, so that
// the cost of a change depends on the size of a piece and not of the map. The zero value
// is empty. In JSON it is an object.
type Map[V any] struct {
	pieces []*piece[V]
	rows   int
}

// piece holds consecutive rows, at least one.
type piece[V any] struct {
	rows []row[V]

	mu   sync.Mutex // held to read and make text
	text []byte     // the rows as JSON without the surrounding braces; nil until requested
}

// row is shared between maps: equal pointers are equal values.
type row[V any] struct {
	key   string
	value *V
}

// A piece has from least to most rows; the last piece may have fewer. Larger pieces
// increase the cost of a change, smaller pieces the cost of the list of pieces.
const (
	least = 32
	most  = 256
)

// MapOf returns the rows of a plain map.
func MapOf[V any](rows map[string]V) Map[V] {
	changes := make(map[string]*V, len(rows))
	for key, value := range rows {
		changes[key] = &value
	}
	return Map[V]{}.With(changes)
}

// Len returns the number of rows.
func (m Map[V]) Len() int { return m.rows }

// At returns the value of a key, or the zero value if the key is absent.
func (m Map[V]) At(key string) V {
	if p := m.Find(key); p != nil {
		return *p
	}
	var none V
	return none
}

// Has reports whether there is a row with a key.
func (m Map[V]) Has(key string) bool { return m.Find(key) != nil }

// Find returns the value of a key, which must not be modified, or nil.
func (m Map[V]) Find(key string) *V {
	i := sort.Search(len(m.pieces), func(i int) bool { return m.pieces[i].rows[0].key > key }) - 1
	if i < 0 {
		return nil
	}
	rows := m.pieces[i].rows
	at, ok := slices.BinarySearchFunc(rows, key, func(r row[V], key string) int { return strings.Compare(r.key, key) })
	if !ok {
		return nil
	}
	return rows[at].value
}

// All returns the rows in the order of their keys. Values must not be modified.
func (m Map[V]) All() iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		for _, p := range m.pieces {
			for i := range p.rows {
				if !yield(p.rows[i].key, p.rows[i].value) {
					return
				}
			}
		}
	}
}

// With returns the map with changes applied. A value replaces the present one, and nil
// removes the key. A value that is equal to the present one changes nothing.
func (m Map[V]) With(changes map[string]*V) Map[V] {
	keys := make([]string, 0, len(changes))
	for key, value := range changes {
		if m.rows == 0 || !reflect.DeepEqual(m.Find(key), value) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return m
	}
	slices.Sort(keys)
	var out Map[V]
	var short []row[V] // rows too few for a piece of their own
	for i, p := range m.pieces {
		own := len(keys)
		if i+1 < len(m.pieces) {
			own = sort.SearchStrings(keys, m.pieces[i+1].rows[0].key)
		}
		if own == 0 && len(short) == 0 {
			out.add(p)
			continue
		}
		rows := merge(append(short, p.rows...), keys[:own], changes)
		keys, short = keys[own:], nil
		if len(rows) < least {
			short = rows
			continue
		}
		out.cut(rows)
	}
	out.cut(merge(short, keys, changes))
	return out
}

func (m *Map[V]) add(p *piece[V]) {
	m.pieces = append(m.pieces, p)
	m.rows += len(p.rows)
}

// cut adds rows in pieces of about the same size.
func (m *Map[V]) cut(rows []row[V]) {
	for count := (len(rows) + most - 1) / most; count > 0; count-- {
		size := len(rows) / count
		m.add(&piece[V]{rows: rows[:size:size]})
		rows = rows[size:]
	}
}

// merge returns the rows with the changes of the keys applied. Rows and keys are sorted.
func merge[V any](rows []row[V], keys []string, changes map[string]*V) []row[V] {
	out := make([]row[V], 0, len(rows)+len(keys))
	for _, key := range keys {
		for len(rows) > 0 && rows[0].key < key {
			out, rows = append(out, rows[0]), rows[1:]
		}
		if len(rows) > 0 && rows[0].key == key {
			rows = rows[1:]
		}
		if value := changes[key]; value != nil {
			out = append(out, row[V]{key, value})
		}
	}
	return append(out, rows...)
}

// Since calls f for each key whose value differs from that of an earlier map, with nil
// for an absent value. It looks only at pieces that the two do not share.
func (m Map[V]) Since(earlier Map[V], f func(key string, now, before *V)) {
	now, before := m.apart(earlier), earlier.apart(m)
	for len(now)+len(before) > 0 {
		switch {
		case len(before) == 0 || len(now) > 0 && now[0].key < before[0].key:
			f(now[0].key, now[0].value, nil)
			now = now[1:]
		case len(now) == 0 || before[0].key < now[0].key:
			f(before[0].key, nil, before[0].value)
			before = before[1:]
		default:
			if now[0].value != before[0].value {
				f(now[0].key, now[0].value, before[0].value)
			}
			now, before = now[1:], before[1:]
		}
	}
}

// apart returns the rows of the pieces that the other map does not share.
func (m Map[V]) apart(other Map[V]) []row[V] {
	shared := make(map[*piece[V]]struct{}, len(other.pieces))
	for _, p := range other.pieces {
		shared[p] = struct{}{}
	}
	var rows []row[V]
	for _, p := range m.pieces {
		if _, ok := shared[p]; !ok {
			rows = append(rows, p.rows...)
		}
	}
	return rows
}
