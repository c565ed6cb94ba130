package replay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
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
	// Used are the documents of the revision in question, the use of whose rules and bindings
	// is counted. Nil counts no use.
	Used *statement.World
	// Earlier, if not nil, are those of an earlier revision. Rules and bindings that it
	// lacks are not reported as unused.
	Earlier *statement.World
	// OnlyLosses takes what Decide allows, and what was not allowed when it was recorded, as
	// unchanged, without asking Against.
	OnlyLosses bool
	// Observe, if not nil, is called with each event that was decided, by several goroutines.
	// Then nothing is compared, and records without an outcome are events too.
	Observe func(*Event)
	// Facts are values of what records may lack.
	Facts statement.Facts
	// Now, if not zero, is the time of every decision.
	Now time.Time
	// Cluster is that of records which carry none, such as audit events; empty for none.
	Cluster string
	// Since and Until bound the time of records; zero does not.
	Since, Until time.Time
	// Select, if not nil, selects records by the hash of their text.
	Select func(hash uint64) bool
	// Shard and Shards select the records of one of several shards; Shards is 0 or 1 for
	// all records.
	Shard, Shards int
	// AllowEmpty accepts logs without a record that can be replayed.
	AllowEmpty bool
}

// ErrEmptyLog is the error of logs without a record that can be replayed.
var ErrEmptyLog = errors.New("the logs have no event that can be replayed")

// batchSize is how many records a worker takes at once.
const batchSize = 256

// Run replays logs.
func Run(ctx context.Context, logs []Log, o Options) (*Report, error) {
	batches := make(chan batch, 2*runtime.GOMAXPROCS(0))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(batches)
		return read(ctx, logs, batches)
	})
	total := newTally()
	seen := newAuditIDs()
	var used *usage
	if o.Used != nil {
		used = newUsage(o.Used)
	}
	var mu sync.Mutex // held to add to total
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			w := &worker{o: &o, tally: newTally(), seen: seen, usage: used}
			for b := range batches {
				if err := w.replay(ctx, b); err != nil {
					return err
				}
				progress.FromContext(ctx).Count(int64(len(b.lines)), "records")
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
	if total.replayed == 0 && o.Shards < 2 && !o.AllowEmpty { // the log of one shard may be empty
		return nil, ErrEmptyLog
	}
	report := total.report()
	if used != nil {
		report.Unused = used.report(o.Earlier)
	}
	return report, nil
}

// batch is some records of the logs, and its number.
type batch struct {
	number int
	lines  []line
}

