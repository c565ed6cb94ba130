package tables

import (
	"hash/maphash"
	"iter"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Map is an immutable map in the order of its keys. It consists of pieces, which depend on its
// keys alone. A map made from another one shares the pieces without a changed key, including
// the hash of their JSON, so that the cost of a change depends on the size of a piece and not of the map.
// The zero value is empty. In JSON it is an object.
type Map[V any] struct {
	pieces []*piece[V]
	rows   int
}

// piece holds consecutive rows, at least one.
type piece[V any] struct {
	rows []row[V]

	mu   sync.Mutex // held to read and set made
	made *made      // the rows as JSON without the surrounding braces; nil until requested
}

// row is shared between maps: equal pointers are equal values.
type row[V any] struct {
	key   string
	value *V
}

// rowsOfPiece is how many rows a piece has on the average. Larger pieces increase the cost of a
// change, smaller pieces the cost of the list of pieces.
const rowsOfPiece = 1 << 7

// begins reports whether a piece begins at a key: one key in rowsOfPiece does, by the first bits
// of its hash (FNV-1a).
func begins(key string) bool {
	hash := uint32(2166136261)
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * 16777619
	}
	return hash < 1<<32/rowsOfPiece
}

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
	if found := m.row(key); found != nil {
		return found.value
	}
	return nil
}

// row returns the row of a key, or nil.
func (m Map[V]) row(key string) *row[V] {
	i := sort.Search(len(m.pieces), func(i int) bool { return m.pieces[i].rows[0].key > key }) - 1
	if i < 0 {
		return nil
	}
	rows := m.pieces[i].rows
	at, ok := slices.BinarySearchFunc(rows, key, func(r row[V], key string) int { return strings.Compare(r.key, key) })
	if !ok {
		return nil
	}
	return &rows[at]
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
	for i, p := range m.pieces {
		own := len(keys)
		if i+1 < len(m.pieces) {
			own = sort.SearchStrings(keys, m.pieces[i+1].rows[0].key)
		}
		if own == 0 {
			out.add(p)
			continue
		}
		out.cut(merge(p.rows, keys[:own], changes))
		keys = keys[own:]
	}
	out.cut(merge(nil, keys, changes))
	return out
}

func (m *Map[V]) add(p *piece[V]) {
	m.pieces = append(m.pieces, p)
	m.rows += len(p.rows)
}

// cut adds rows in pieces. Rows before the first key at which one begins belong to the last
// piece, whose rows they follow.
func (m *Map[V]) cut(rows []row[V]) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && !begins(rows[n].key) {
			n++
		}
		own := rows[:n:n]
		if last := len(m.pieces) - 1; last >= 0 && !begins(own[0].key) {
			own = slices.Concat(m.pieces[last].rows, own)
			m.rows -= len(m.pieces[last].rows)
			m.pieces = m.pieces[:last]
		}
		m.add(&piece[V]{rows: own})
		rows = rows[n:]
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

// index finds the rows of a map in one step each, by the hash of their key. Nil is free: half of the
// places are, and their number is a power of two.
type index[V any] []*row[V]

var indexSeed = maphash.MakeSeed()

func (m Map[V]) index() index[V] {
	size := 1
	for size < 2*m.rows {
		size *= 2
	}
	x := make(index[V], size)
	for _, p := range m.pieces {
		for i := range p.rows {
			*x.place(p.rows[i].key) = &p.rows[i]
		}
	}
	return x
}

// place returns where a key is, or the free place for it.
func (x index[V]) place(key string) **row[V] {
	for at := int(maphash.String(indexSeed, key)); ; at++ {
		if place := &x[at&(len(x)-1)]; *place == nil || (*place).key == key {
			return place
		}
	}
}

// Finder finds rows of a map: by an index, once so many were asked for that it pays. It is not safe
// for concurrent use.
type Finder[V any] struct {
	in    Map[V]
	asked int
	index index[V]
}

// FinderOf returns a finder of the rows of a map.
func FinderOf[V any](m Map[V]) *Finder[V] { return &Finder[V]{in: m} }

// Find returns the value of a key, which must not be modified, or nil.
func (f *Finder[V]) Find(key string) *V {
	if found := f.find(key); found != nil {
		return found.value
	}
	return nil
}

// Own returns the map's own text of a key, so that equal texts are held once; of an absent key, key itself.
func (f *Finder[V]) Own(key string) string {
	if found := f.find(key); found != nil {
		return found.key
	}
	return key
}

func (f *Finder[V]) find(key string) *row[V] {
	const indexPays = 16 // for one look-up of so many rows
	if f.index == nil {
		if f.asked++; f.asked*indexPays <= f.in.rows {
			return f.in.row(key)
		}
		f.index = f.in.index()
	}
	return *f.index.place(key)
}
