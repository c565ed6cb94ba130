package lists

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/internal/jsontext"
)

// Versions number lists, so that a client that has one can get what differs from it. Numbers
// increase, and those of other processes are not known here. Now is required. They are safe
// for concurrent use.
type Versions struct {
	Now func() time.Time

	mu   sync.Mutex // held to compare a list and to number it
	own  uint64     // the process, in the bits between time and step; zero until the first number
	last uint64     // the time of the last number, in milliseconds
	kept store[version]
}

// version is a list and its number.
type version struct {
	number uint64
	list   *List
}

// The bits of a number: milliseconds, then the process, then steps. The number of a list has
// all bits of steps: the changes that lead to it have the numbers before.
const (
	stepBits    = 12
	processBits = 10
	// Steps is how many numbers before that of a list belong to it alone.
	Steps = 1<<stepBits - 1
	// maxVersions is how many lists are kept: one for each question of each owner.
	maxVersions = 4096
)

// Of numbers a list. key names the question and its owner: their newest list is kept for a
// minute, and a list with the same items has the same number.
func (v *Versions) Of(key string, l *List) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.Now()
	last, found := v.kept.get(key, now, func(version) bool { return true })
	if !found || len(Changes(last.list, l)) > 0 {
		last.number = v.next(now)
	}
	v.kept.put(key, version{last.number, l}, len(l.Items), maxVersions, now)
	return last.number
}

func (v *Versions) next(now time.Time) uint64 {
	for v.own == 0 {
		v.own = rand.Uint64() % (1 << processBits)
	}
	v.last = max(v.last+1, uint64(now.UnixMilli()))
	return v.last<<(processBits+stepBits) | v.own<<stepBits | Steps
}

// At returns the list with a number, nil if it is not kept.
func (v *Versions) At(key string, number uint64) *List {
	found, _ := v.kept.get(key, v.Now(), func(k version) bool { return k.number == number })
	return found.list
}

// Keep keeps a list that has a number, unless a newer one of the key is kept.
func (v *Versions) Keep(key string, number uint64, l *List) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.Now()
	if _, isNewer := v.kept.get(key, now, func(k version) bool { return k.number > number }); !isNewer {
		v.kept.put(key, version{number, l}, len(l.Items), maxVersions, now)
	}
}

// Change is a difference of two lists: an item before, after, or both. The other is nil.
type Change struct{ Before, After *Item }

// Changes returns the differences of two lists: what is gone, then the rest, by namespace.
func Changes(before, after *List) (out []Change) {
	var rest []Change
	a, b := before.Items, after.Items
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			out = append(out, Change{Before: &a[0]})
			a = a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			rest = append(rest, Change{After: &b[0]})
			b = b[1:]
		default:
			if !isSame(&a[0], &b[0]) {
				rest = append(rest, Change{&a[0], &b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return append(out, rest...)
}

// isSame reports whether clients see no difference between two items of a namespace.
func isSame(a, b *Item) bool {
	return a.Created.Equal(b.Created) && maps.Equal(a.Labels, b.Labels) && isSameNames(&a.Names, &b.Names, a, b)
}

func isSameNames(a, b *filter.Names, of, to *Item) bool {
	if a.IsAny || b.IsAny {
		return a.IsAny == b.IsAny
	}
	return bytes.Equal(jsontext.Encode(of.NamesJSON()), jsontext.Encode(to.NamesJSON()))
}
