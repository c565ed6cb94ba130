package answers

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
)

// ratePoints are the points that are kept, each of rateStep seconds: 15 minutes.
const (
	rateStep   = 5
	ratePoints = 180
)

// meter counts decisions and how long they took.
type meter struct {
	outcomes [4]atomic.Uint64 // by decision.Outcome
	hits     atomic.Uint64
	took     [buckets]atomic.Uint64
}

// buckets are four for each power of two of nanoseconds, so that a quantile is at most an
// eighth off.
const buckets = 4 * 64

func (m *meter) count(o *decision.Observation) {
	m.outcomes[o.Outcome].Add(1)
	if o.Cached {
		m.hits.Add(1)
	}
	m.took[bucketOf(o.Took)].Add(1)
}

// bucketOf returns the bucket of a duration: its power of two, and the two bits below.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 8)) // below, no bucket has a middle
	power := bits.Len64(n) - 1
	return 4*power + int(n>>(power-2)&3)
}

// middle returns the middle of a bucket.
func middle(bucket int) time.Duration {
	power := bucket / 4
	return time.Duration((1 << power) + (2*(bucket%4)+1)<<(power-3))
}

// totals is a reading of a meter.
type totals struct {
	outcomes [4]uint64
	hits     uint64
	took     [buckets]uint64
}

func (m *meter) read() *totals {
	t := new(totals)
	for i := range m.outcomes {
		t.outcomes[i] = m.outcomes[i].Load()
	}
	t.hits = m.hits.Load()
	for i := range m.took {
		t.took[i] = m.took[i].Load()
	}
	return t
}

// since returns what was counted after an earlier reading, as a point of some seconds.
func (t *totals) since(earlier *totals, seconds float64, at time.Time) console.RatePoint {
	rate := func(o decision.Outcome) float64 { return float64(t.outcomes[o]-earlier.outcomes[o]) / seconds }
	p := console.RatePoint{
		Time: at, Allow: rate(decision.Allow), Deny: rate(decision.Deny), None: rate(decision.NoOpinion), Error: rate(decision.EvaluationError),
	}
	if all := p.PerSecond() * seconds; all > 0 {
		p.Hits = min(float64(t.hits-earlier.hits)/all, 1) // a decision may be counted between the readings
		p.P50, p.P99 = t.quantile(earlier, 0.50), t.quantile(earlier, 0.99)
	}
	return p
}

// quantile returns a quantile of the durations after an earlier reading, in microseconds.
func (t *totals) quantile(earlier *totals, q float64) float64 {
	var all, seen uint64
	for i := range t.took {
		all += t.took[i] - earlier.took[i]
	}
	for i := range t.took {
		if seen += t.took[i] - earlier.took[i]; seen > 0 && float64(seen) >= q*float64(all) {
			return micros(middle(i))
		}
	}
	return 0
}

// rates are the points of the last 15 minutes.
type rates struct {
	meter meter

	mu     sync.Mutex // held to read and write the fields below
	points []console.RatePoint
	second *totals // the last readings of a second and of a point
	step   *totals
	ticks  int
}

// tick is called each second. It returns the rates of that second.
func (r *rates) tick(now time.Time) console.RatesEvent {
	read := r.meter.read()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.second == nil {
		r.second, r.step = new(totals), new(totals)
	}
	p := read.since(r.second, 1, now)
	r.second = read
	if r.ticks++; r.ticks%rateStep == 0 {
		r.points = append(r.points, read.since(r.step, rateStep, now))
		r.points = r.points[max(0, len(r.points)-ratePoints):]
		r.step = read
	}
	return console.RatesEvent{PerSecond: p.PerSecond(), CacheHitRatio: p.Hits, P50: p.P50, P99: p.P99}
}

func (r *rates) view() *console.Rates {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &console.Rates{Step: rateStep, Points: append([]console.RatePoint{}, r.points...)}
}
