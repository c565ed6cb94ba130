package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/change/statement"
	"golang.org/x/sync/errgroup"
)

// Decider decides a question at a point by one revision, at a time that it is given; the
// zero time stands for now. It is called by several goroutines.
type Decider func(ctx context.Context, at time.Time, point string, q decision.Question) (statement.Verdict, error)

// Log is a file with records.
type Log struct {
	Name string
	In   io.Reader
}

// Options say what is replayed.
type Options struct {
	// Decide decides by the revision in question.
	Decide Decider
	// Against decides by the revision to compare with. Nil compares with the recorded
	// outcomes.
	Against Decider
	// Rules are the rules and bindings of the revision in question, whose use is counted.
	// Nil counts no use.
	Rules []statement.Rule
	// Earlier, if not nil, are those of an earlier revision. Rules and bindings that it
	// lacks are not reported as unused.
	Earlier []statement.Rule
	// Facts are values of what records may lack.
	Facts statement.Facts
	// Now, if not zero, is the time of every decision.
	Now time.Time
	// Since and Until bound the time of records; zero does not.
	Since, Until time.Time
	// Shard and Shards select the records of one of several shards; Shards is 0 or 1 for
	// all records.
	Shard, Shards int
}

// ErrEmptyLog is the error of logs without a record that can be replayed.
var ErrEmptyLog = errors.New("the logs have no event that can be replayed")

// batchSize is how many records a worker takes at once.
const batchSize = 256

