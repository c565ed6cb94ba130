package answers

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/console"
)

// Bounds of events: subscribers at a time, events that are kept for those that come back,
// events that wait for a subscriber, and decisions a second that are sent.
const (
	maxSubscribers = 64
	maxKept        = 50
	maxWaiting     = 64
	maxDecisions   = 10
)

// events passes events on to subscribers. A slow subscriber misses events: it must not
// hold up the others.
type events struct {
	mu          sync.Mutex // held to read and write the fields below; sending does not block
	last        int64
	kept        []console.Event // the newest last
	subscribers map[*subscriber]struct{}
	isClosed    bool
	sent, more  int // decisions of this second that were sent, and that were only counted
}

type subscriber struct {
	out       chan console.Event
	decisions bool
}

// add sends an event and keeps it for those that come back.
func (e *events) add(name string, data any, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	event := console.Event{ID: e.last, Time: now, Name: name, Data: data}
	e.kept = append(e.kept, event)
	e.kept = e.kept[max(0, len(e.kept)-maxKept):]
	e.send(event)
}

// send sends an event to the subscribers that want it. It is called with mu held.
func (e *events) send(event console.Event) {
	for s := range e.subscribers {
		if event.Name == console.EventDecision && !s.decisions {
			continue
		}
		select {
		case s.out <- event:
		default:
		}
	}
}

// decided sends a recorded decision, at most maxDecisions a second. entry is nil if it was
// not recorded.
func (e *events) decided(entry *console.Entry) {
	if !e.mu.TryLock() { // decisions do not wait
		return
	}
	defer e.mu.Unlock()
	if len(e.subscribers) == 0 {
		return
	}
	if entry == nil || e.sent >= maxDecisions {
		e.more++
		return
	}
	e.sent++
	e.send(console.Event{Name: console.EventDecision, Data: entry})
}

// tick ends a second.
func (e *events) tick(r console.RatesEvent, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send(console.Event{Name: console.EventRates, Time: now, Data: r})
	if e.more > 0 {
		e.send(console.Event{Name: console.EventDecision, Time: now, Data: console.DecisionsEvent{More: e.more}})
	}
	e.sent, e.more = 0, 0
}

// list returns the kept events, newest first.
func (e *events) list() []console.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := slices.Clone(e.kept)
	slices.Reverse(list)
	return list
}

// Subscribe implements console.Console.
func (x *Explorer) Subscribe(ctx context.Context, c console.Caller, after int64, decisions bool) (<-chan console.Event, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	e := &x.events
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.subscribers) >= maxSubscribers {
		return nil, console.Errorf(console.Busy, "there are %d event streams already", maxSubscribers)
	}
	s := &subscriber{out: make(chan console.Event, maxWaiting), decisions: decisions}
	for _, event := range e.kept {
		if after > 0 && event.ID > after {
			s.out <- event // maxKept is less than maxWaiting
		}
	}
	if e.subscribers == nil {
		e.subscribers = make(map[*subscriber]struct{})
	}
	e.subscribers[s] = struct{}{}
	if e.isClosed {
		e.end(s)
	}
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.end(s)
	})
	return s.out, nil
}

// end ends a subscription. It is called with mu held, and may be called again.
func (e *events) end(s *subscriber) {
	if _, ok := e.subscribers[s]; ok {
		delete(e.subscribers, s)
		close(s.out)
	}
}

// Close ends all subscriptions and those to come, so that a server that stops does not wait
// for them.
func (x *Explorer) Close() {
	e := &x.events
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isClosed = true
	for s := range e.subscribers {
		e.end(s)
	}
}
