package answers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/judge"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/source"
)

// Stored is a revision of the state directory.
type Stored struct {
	Revision string
	Sequence int64
	Commit   string
	Since    time.Time
}

// Bounds of past revisions: their number, their documents together, and how long a
// comparison may take and how long its first caller waits.
const (
	maxPast          = 10
	maxPastDocuments = 200_000
	compareWithin    = 5 * time.Minute
	waitForDiff      = 2 * time.Second
	maxClasses       = 10_000
)

// past is a revision that was active in this process. Its policies share what did not
// change with those of later revisions.
type past struct {
	console.Revision
	policies decision.Policies
	texts    *texts
}

// remember adds the active revision to the past ones. It is called with mu held.
func (x *Explorer) remember(now time.Time) {
	r := x.active
	x.past = slices.DeleteFunc(x.past, func(p *past) bool { return p.Revision.Revision == r.id })
	policies := x.o.Current()
	if policies.Loaded().Revision != r.id {
		return // another one is active already
	}
	x.past = append(x.past, &past{
		Revision: console.Revision{Revision: r.id, Sequence: r.metadata.Sequence, Commit: r.metadata.Commit, Since: now, Documents: documents(r.metadata), Commits: commitsOf(r.read)},
		policies: policies.At(now), texts: r.texts,
	})
	total := 0
	for i, p := range slices.Backward(x.past) {
		if total += p.Documents; len(x.past)-i > maxPast || total > maxPastDocuments && i < len(x.past)-2 {
			x.past = slices.Delete(x.past, 0, i+1)
			return
		}
	}
}

// commitsOf returns the commits that a snapshot was read from.
func commitsOf(read *source.Snapshot) []console.Commit {
	var out []console.Commit
	if read != nil {
		for _, o := range read.Origins {
			if c := o.Commit; c.Hash != "" {
				out = append(out, console.Commit{Source: o.Name, Commit: c.Hash, Author: c.Author, Date: c.Date, Message: c.Subject})
			}
		}
	}
	return out
}

// Revisions implements console.Viewer.
func (v *viewer) Revisions(c console.Caller) (*console.Revisions, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	list, err := v.x.revisions(v.Revision())
	if err != nil {
		return nil, console.Errorf(console.Internal, "%v", err)
	}
	v.x.mu.Lock()
	refused := slices.Clone(v.x.refused)
	v.x.mu.Unlock()
	slices.Reverse(refused)
	out := &console.Revisions{Revisions: list, Refused: append([]console.Refused{}, refused...), Repositories: append([]console.Repository{}, v.x.o.Repositories()...)}
	var missing [][2]string
	for i := range min(len(list)-1, maxPast) {
		pair := [2]string{list[i+1].Revision, list[i].Revision}
		switch d, isDone := v.x.diffs.find(pair, v.x.o.Now()); {
		case !isDone:
			missing = append(missing, pair)
		case d != nil:
			list[i].Summary = d.Summary
		}
	}
	out.Comparing = len(missing) > 0
	v.x.summarize(missing)
	return out, nil
}

// summarize compares pairs of revisions in the background, one at a time. Pairs that are
// missing while it compares others are asked for again.
func (x *Explorer) summarize(pairs [][2]string) {
	if len(pairs) == 0 || !x.diffs.isBusy.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer x.diffs.isBusy.Store(false)
		for _, pair := range pairs {
			if j := x.compare(pair); j != nil { // nil while one is made for a caller
				<-j.done
			}
		}
	}()
}

// revisions lists the revisions of the process and of the state directory, newest first.
func (x *Explorer) revisions(active string) ([]console.Revision, error) {
	x.mu.Lock()
	list := []console.Revision{}
	for _, p := range slices.Backward(x.past) {
		list = append(list, p.Revision)
	}
	x.mu.Unlock()
	stored, err := x.o.Stored()
	if err != nil {
		return nil, err
	}
	for _, s := range stored {
		if !slices.ContainsFunc(list, func(r console.Revision) bool { return r.Revision == s.Revision }) {
			list = append(list, console.Revision{Revision: s.Revision, Sequence: s.Sequence, Commit: s.Commit, Since: s.Since})
		}
	}
	slices.SortStableFunc(list, func(a, b console.Revision) int { return b.Since.Compare(a.Since) })
	for i := range list {
		list[i].Active = list[i].Revision == active
	}
	return list, nil
}

// Diff implements console.Viewer.
func (v *viewer) Diff(ctx context.Context, c console.Caller, from, to string) (*console.Diff, error) {
	if !c.SeesAll {
		return nil, console.ErrForbidden
	}
	list, err := v.x.revisions(v.Revision())
	if err != nil {
		return nil, console.Errorf(console.Internal, "%v", err)
	}
	var pair [2]string
	for i, part := range []struct{ field, text string }{{"from", from}, {"to", to}} {
		at := slices.IndexFunc(list, func(r console.Revision) bool { return part.text != "" && strings.HasPrefix(r.Revision, part.text) })
		if at < 0 {
			return nil, &console.Error{Reason: console.NotFound, Field: part.field, Message: "revision " + part.text + " does not exist"}
		}
		pair[i] = list[at].Revision
	}
	job := v.x.compare(pair)
	if job == nil {
		return nil, &console.Error{Reason: console.Pending, Message: "another comparison is being made", Wait: waitForDiff}
	}
	late := time.NewTimer(waitForDiff)
	defer late.Stop()
	select {
	case <-job.done:
		return job.diff, job.err
	case <-late.C:
	case <-ctx.Done():
	}
	return nil, &console.Error{Reason: console.Pending, Message: "the comparison is being made", Wait: waitForDiff}
}

