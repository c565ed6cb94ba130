package cache

import (
	"context"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator/dates"
)

// table keeps the decisions of one point by the keys of their requests, in the order of
// their last use. It is safe for concurrent use.
type table[D any] struct {
	metrics    *metrics.Metrics
	now        func() time.Time
	maxEntries int // with zero or less, nothing is kept
	maxBytes   int
	count      func(change int) // records how the number of entries changes

	mu      sync.Mutex // held to read and write the fields below, never while evaluating
	entries map[string]*entry[D]
	uses    entry[D] // head of a list whose ends are linked: next is the newest entry
	weight  int      // estimated bytes of all entries
	flights map[flightKey]*flight[D]
}

// entry is a decision. Apart from its links it is immutable.
type entry[D any] struct {
	answer[D]
	key            string
	weight         int
	next, previous *entry[D]
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
		metrics: m, now: now, maxEntries: entries, maxBytes: bytes, count: count,
		entries: make(map[string]*entry[D]), flights: make(map[flightKey]*flight[D]),
	}
	t.uses.next, t.uses.previous = &t.uses, &t.uses
	return t
}

// find returns the answer for a key, or nil if the table has no answer that is valid now.
// The clock is read only for an answer that ends.
func (t *table[D]) find(key []byte, now func() time.Time) *answer[D] {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.entries[string(key)]
	if e == nil {
		return nil
	}
	if e.ends() && !e.isValid(now()) {
		t.remove(e)
		return nil
	}
	e.unlink()
	e.linkAfter(&t.uses)
	return &e.answer
}

func (a *answer[D]) ends() bool { return !a.expires.IsZero() || a.span.IsLimited() }

func (a *answer[D]) isValid(now time.Time) bool {
	return (a.expires.IsZero() || now.Before(a.expires)) && a.covers(now)
}

// covers reports whether no document that matters to the request begins or ends between a
// time and that of the decision.
func (a *answer[D]) covers(now time.Time) bool {
	return !a.span.IsLimited() || a.span.Contains(dates.Of(now))
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
		case f.isShared && (f.answer.isOwn || !f.answer.covers(clock())):
			// It is for its caller alone, or of a time that is over.
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
	e := &entry[D]{answer: a, key: key, weight: entryBytes + len(key) + a.bytes}
	// A single large decision must not evict all others.
	if a.bytes == 0 || e.weight > t.maxBytes/64 || t.maxEntries <= 0 || !a.isValid(t.now()) {
		return
	}
	if earlier := t.entries[key]; earlier != nil {
		t.remove(earlier)
	}
	t.entries[key] = e
	e.linkAfter(&t.uses)
	t.weight += e.weight
	t.count(1)
	for len(t.entries) > t.maxEntries || t.weight > t.maxBytes {
		t.remove(t.uses.previous)
		t.metrics.CacheEvicted()
	}
}

// remove removes an entry. It is called with mu held.
func (t *table[D]) remove(e *entry[D]) {
	delete(t.entries, e.key)
	e.unlink()
	t.weight -= e.weight
	t.count(-1)
}

func (e *entry[D]) unlink() { e.previous.next, e.next.previous = e.next, e.previous }

func (e *entry[D]) linkAfter(head *entry[D]) {
	e.previous, e.next = head, head.next
	e.previous.next, e.next.previous = e, e
}

// entryBytes estimates what an entry takes besides its key and its decision.
const entryBytes = 200
