package cache

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/dates"
)

// table keeps the decisions of one point by the keys of their requests, in the order of
// their last use. It is safe for concurrent use.
type table[D any] struct {
	metrics  *metrics.Metrics
	now      func() time.Time
	maxBytes int
	count    func(change int) // records how the number of entries changes

	mu      sync.Mutex                        // held to read and write the fields below, never while evaluating
	kept    *simplelru.LRU[string, *entry[D]] // nil if nothing is kept
	finds   int                               // how often an answer was looked for
	weight  int                               // estimated bytes of all entries
	flights map[flightKey]*flight[D]
	// named has the keys of kept entries by the names that namesOf returns; namesOf is nil if
	// entries are not found by names.
	named   map[string]map[string]struct{}
	namesOf func(D) []string
}

// entry is a decision. Its answer is immutable.
type entry[D any] struct {
	answer[D]
	weight int
	first  int // what finds was when the entry was made the first in the order
}

// answer is a decision and where it is valid.
type answer[D any] struct {
	decision D
	revision string
	expires  time.Time // zero: with the revision
	span     dates.Span
	bytes    int // estimated size of the decision
	// isOwn means that the decision must not answer other requests, even with the same
	// key.
	isOwn bool
}

type flightKey struct{ revision, key string }

// flight is an evaluation that other callers wait for. answer is written before done is
// closed, and read afterwards.
type flight[D any] struct {
	done   chan struct{}
	answer answer[D]
	// isShared is false if the decision depends on the first caller rather than on the
	// request: that caller was cancelled, or its evaluation panicked.
	isShared bool
}

func newTable[D any](m *metrics.Metrics, now func() time.Time, entries, bytes int, count func(int)) *table[D] {
	t := &table[D]{
		metrics: m, now: now, maxBytes: bytes, count: count,
		flights: make(map[flightKey]*flight[D]), named: make(map[string]map[string]struct{}),
	}
	if entries > 0 {
		// NewLRU fails only for a size that is not positive.
		t.kept, _ = simplelru.NewLRU(entries, func(key string, e *entry[D]) {
			t.weight -= e.weight
			t.count(-1)
			t.unname(key, e)
		})
	}
	return t
}

// name makes an entry one that drop finds by its names. It is called with mu held.
func (t *table[D]) name(key string, e *entry[D]) {
	if t.namesOf == nil {
		return
	}
	for _, name := range t.namesOf(e.decision) {
		keys := t.named[name]
		if keys == nil {
			keys = make(map[string]struct{})
			t.named[name] = keys
		}
		keys[key] = struct{}{}
	}
}

// unname ends what name began. It is called with mu held.
func (t *table[D]) unname(key string, e *entry[D]) {
	if t.namesOf == nil {
		return
	}
	for _, name := range t.namesOf(e.decision) {
		if delete(t.named[name], key); len(t.named[name]) == 0 {
			delete(t.named, name)
		}
	}
}

// find returns the answer for a key, or nil if the table has no answer that is valid now.
// The clock is read only for an answer that ends. An entry among the last that were used stays
// where it is in the order: moving it writes to three more, which are seldom in the CPU's cache.
func (t *table[D]) find(key []byte, now func() time.Time) *answer[D] {
	if t.kept == nil {
		return nil
	}
	// The bytes as a string, without a copy: a look-up does not keep its key.
	text := unsafe.String(unsafe.SliceData(key), len(key))
	t.mu.Lock()
	defer t.mu.Unlock()
	e, found := t.kept.Peek(text)
	if !found {
		return nil
	}
	if t.finds++; t.finds-e.first > t.kept.Len()/16 {
		e.first = t.finds
		t.kept.Get(text)
	}
	if e.ends() && !e.isValid(now()) {
		t.kept.Remove(text)
		return nil
	}
	return &e.answer
}

func (a *answer[D]) ends() bool { return !a.expires.IsZero() || a.span.IsLimited() }

// isValid reports whether the answer has not expired, and no document that matters to the request
// begins or ends between a time and that of the decision.
func (a *answer[D]) isValid(now time.Time) bool {
	return (a.expires.IsZero() || now.Before(a.expires)) && (!a.span.IsLimited() || a.span.Contains(dates.Of(now)))
}

// evaluate returns the answer of the first caller for the key at a revision. Callers that
// come meanwhile wait for it. If it is not for them, because that caller was cancelled or
// the decision is its own or of another time, they evaluate themselves. clock is the
// caller's. The error is that of ctx.
func (t *table[D]) evaluate(ctx context.Context, at flightKey, clock func() time.Time, decide func() answer[D]) (answer[D], error) {
	for {
		f, isFirst := t.join(at)
		if isFirst {
			t.metrics.CacheMissed()
			return t.lead(ctx, at, f, decide), nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return answer[D]{}, ctx.Err()
		}
		switch {
		case f.isShared && (f.answer.isOwn || !f.answer.isValid(clock())):
			// It is for its caller alone, or of a time that is over: that caller's clock may stand still.
			t.metrics.CacheMissed()
			return decide(), nil
		case f.isShared:
			t.metrics.CacheHit()
			return f.answer, nil
		}
	}
}

// join returns the flight for a key; isFirst is true if join has created it.
func (t *table[D]) join(at flightKey) (f *flight[D], isFirst bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.flights[at]; ok {
		return f, false
	}
	f = &flight[D]{done: make(chan struct{})}
	t.flights[at] = f
	return f, true
}

// lead evaluates for all callers that wait for f, and releases them even if the
// evaluation panics.
func (t *table[D]) lead(ctx context.Context, at flightKey, f *flight[D], decide func() answer[D]) answer[D] {
	defer func() {
		t.mu.Lock()
		delete(t.flights, at)
		t.mu.Unlock()
		close(f.done)
	}()
	f.answer = decide()
	f.isShared = ctx.Err() == nil || f.answer.bytes > 0
	t.keep(at.key, f.answer)
	return f.answer
}

// keep keeps an answer. Its size is zero if it must not be kept. Of one that is its own
// only that is kept, so that the next caller does not wait for another one's.
func (t *table[D]) keep(key string, a answer[D]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.isOwn {
		var none D
		a.decision = none
	}
	e := &entry[D]{answer: a, weight: entryBytes + len(key) + a.bytes, first: t.finds}
	// A single large decision must not evict all others.
	if a.bytes == 0 || t.kept == nil || e.weight > t.maxBytes/64 || !a.isValid(t.now()) {
		return
	}
	t.kept.Remove(key)
	t.weight += e.weight
	t.count(1)
	t.name(key, e)
	if t.kept.Add(key, e) {
		t.metrics.CacheEvicted()
	}
	for t.weight > t.maxBytes {
		t.kept.RemoveOldest()
		t.metrics.CacheEvicted()
	}
}

// keepOver keeps an answer at another revision, with the decision as it is there.
func (t *table[D]) keepOver(key []byte, a answer[D], revision string, decision D) {
	t.metrics.CacheHit()
	t.metrics.CacheKept()
	a.revision, a.decision = revision, decision
	t.keep(string(key), a)
}

// drop removes the answers with a name, and calls dropped with each before. It takes no time for
// those of other names: decisions wait for it.
func (t *table[D]) drop(name string, dropped func(key string, a *answer[D])) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.named[name] {
		if e, ok := t.kept.Peek(key); ok {
			dropped(key, &e.answer)
			t.kept.Remove(key)
		}
	}
}

// entryBytes estimates what an entry takes besides its key and its decision.
const entryBytes = 240
