package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// shown is how many of the wrong answers and of the failures are printed.
const shown = 5

// report is what was seen. Its methods are safe for concurrent use.
type report struct {
	options
	// opened counts the slow and idle connections, and refused those that the server
	// did not accept.
	opened, refused atomic.Int64
	// exceeded counts the bodies and headers over the bound that were refused.
	exceeded atomic.Int64
	// before and closed are samples of the server without connections, samples those of
	// each minute, and peak is its largest resident memory in bytes.
	before, closed sample
	samples        []sample
	peak           int
	wrkAnswers     int // that wrk counted

	mu             sync.Mutex
	took           []time.Duration // by each answer
	reloads        int
	revision       string
	wrongs, failed int
	examples       []string
	latest         map[string]time.Time // when each revision was seen last
}

func newReport(o options) *report { return &report{options: o, latest: make(map[string]time.Time)} }

// answered counts an answer. Another revision than that of the answer before is a reload,
// unless a slower answer of the revision before it comes late.
func (r *report) answered(revision string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = append(r.took, took)
	now := time.Now()
	if seen := r.latest[revision]; revision != r.revision && (seen.IsZero() || now.Sub(seen) > time.Second) {
		r.revision = revision
		r.reloads++
	}
	r.latest[revision] = now
}

func (r *report) wrong(example string) { r.count(&r.wrongs, "wrong: "+example) }
func (r *report) fail(err error)       { r.count(&r.failed, "failed: "+err.Error()) }

func (r *report) count(counter *int, example string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*counter++
	if *counter <= shown {
		r.examples = append(r.examples, example)
	}
}

// text is the report for people.
func (r *report) text() string {
	slices.Sort(r.took)
	var b strings.Builder
	fmt.Fprintf(&b, "%d clients, %d slow and %d idle connections, documents saved every %s, for %s\n", r.clients, r.slow, r.idle, r.every, r.duration)
	for _, row := range []struct {
		name  string
		value any
	}{
		{"answers", len(r.took)}, {"wrong", r.wrongs}, {"failed", r.failed}, {"revisions activated", r.reloads},
		{"p50", r.quantile(0.5)}, {"p99", r.quantile(0.99)}, {"slowest", r.quantile(1)},
		{"connections opened, slow and idle", r.opened.Load()}, {"connections refused", r.refused.Load()},
		{"bodies and headers over the bound", r.exceeded.Load()},
		{"answers that wrk counted", r.wrkAnswers}, {"peak of resident memory, MiB", r.peak >> 20},
	} {
		fmt.Fprintf(&b, "  %-34s %12v\n", row.name, row.value)
	}
	fmt.Fprintf(&b, "  %-34s %12s %13s %12s\n", "", "resident MiB", "live heap MiB", "goroutines")
	r.before.write(&b, "at the start")
	for _, s := range r.samples {
		s.write(&b, "after "+s.at.String())
	}
	r.closed.write(&b, "connections closed")
	for _, example := range r.examples {
		fmt.Fprintf(&b, "  %.400s\n", example)
	}
	return b.String()
}

func (s *sample) write(b *strings.Builder, name string) {
	live := "-"
	if s.live > 0 {
		live = fmt.Sprint(s.live >> 20)
	}
	fmt.Fprintf(b, "  %-34s %12d %13s %12d\n", name, s.resident>>20, live, s.goroutines)
}

func (r *report) quantile(q float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(len(r.took)-1, int(q*float64(len(r.took))))].Round(10 * time.Microsecond)
}

// failure is why the report is not that of a server that withstood the load.
func (r *report) failure() error {
	switch {
	case r.wrongs > 0 || r.failed > 0:
		return fmt.Errorf("%d answers are wrong and %d requests failed", r.wrongs, r.failed)
	case r.exceeded.Load() == 0:
		return errors.New("no body and no header over the bound was refused")
	case len(r.took) == 0 || r.reloads < 2:
		return errors.New("the server did not answer, or activated no other revision")
	}
	return nil
}
