package explore

import (
	"bytes"
	"encoding/json"
	"math"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
)

// recorder keeps the last decisions. Writers do not wait: a decision beyond the quota of its
// interval is dropped and counted, because encoding takes as long as a cached decision.
type recorder struct {
	entries []atomic.Pointer[view.Entry]
	next    atomic.Uint64 // ID of the last entry, from 1
	left    atomic.Int64  // what may be recorded until the next refill
	dropped atomic.Uint64
}

// quota is how many decisions are recorded in an interval of refillEvery.
const (
	quota       = 250
	refillEvery = 250 * time.Millisecond
)

// maxText bounds the request and the decision of an entry, in bytes.
const maxText = 16 << 10

func newRecorder(size int) *recorder {
	r := &recorder{entries: make([]atomic.Pointer[view.Entry], size)}
	r.refill()
	return r
}

func (r *recorder) refill() { r.left.Store(quota) }

// record records a decision and returns its entry, or nil if it was dropped.
func (r *recorder) record(o *decision.Observation, now time.Time) *view.Entry {
	if len(r.entries) == 0 {
		return nil
	}
	if r.left.Add(-1) < 0 {
		r.dropped.Add(1)
		return nil
	}
	e := &view.Entry{
		Time: now, Point: o.Point, Endpoint: o.Endpoint, Outcome: outcomeWord(o.Outcome),
		Request: withoutPod(o.Input()), Decision: bounded(o.Result()),
		Microseconds: micros(o.Took), Cached: o.Cached, Revision: o.Revision,
	}
	e.ID = r.next.Add(1)
	r.entries[(e.ID-1)%uint64(len(r.entries))].Store(e)
	return e
}

// withoutPod returns a request without its pod, which may hold secrets and is long.
func withoutPod(request []byte) json.RawMessage {
	if !bytes.Contains(request, []byte(`pod"`)) && !bytes.Contains(request, []byte(`\u`)) {
		return bounded(request) // without a key that is, however it is written, "pod"
	}
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(request, &members); err != nil {
		return bounded(request)
	}
	if _, ok := members["pod"]; !ok {
		return bounded(request)
	}
	delete(members, "pod")
	text, err := json.Marshal(members)
	if err != nil {
		return json.RawMessage("null")
	}
	return bounded(text)
}

// bounded returns a copy of JSON text, or null if it is too long to be kept.
func bounded(text []byte) json.RawMessage {
	if len(text) > maxText {
		return json.RawMessage("null")
	}
	return append(json.RawMessage(nil), text...)
}

// each calls f for the entries before an ID, newest first, until it returns false. Zero is
// before all.
func (r *recorder) each(before uint64, f func(*view.Entry) bool) {
	last := r.next.Load()
	if before != 0 && before <= last {
		last = before - 1
	}
	for id := last; id > 0 && last-id < uint64(len(r.entries)); id-- {
		// A slot may hold a newer entry, or not be written yet.
		e := r.entries[(id-1)%uint64(len(r.entries))].Load()
		if e != nil && e.ID == id && !f(e) {
			return
		}
	}
}

// outcomeWord is the word of the console for an outcome.
func outcomeWord(o decision.Outcome) string {
	switch o {
	case decision.Allow:
		return view.Allow
	case decision.Deny:
		return view.Deny
	case decision.EvaluationError:
		return view.Failed
	case decision.NoOpinion:
	}
	return view.None
}

// micros returns a duration in microseconds, with one decimal.
func micros(d time.Duration) float64 { return math.Round(d.Seconds()*1e7) / 10 }
