package lists

import (
	"container/list"
	"sync"
	"time"
)

// Bounds of what a store keeps.
const (
	keptFor      = 60 * time.Second // after the last use
	maxKept      = 256              // values
	maxKeptItems = 2_000_000        // items of all of their lists
)

// store keeps values that belong to lists, the most recently used ones. It is safe for
// concurrent use.
type store[T any] struct {
	mu    sync.Mutex
	byID  map[string]*list.Element
	order list.List // of *stored[T], the one that ends first in front
	items int
}

type stored[T any] struct {
	id    string
	value T
	items int
	ends  time.Time
}

// put keeps a value, which has that many items, in place of an earlier one with the id.
func (s *store[T]) put(id string, value T, items, most int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]*list.Element)
	}
	if before := s.byID[id]; before != nil {
		s.drop(before)
	}
	s.byID[id] = s.order.PushBack(&stored[T]{id, value, items, now.Add(keptFor)})
	s.items += items
	for s.order.Len() > 1 && (s.order.Len() > most || s.items > maxKeptItems) {
		s.drop(s.order.Front())
	}
}

// get returns the value with an id, if it has not expired and is accepted, and keeps it for
// longer.
func (s *store[T]) get(id string, now time.Time, accepts func(T) bool) (value T, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for first := s.order.Front(); first != nil && !now.Before(first.Value.(*stored[T]).ends); first = s.order.Front() {
		s.drop(first)
	}
	at := s.byID[id]
	if at == nil || !accepts(at.Value.(*stored[T]).value) {
		return value, false
	}
	kept := at.Value.(*stored[T])
	kept.ends = now.Add(keptFor)
	s.order.MoveToBack(at)
	return kept.value, true
}

func (s *store[T]) drop(at *list.Element) {
	kept := s.order.Remove(at).(*stored[T])
	delete(s.byID, kept.id)
	s.items -= kept.items
}