func read(ctx context.Context, logs []Log, batches chan<- batch) error {
	var b batch
	send := func() error {
		select {
		case batches <- b:
			b = batch{number: b.number + 1}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, log := range logs {
		err := readLines(log.In, log.Name, func(l line) error {
			if b.lines = append(b.lines, l); len(b.lines) == batchSize {
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
	turn  sync.Cond  // the next batch is another
	batch int        // the next one, so that the first stage is that of the log
	known map[uint64]bool
	order []uint64
	next  int
}

const maxAuditIDs = 1 << 17 // a few MiB

func newAuditIDs() *auditIDs {
	a := &auditIDs{known: make(map[uint64]bool)}
	a.turn.L = &a.mu
	return a
}

// markRepeated marks the records of a batch that repeat an event. It waits for the batches
// before: workers take them in order, so that each of those is being parsed.
func (a *auditIDs) markRepeated(batch int, records []*record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.batch != batch {
		a.turn.Wait()
	}
	for _, r := range records {
		if r != nil && r.skip == "" && r.auditID != "" && !a.add(hash(r.auditID)) {
			r.skip = skipRepeated
		}
	}
	a.batch++
	a.turn.Broadcast()
}

// add reports whether an event is new.
func (a *auditIDs) add(key uint64) bool {
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

// replay counts the records of a batch.
func (w *worker) replay(ctx context.Context, b batch) error {
	records := make([]*record, len(b.lines))
	for i, l := range b.lines {
		if r := parse(l.text); w.o.isInWindow(r) && w.o.isInShard(r, l.text) {
			r.in(w.o.Cluster)
			records[i] = r
		}
	}
	w.seen.markRepeated(b.number, records)
	for i, r := range records {
		if r == nil {
			continue
		}
		w.tally.events++
		if r.skip == "" && r.outcome == "" && w.o.Against == nil && w.o.Observe == nil {
			r.skip = skipOutcome
		}
		if r.skip != "" {
			w.tally.skip(r.skip, b.lines[i])
		} else if err := w.compare(ctx, r, b.lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// isInWindow reports whether a record is in the window. What is malformed and has no time
// is in each.
func (o *Options) isInWindow(r *record) bool {
	switch {
	case o.Since.IsZero() && o.Until.IsZero():
		return true
	case r.time.IsZero():
		return r.skip == skipMalformed
	}
	return !r.time.Before(o.Since) && (o.Until.IsZero() || !r.time.After(o.Until))
}

// isInShard reports whether a record is in the shard, by its user; of what has none, the text
// selects the shard.
func (o *Options) isInShard(r *record, text []byte) bool {
	if o.Select != nil && !o.Select(hash(string(text))) {
		return false
	}
	if o.Shards < 2 {
		return true
	}
	by := r.user
	if by == "" && r.skip != "" {
		by = string(text)
	}
	return hash(by)%uint64(o.Shards) == uint64(o.Shard) //nolint:gosec // both are positive
}

// compare decides a record and counts the result.
func (w *worker) compare(ctx context.Context, r *record, l line) error {
	now := r.time
	if !w.o.Now.IsZero() {
		now = w.o.Now
	}
	before, after, err := w.pair(ctx, now, r, r.question)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.tally.skip(skipInvalid, l)
		return nil
	}
	w.tally.replayed++
	w.tally.window.add(windowOf(r.time))
	if w.usage != nil {
		w.usage.use(r, after)
	}
	w.fidelity(r, before, after)
	if w.o.Observe != nil {
		err := w.observe(ctx, now, r, after, l)
		if err != nil {
			return fmt.Errorf("decide a record of %s:%d: %w", l.file, l.number, err)
		}
		return nil
	}
	fact, varies, err := w.uncertain(ctx, now, r, before, after)
	if err != nil {
		return fmt.Errorf("decide a record of %s:%d: %w", l.file, l.number, err)
	}
	switch {
	case varies:
		w.tally.uncertain[fact]++
	case isSame(before.Outcome, after.Outcome):
		w.tally.unchanged++
	default:
		w.tally.change(r, before, after)
	}
	return nil
}

// isSame reports whether an outcome is that of before, which may be a recorded one.
func isSame(before, after string) bool {
	return before == after || before == forbidden && after != statement.OutcomeAllow
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
	if w.o.OnlyLosses && (after.Outcome == statement.OutcomeAllow || r.isDenied()) {
		return after, after, nil
	}
	before, err = w.o.Against(ctx, at, r.point, q)
	return before, after, err
}

// fidelity compares the recorded outcome with that of the revision that is compared with.
func (w *worker) fidelity(r *record, before, after statement.Verdict) {
	if r.outcome == "" || r.isDeferred { // a revision alone decides strictly
		return
	}
	decided := after.Outcome
	if w.o.Against != nil {
		decided = before.Outcome
	}
	if isSame(r.outcome, decided) {
		w.tally.agree++
	} else {
		w.tally.differ++
	}
}

// maxVariants is how many combinations of values are tried of the facts that a record lacks.
const maxVariants = 1024

// uncertain reports whether the outcomes rest on facts that the record lacks, and on which
// one. A change with every value of the facts is certain.
func (w *worker) uncertain(ctx context.Context, at time.Time, r *record, before, after statement.Verdict) (string, bool, error) {
	request, facts := w.o.lacking(r, before, after)
	if isSettled(before) && isSettled(after) {
		facts = slices.DeleteFunc(facts, func(f fact) bool { return f.open })
	}
	n := 1
	for _, f := range facts {
		if n *= len(f.values); f.open || n > maxVariants {
			return f.name, true, nil
		}
	}
	isChange, base := !isSame(before.Outcome, after.Outcome), pairOf(before, after)
	varies := func(facts []fact) (bool, error) {
		same, changed := true, isChange
		for i := 0; i < n && (same || changed); i++ {
			q, ok := variant(r.point, request, facts, i)
			if !ok {
				continue
			}
			b, a, err := w.pair(ctx, at, r, q)
			if err != nil {
				return false, err
			}
			same, changed = same && pairOf(b, a) == base, changed && !isSame(b.Outcome, a.Outcome)
		}
		return !same && !changed, nil
	}
	uncertain, err := varies(facts)
	if !uncertain || err != nil {
		return "", false, err
	}
	for i, f := range facts {
		if alone, err := varies(facts[i : i+1]); alone || err != nil {
			return f.name, true, err
		}
	}
	return facts[0].name, true, nil
}

// pairOf identifies the outcomes of a comparison.
func pairOf(before, after statement.Verdict) string {
	if before.Outcome == forbidden && after.Outcome != statement.OutcomeAllow {
		return forbidden
	}
	return before.Outcome + " " + after.Outcome
}

// isSettled reports whether the outcome is the same whether or not restrictions hold: another
// rule allows the request, or a deny policy denies it.
func isSettled(v statement.Verdict) bool {
	d := readDecision(v)
	return v.Outcome == "allow" || v.Decision == nil || len(d.Matched) > 0 && d.Matched[0].Kind == "DenyPolicy"
}