// Run replays logs.
func Run(ctx context.Context, logs []Log, o Options) (*Report, error) {
	batches := make(chan []line, 2*runtime.GOMAXPROCS(0))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		return read(ctx, logs, batches)
	})
	total := newTally()
	seen := &auditIDs{known: make(map[uint64]bool)}
	var used *usage
	if o.Rules != nil {
		used = newUsage(o.Rules)
	}
	var mu sync.Mutex // held to add to total
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			w := &worker{o: &o, tally: newTally(), seen: seen, usage: used}
			for batch := range batches {
				for _, l := range batch {
					if err := w.replay(ctx, l); err != nil {
						return err
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(w.tally)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if total.replayed == 0 {
		return nil, ErrEmptyLog
	}
	report := total.report()
	if used != nil {
		report.Unused = used.report(o.Earlier)
	}
	return report, nil
}

func read(ctx context.Context, logs []Log, batches chan<- []line) error {
	var batch []line
	send := func() error {
		select {
		case batches <- batch:
			batch = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, log := range logs {
		err := readLines(log.In, log.Name, func(l line) error {
			if batch = append(batch, l); len(batch) == batchSize {
				return send()
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return send()
}

// auditIDs are the events that have been counted: of the stages of one event, only the
// first one with an outcome counts. The oldest ones are forgotten, so that memory is
// bounded; the stages of an event are close to each other.
type auditIDs struct {
	mu    sync.Mutex // held to read and change the others
	known map[uint64]bool
	order []uint64
	next  int
}

const maxAuditIDs = 1 << 17 // a few MiB

// add reports whether an event is new.
func (a *auditIDs) add(id string) bool {
	key := hash(id)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[key] {
		return false
	}
	a.known[key] = true
	if len(a.order) < maxAuditIDs {
		a.order = append(a.order, key)
		return true
	}
	delete(a.known, a.order[a.next])
	a.order[a.next] = key
	a.next = (a.next + 1) % maxAuditIDs
	return true
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // a hash returns no error
	return h.Sum64()
}

// worker replays records.
type worker struct {
	o     *Options
	tally *tally
	seen  *auditIDs
	usage *usage // nil counts no use
}

// replay counts one record.
func (w *worker) replay(ctx context.Context, l line) error {
	r, err := parse(l.text)
	if err == nil && !w.isIn(r) || err != nil && !w.isShard(string(l.text)) {
		return nil
	}
	w.tally.events++
	var reason skipped
	if err == nil && r.auditID != "" && !w.seen.add(r.auditID) {
		err = skipped(skipRepeated)
	}
	if err == nil && r.outcome == "" && w.o.Against == nil {
		err = skipped(skipOutcome)
	}
	if errors.As(err, &reason) {
		w.tally.skip(string(reason), l)
		return nil
	}
	return w.compare(ctx, r, l)
}

// isIn reports whether a record is in the window and in the shard.
func (w *worker) isIn(r *record) bool {
	if !w.o.Since.IsZero() && r.time.Before(w.o.Since) || !w.o.Until.IsZero() && r.time.After(w.o.Until) {
		return false
	}
	return w.isShard(r.user)
}

func (w *worker) isShard(text string) bool {
	return w.o.Shards < 2 || int(hash(text)%uint64(w.o.Shards)) == w.o.Shard //nolint:gosec // Shards is positive
}

// compare decides a record and counts the result.
func (w *worker) compare(ctx context.Context, r *record, l line) error {
	at := r.time
	if !w.o.Now.IsZero() {
		at = w.o.Now
	}
	before, after, err := w.pair(ctx, at, r, r.question)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.tally.skip(skipInvalid, l)
		return nil
	}
	w.tally.replayed++
	w.tally.window(r.time)
	if w.usage != nil {
		w.usage.use(r, after)
	}
	w.fidelity(r, before, after)
	from := before.Outcome
	if from == forbidden {
		if from = "none"; after.Outcome == "deny" || after.Outcome == "none" {
			w.tally.unchanged++
			return nil
		}
	}
	fact, varies, err := w.uncertain(ctx, at, r, before, after)
	if err != nil {
		return fmt.Errorf("decide a record of %s:%d: %w", l.file, l.number, err)
	}
	switch {
	case varies:
		w.tally.uncertain[fact]++
	case from == after.Outcome:
		w.tally.unchanged++
	default:
		w.tally.change(r, from, before, after)
	}
	return nil
}

// pair returns the outcomes to compare: those of both revisions, or the recorded one and
// that of the revision in question.
func (w *worker) pair(ctx context.Context, at time.Time, r *record, q decision.Question) (before, after statement.Verdict, err error) {
	if after, err = w.o.Decide(ctx, at, r.point, q); err != nil {
		return before, after, err
	}
	if w.o.Against == nil {
		return statement.Verdict{Outcome: r.outcome}, after, nil
	}
	before, err = w.o.Against(ctx, at, r.point, q)
	return before, after, err
}

// fidelity compares the recorded outcome with that of the revision that is compared with.
func (w *worker) fidelity(r *record, before, after statement.Verdict) {
	if r.outcome == "" {
		return
	}
	decided := after.Outcome
	if w.o.Against != nil {
		decided = before.Outcome
	}
	if decided == r.outcome || r.outcome == forbidden && (decided == "deny" || decided == "none") {
		w.tally.agree++
	} else {
		w.tally.differ++
	}
}

// uncertain reports whether the outcomes rest on a fact that the record lacks, and which
// one. A change with every value of the fact is certain.
func (w *worker) uncertain(ctx context.Context, at time.Time, r *record, before, after statement.Verdict) (string, bool, error) {
	for _, fact := range w.o.lacking(r, before, after) {
		if fact.open {
			if isSettled(before) && isSettled(after) {
				continue
			}
			return fact.name, true, nil
		}
		base := cmp.Or(before.Outcome, forbidden) + " " + after.Outcome
		same, changed := true, before.Outcome != after.Outcome
		for _, q := range fact.variants {
			b, a, err := w.pair(ctx, at, r, q)
			if err != nil {
				return "", false, err
			}
			same = same && b.Outcome+" "+a.Outcome == base
			changed = changed && b.Outcome != a.Outcome
		}
		if !same && !changed {
			return fact.name, true, nil
		}
	}
	return "", false, nil
}

// isSettled reports whether the outcome is the same whether or not restrictions hold: another
// rule allows the request, or a deny policy denies it.
func isSettled(v statement.Verdict) bool {
	d := readDecision(v)
	return v.Outcome == "allow" || v.Decision == nil || len(d.Matched) > 0 && d.Matched[0].Kind == "DenyPolicy"
}
