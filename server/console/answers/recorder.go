package answers

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// recorder keeps the last decisions. Writers do not wait: a decision beyond the quota of its
// interval is dropped and counted, because encoding takes as long as a cached decision.
type recorder struct {
	entries []atomic.Pointer[console.Entry]
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
	r := &recorder{entries: make([]atomic.Pointer[console.Entry], size)}
	r.refill()
	return r
}

func (r *recorder) refill() { r.left.Store(quota) }

// record records a decision and returns its entry, or nil if it was dropped.
func (r *recorder) record(o *decision.Observation, now func() time.Time) *console.Entry {
	if len(r.entries) == 0 {
		return nil
	}
	if r.left.Add(-1) < 0 {
		r.dropped.Add(1)
		return nil
	}
	request, hadPod := withoutPod(o.Input())
	e := &console.Entry{
		Time: now(), Point: o.Point, Endpoint: o.Endpoint, Outcome: outcomeWord(o.Outcome),
		Request: request, WithoutPod: hadPod, Decision: bounded(o.Result()),
		Microseconds: micros(o.Took), Cached: o.Cached, Revision: o.Revision,
	}
	e.ID = r.next.Add(1)
	r.keep(e)
	return e
}

// keep puts an entry into its slot, unless a goroutine that was faster has put a newer one there.
func (r *recorder) keep(e *console.Entry) {
	slot := &r.entries[(e.ID-1)%uint64(len(r.entries))]
	for {
		old := slot.Load()
		if old != nil && old.ID > e.ID || slot.CompareAndSwap(old, e) {
			return
		}
	}
}

// withoutPod returns a request without its pod, which may hold secrets and is long, and whether
// it had one.
func withoutPod(request []byte) (json.RawMessage, bool) {
	if !bytes.Contains(request, []byte(`pod"`)) && !bytes.Contains(request, []byte(`\u`)) {
		return bounded(request), false // without a key that is, however it is written, "pod"
	}
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(request, &members); err != nil {
		return bounded(request), false
	}
	pod, ok := members["pod"]
	if !ok || string(pod) == "null" {
		return bounded(request), false
	}
	delete(members, "pod")
	text, err := json.Marshal(members)
	if err != nil {
		return json.RawMessage("null"), true
	}
	return bounded(text), true
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
func (r *recorder) each(before uint64, f func(*console.Entry) bool) {
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
		return console.Allow
	case decision.Deny:
		return console.Deny
	case decision.EvaluationError:
		return console.Failed
	case decision.NoOpinion:
	}
	return console.None
}

// micros returns a duration in microseconds, with one decimal.
func micros(d time.Duration) float64 { return math.Round(d.Seconds()*1e7) / 10 }

// Log implements console.Viewer.
func (v *viewer) Log(ctx context.Context, c console.Caller, q console.LogQuery) (*console.Log, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	recorded := v.x.recorder
	out := &console.Log{Decisions: []console.Entry{}, Dropped: recorded.dropped.Load(), Size: len(recorded.entries)}
	limit := rowsOf(q.Limit)
	recorded.each(q.Before, func(e *console.Entry) bool {
		if !fits(e, &q) {
			return true
		}
		if len(out.Decisions) == limit {
			out.After = out.Decisions[limit-1].ID
			return false
		}
		entry := *e
		entry.Now = v.outcomeNow(ctx, e)
		out.Decisions = append(out.Decisions, entry)
		return true
	})
	if ctx.Err() != nil { // decisions that were not made are not those of now
		return nil, console.Errorf(console.Busy, "the decisions of the log took too long to make again; ask for fewer")
	}
	return out, nil
}

// fits reports whether a query selects an entry.
func fits(e *console.Entry, q *console.LogQuery) bool {
	if q.Outcome != "" && e.Outcome != q.Outcome || q.Point != "" && e.Point != q.Point || !has(e.Endpoint, q.Endpoint) {
		return false
	}
	if q.User == "" && q.Resource == "" && q.Namespace == "" {
		return true
	}
	var r struct {
		User      string `json:"user"`
		Resource  string `json:"resource"`
		Type      string `json:"type"`
		Namespace string `json:"namespace"`
	}
	if err := json.Unmarshal(e.Request, &r); err != nil {
		return false // of another point: its members are objects
	}
	return has(r.User, q.User) && has(r.Resource+r.Type, q.Resource) && has(r.Namespace, q.Namespace)
}

// has reports whether a text contains another one, in any case.
func has(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// outcomeNow returns the outcome of a recorded request at the present revision, if it
// differs. A request whose pod was not recorded cannot be decided again, nor one that was too long
// to be recorded.
func (v *viewer) outcomeNow(ctx context.Context, e *console.Entry) string {
	point, ok := decision.FindPoint(e.Point)
	if !ok || v.Revision() == "" || v.Revision() == e.Revision || e.WithoutPod {
		return ""
	}
	q, err := point.Decode(e.Request, v.x.o.ClusterLabels)
	if err != nil {
		return ""
	}
	answer, refused := q.Decide(ctx, v.policies.At(v.x.o.Now()))
	if refused != nil {
		return ""
	}
	if outcome := answer.Settle(); outcomeWord(outcome) != e.Outcome {
		return outcomeWord(outcome)
	}
	return ""
}
