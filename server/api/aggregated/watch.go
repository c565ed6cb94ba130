package aggregated

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/lists"
	"github.com/writ-policy/writ/server/metrics"
)

// Bounds of watches.
const (
	maxWatches       = 1000
	maxCallerWatches = 10
	maxWatchedItems  = 4_000_000 // of the lists that all of them keep
	// together is the time in which several changes are made to one.
	together = 200 * time.Millisecond
	// watchTime is how long a watch lasts at least whose client states no time; at most twice
	// as long, so that many do not end together.
	watchTime = 30 * time.Minute
	// chunk is how many bytes of events are sent at a time.
	chunk = 64 << 10
)

// watches counts the watches, and what they keep.
type watches struct {
	mu       sync.Mutex
	all      int
	byCaller map[string]int
	items    *limits.Budget
}

// enter takes a place for a watch of a caller. It returns false if all are taken.
func (s *watches) enter(caller string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxWatches || s.byCaller[caller] >= maxCallerWatches {
		return false
	}
	if s.byCaller == nil {
		s.byCaller = make(map[string]int)
	}
	s.all++
	s.byCaller[caller]++
	return true
}

func (s *watches) leave(caller string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.byCaller[caller]--; s.byCaller[caller] == 0 {
		delete(s.byCaller, caller)
	}
}

var (
	manyWatches = &exchange.Refusal{Status: http.StatusTooManyRequests, Message: "too many watches: a user may have 10, and all together 1,000", Reason: metrics.ManyWatches}
	largeWatch  = &exchange.Refusal{Status: http.StatusTooManyRequests, Message: "the lists of all watches take too much memory", Reason: metrics.ManyWatches}
	unknownList = expired("the resourceVersion is not one of this process, or its list is not kept: list again")
)

// stream is a watch: the list that its client has, and the connection.
type stream struct {
	a      *API
	q      *query
	form   *form
	w      http.ResponseWriter
	buffer []byte

	last   *lists.List // nil until the client has one
	number uint64      // that the client knows for last; zero for none
	isOpen bool        // the header is written
}

// watch sends changes until the client leaves or its time is over. A refusal is returned
// before anything is written.
func (a *API) watch(w http.ResponseWriter, r *http.Request, q *query, f *form) *exchange.Refusal {
	if !a.watches.enter(q.User) {
		return manyWatches
	}
	defer a.watches.leave(q.User)
	s := &stream{a: a, q: q, form: f, w: w}
	defer s.end()
	lasts := watchTime + rand.N(watchTime)
	if seconds := q.options.TimeoutSeconds; seconds != nil && *seconds > 0 {
		lasts = min(time.Duration(min(*seconds, 1<<30))*time.Second, 2*watchTime)
	}
	admitted, end := a.Service.WhileAdmitted(r, auth.Authenticated, nil)
	defer end()
	ctx, cancel := context.WithTimeout(admitted, lasts)
	defer cancel()
	if refused := s.begin(); refused != nil {
		s.fail(refused)
		return nil
	}
	for {
		again, refused := s.update(ctx)
		switch {
		case refused != nil && !s.isOpen:
			return refused
		case refused != nil && ctx.Err() == nil:
			s.fail(refused)
			return nil
		case refused != nil || !again:
			return nil
		}
	}
}

// begin finds the list that the client has.
func (s *stream) begin() *exchange.Refusal {
	o := &s.q.options
	switch {
	case o.SendInitialEvents != nil && *o.SendInitialEvents:
		s.last = new(lists.List)
	case o.ResourceVersion != "" && o.ResourceVersion != "0":
		number, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
		if err == nil {
			s.last, s.number = s.a.versions.At(s.q.key(), number), number
		}
		if s.last == nil {
			return unknownList
		}
	}
	if s.last != nil && !s.a.watches.items.Acquire(int64(len(s.last.Items))) {
		s.last = nil
		return largeWatch
	}
	return nil
}