// diffs are comparisons: the one that is being made and the last ones.
type diffs struct {
	isBusy atomic.Bool // a goroutine makes comparisons without a caller

	mu   sync.Mutex // held to read and write the fields below, not while comparing
	jobs []*comparison
}

// maxKeptDiffs is how many comparisons are kept.
const maxKeptDiffs = 20

// comparison is a comparison of two revisions. diff is set when done is closed, unless it failed.
type comparison struct {
	background
	pair [2]string
	diff *console.Diff
}

// find returns the result of a comparison, nil if it failed, and whether it was made. One that
// failed is to be made again after a while.
func (d *diffs) find(pair [2]string, now time.Time) (diff *console.Diff, isDone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range d.jobs {
		if j.pair == pair && j.isDone() && !j.isOver(now) {
			return j.diff, true
		}
	}
	return nil, false
}

// compare returns the comparison of two revisions, which it begins unless there is one. It
// returns nil while another one is being made.
func (x *Explorer) compare(pair [2]string) *comparison {
	d := &x.diffs
	d.mu.Lock()
	defer d.mu.Unlock()
	now := x.o.Now()
	for _, j := range d.jobs {
		if j.pair == pair && !j.isOver(now) {
			return j
		}
	}
	if len(d.jobs) > 0 && !d.jobs[len(d.jobs)-1].isDone() {
		return nil
	}
	j := &comparison{pair: pair}
	d.jobs = slices.DeleteFunc(d.jobs, func(old *comparison) bool { return old.pair == pair })
	d.jobs = append(d.jobs[max(0, len(d.jobs)+1-maxKeptDiffs):], j)
	j.start(x.o.Now, "the comparison", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), compareWithin)
		defer cancel()
		found, err := x.diff(ctx, pair)
		if err == nil {
			j.diff = found
		}
		return err
	})
	return j
}

// compared is one side of a comparison.
type compared struct {
	policies decision.Policies
	texts    []source.File // nil if they are not known
	source   string
}

// diff compares two revisions.
func (x *Explorer) diff(ctx context.Context, pair [2]string) (*console.Diff, error) {
	var list [2]compared
	for i, id := range pair {
		policies, texts, err := x.policiesOf(ctx, id)
		if err != nil {
			return nil, console.Errorf(console.NotReady, "revision %.12s cannot be loaded: %v", id, err)
		}
		list[i] = compared{policies, texts, id[:12]}
	}
	return x.diffOf(ctx, list)
}

// diffOf compares two sides.
func (x *Explorer) diffOf(ctx context.Context, list [2]compared) (out *console.Diff, err error) {
	defer recovered(&err, "the comparison")
	now := x.o.Now()
	at := now
	var sides [2]*diff.Side
	for i, side := range list {
		world := statement.Of(side.policies)
		if world == nil {
			return nil, console.Errorf(console.NotReady, "the bundle of revision %.12s has no table of its deny policies", side.policies.Loaded().Revision)
		}
		decide := func(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
			return judge.Of(side.policies.At(at))(ctx, point, request)
		}
		sides[i] = &diff.Side{World: world, Judge: decide, Source: side.source, Revision: side.policies.Loaded().Revision}
	}
	report, err := diff.Compare(ctx, sides[0], sides[1], diff.Options{Now: now, MaxClasses: maxClasses, SetNow: func(t time.Time) { at = t }})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, console.Errorf(console.Busy, "the comparison took too long")
	case err != nil:
		return nil, console.Errorf(console.NotReady, "%v", err)
	}
	return &console.Diff{Report: report, Texts: textDiffs(list[0].texts, list[1].texts)}, nil
}

// policiesOf returns the policies of a revision of the process or the state directory, and
// the texts of its documents if they are known.
func (x *Explorer) policiesOf(ctx context.Context, id string) (decision.Policies, []source.File, error) {
	x.mu.Lock()
	at := slices.IndexFunc(x.past, func(p *past) bool { return p.Revision.Revision == id })
	var found *past
	if at >= 0 {
		found = x.past[at]
	}
	x.mu.Unlock()
	if found != nil {
		return found.policies.At(x.o.Now()), found.texts.all(), nil
	}
	policies, err := x.o.Open(ctx, id)
	return policies, nil, err
}

// tryAgain is the least time for which a failure in the background is kept. It is shown to those
// that wait for it; afterwards the load or the file that was the cause may be another one.
const tryAgain = time.Minute

// background is something that is computed beside the decisions. err is set when done is closed.
type background struct {
	done chan struct{}
	err  error
	// again is when what failed may be tried again; set when done is closed.
	again time.Time
}

// start begins to compute, in a goroutine. What failed is kept for as long as it took, so that
// one that never succeeds leaves half of the time to others.
func (b *background) start(now func() time.Time, what string, compute func() error) {
	b.done = make(chan struct{})
	began := now()
	go func() {
		defer close(b.done)
		b.err = unlessPanic(what, compute)
		ended := now()
		b.again = ended.Add(max(ended.Sub(began), tryAgain))
	}()
}

func unlessPanic(what string, compute func() error) (err error) {
	defer recovered(&err, what)
	return compute()
}

func (b *background) isDone() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// isOver reports whether it failed, and may be tried again.
func (b *background) isOver(now time.Time) bool {
	return b.isDone() && b.err != nil && !now.Before(b.again)
}

// recovered ends a panic of what the console computes beside the decisions: it becomes an
// error, and the process goes on deciding. It is deferred.
func recovered(err *error, what string) {
	if recover() != nil {
		*err = console.Errorf(console.Internal, "%s failed", what)
	}
}