// update makes the list, sends the differences, and waits until the list may be another. It
// returns false at the end.
func (s *stream) update(ctx context.Context) (bool, *exchange.Refusal) {
	changed := s.a.Changed() // before the revision is read: no activation is missed
	p := s.a.Service.Current()
	list, space, refused := s.a.make(ctx, p, s.q)
	if refused != nil {
		return false, refused
	}
	if !s.a.watches.items.Acquire(int64(len(list.Items))) {
		return false, largeWatch
	}
	isSent := s.send(list)
	if !isSent {
		s.a.watches.items.Release(int64(len(list.Items)))
		return false, nil
	}
	var until <-chan time.Time
	if list.Until != nil {
		if end, err := time.Parse(time.RFC3339Nano, *list.Until); err == nil {
			until = time.After(max(end.Sub(p.Now()), 0) + time.Millisecond)
		}
	}
	select {
	case <-ctx.Done():
		return false, nil
	case <-changed:
	case <-space.Changed:
	case <-until:
	}
	select {
	case <-ctx.Done():
		return false, nil
	case <-time.After(together):
		return true, nil
	}
}

// send sends what differs from the list that the client has, and keeps the new one.
func (s *stream) send(list *lists.List) bool {
	number, isFirst := s.a.versions.Of(s.q.key(), list), !s.isOpen
	s.open()
	var changes []lists.Change
	if s.last != nil {
		changes = lists.Changes(s.last, list)
	}
	for i, c := range changes {
		// The last event has the number of the list. Who got only some of them lists again.
		n := number - min(uint64(len(changes)-1-i), lists.Steps)
		event, item := watch.Modified, c.After
		switch {
		case c.After == nil:
			event, item = watch.Deleted, c.Before
		case c.Before == nil:
			event = watch.Added
		}
		if !s.event(event, s.form.one(s.q, item, n)) {
			return false
		}
	}
	if s.q.options.AllowWatchBookmarks {
		isInitial := isFirst && s.q.options.SendInitialEvents != nil && *s.q.options.SendInitialEvents
		if !s.event(watch.Bookmark, s.bookmark(number, isInitial)) {
			return false
		}
	}
	if !s.flush() {
		return false
	}
	if s.last != nil {
		s.a.watches.items.Release(int64(len(s.last.Items)))
	}
	s.last = list
	if len(changes) > 0 || s.q.options.AllowWatchBookmarks {
		s.number = number
	}
	return true
}

// bookmark is an object that has a number alone.
func (s *stream) bookmark(number uint64, isInitial bool) any {
	about := metav1.ObjectMeta{ResourceVersion: strconv.FormatUint(number, 10)}
	if isInitial {
		about.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	switch s.form.as {
	case "Table":
		t := s.form.table(s.q, nil, metav1.ListMeta{ResourceVersion: about.ResourceVersion}, number)
		// Where else a table has annotations: clients look for them in the object of a row.
		t.Rows = []metav1.TableRow{{Cells: []any{"", "", ""}}}
		t.Rows[0].Object.Object = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: metadata, APIVersion: metaVersion}, ObjectMeta: about}
		return t
	case metadata:
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: metadata, APIVersion: metaVersion}, ObjectMeta: about}
	}
	return struct {
		metav1.TypeMeta
		metav1.ObjectMeta `json:"metadata"`
	}{metav1.TypeMeta{Kind: kind, APIVersion: ownVersion}, about}
}

// open begins the answer. Errors of deadlines are those of writers that are not connections.
func (s *stream) open() {
	if s.isOpen {
		return
	}
	s.isOpen = true
	_ = http.NewResponseController(s.w).SetReadDeadline(time.Time{})
	s.w.Header()["Content-Type"] = exchange.JSON
	s.w.WriteHeader(http.StatusOK)
}

// event sends an event, together with others.
func (s *stream) event(name watch.EventType, object any) bool {
	text := jsontext.Marshal(map[string]any{"type": name, "object": object})
	s.buffer = append(append(s.buffer, text...), '\n')
	return len(s.buffer) < chunk || s.flush()
}

func (s *stream) flush() bool {
	piece := s.buffer
	s.buffer = s.buffer[:0]
	return exchange.Push(s.w, piece)
}

// fail ends the watch with an error.
func (s *stream) fail(refused *exchange.Refusal) {
	s.open()
	_, _, body := exchange.Status(refused)
	if s.event(watch.Error, json.RawMessage(body)) {
		s.flush()
	}
}

// end releases what the watch keeps. The list remains known for a client that comes back.
func (s *stream) end() {
	if s.last == nil {
		return
	}
	s.a.watches.items.Release(int64(len(s.last.Items)))
	if s.number != 0 {
		s.a.versions.Keep(s.q.key(), s.number, s.last)
	}
}
