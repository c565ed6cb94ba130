package changes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/analysis/shrink"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/analysis/verify"
	"github.com/writ-policy/writ/translator/diag"
)

// prove checks the documents that are left; last is a choice from them.
func (r *shrinking) prove(ctx context.Context, report *shrink.Report, last *shrink.Change) error {
	p := &report.Proof
	for _, step := range []func(context.Context, *shrink.Proof) error{r.proveDiff, r.proveReplay, r.proveAssertions, r.proveTests} {
		if err := step(ctx, p); err != nil {
			return err
		}
	}
	needless := r.after.model.Needless(last)
	p.Minimal = shrink.Check{Holds: len(needless) == 0, Count: len(needless), Text: "nothing more can go"}
	if len(needless) > 0 {
		p.Minimal.Text = fmt.Sprintf("no event needs %s", strings.Join(needless[:min(len(needless), 3)], "; "))
		p.Minimal.Counterexamples = anyOf(needless)
	}
	p.Idempotent = shrink.Check{Holds: len(last.Files) == 0, Count: len(last.Edits), Text: "a second run changes nothing"}
	if !p.Idempotent.Holds {
		p.Idempotent.Text = fmt.Sprintf("another run changes %s", last.Edits[0].Text)
		p.Idempotent.Counterexamples = []any{last.Edits[0]}
	}
	return nil
}

func anyOf[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// proveDiff checks that decisions of access only lose, and those of other points stay.
func (r *shrinking) proveDiff(ctx context.Context, p *shrink.Proof) error {
	p.Diff = shrink.Check{Holds: true, Text: "losses only, at access"}
	if len(r.texts()) == 0 {
		return nil
	}
	o := diff.Options{Now: r.at, MaxClasses: 1 << 30, SetNow: func(t time.Time) { r.at = t }}
	report, err := compareSides(ctx, r.before.side, r.after.side, o)
	if err != nil {
		return err
	}
	for _, c := range report.Classes {
		for _, change := range c.Changes {
			if change == "loss" && c.Point == statement.PointAccess {
				p.Diff.Count++
				continue
			}
			p.Diff.Holds, p.Diff.Text = false, fmt.Sprintf("a %s at %s", change, c.Point)
			p.Diff.Counterexamples = append(p.Diff.Counterexamples, c)
		}
	}
	return nil
}

// proveReplay checks that no event that was allowed is refused.
func (r *shrinking) proveReplay(ctx context.Context, p *shrink.Proof) error {
	p.Replay = shrink.Check{Holds: true, Text: "no event is lost"}
	o := *r.options
	o.Decide, o.Against, o.OnlyLosses = r.after.decide, r.before.decide, true
	o.Facts = statement.FactsOf(r.before.side.World.Whole(), r.after.side.World.Whole())
	check := func(names []string, o replay.Options) error {
		report, err := replayFiles(ctx, nil, names, o)
		if err != nil {
			return err
		}
		p.Replay.Count += report.Replayed
		for i := range report.Changed {
			c := &report.Changed[i]
			if !diff.Counts("loss", c.Change) {
				continue
			}
			p.Replay.Lost += c.Count
			p.Replay.Holds, p.Replay.Text = false, fmt.Sprintf("%s refused: %s", diag.Counted(c.Count, "event"), c.Example.Request)
			p.Replay.Counterexamples = append(p.Replay.Counterexamples, c)
		}
		return nil
	}
	if r.strict { // what is held out may be lost
		o.Select = func(hash uint64) bool { return !r.isHeldOut(hash) }
	}
	if err := check(r.logs, o); err != nil || len(r.spare) == 0 {
		return err
	}
	o.Since, o.Until, o.Select, o.AllowEmpty = time.Time{}, time.Time{}, nil, true
	return check(r.spare, o)
}

// isHeldOut reports whether a record takes no part in the choice.
func (r *shrinking) isHeldOut(hash uint64) bool {
	return hash%100 < uint64(r.percent) //nolint:gosec // from 0 to 99
}

// proveAssertions checks that assertions that do not fail before do not fail after.
func (r *shrinking) proveAssertions(ctx context.Context, p *shrink.Proof) error {
	p.Assertions = shrink.Check{Holds: true, Text: "assertions hold as before"}
	var verdicts [2]map[string]*verify.Result
	for i, s := range []*state{&r.before, &r.after} {
		set, err := r.assertionSet(ctx, s)
		if err != nil || set == nil {
			return err
		}
		report, err := set.Verify(ctx, s.side, nil, r.at, func(t time.Time) { r.at = t })
		if err != nil {
			return err
		}
		verdicts[i] = make(map[string]*verify.Result)
		for j := range report.Assertions {
			verdicts[i][report.Assertions[j].ID()] = &report.Assertions[j]
		}
	}
	p.Assertions.Count = len(verdicts[0])
	for _, id := range slices.Sorted(maps.Keys(verdicts[1])) {
		was, is := verdicts[0][id], verdicts[1][id]
		isLess := is.Verdict == verify.Vacuous && !is.IsAlways() // what it excludes cannot be any more
		if is.Failed && (was == nil || !was.Failed) && !isLess {
			p.Assertions.Holds, p.Assertions.Text = false, fmt.Sprintf("%s %s: %s", id, is.Verdict, is.Text)
			p.Assertions.Counterexamples = append(p.Assertions.Counterexamples, is)
		}
	}
	return nil
}

// assertionSet collects those of documents and of --assertions, nil without any.
func (r *shrinking) assertionSet(ctx context.Context, s *state) (*assertions.Set, error) {
	compiler, err := r.documents.Compiler(r.loader.now)
	if err != nil {
		return nil, err
	}
	snapshot := s.snapshot
	snapshot.Aside = r.before.snapshot.Aside
	set := assertions.Of(s.result.Directory.Documents(), snapshot, compiler.Compile)
	set.AcceptsTests = true
	for _, name := range r.assertions {
		if err := set.AddFiles(name); err != nil {
			return nil, err
		}
	}
	if len(set.All) == 0 && len(set.List) == 0 {
		return nil, nil
	}
	return set, r.loader.checkAssertions(ctx, set)
}

// proveTests checks that DecisionTests that pass before pass after.
func (r *shrinking) proveTests(ctx context.Context, p *shrink.Proof) error {
	p.Tests = shrink.Check{Holds: true, Text: "DecisionTests pass as before"}
	var files []string
	for _, name := range r.assertions {
		more, _, err := assertions.FilesOf(name)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	before, count, err := r.run(ctx, r.before.bundle, r.before.result.Directory, files)
	if err != nil {
		return err
	}
	after, _, err := r.run(ctx, r.after.bundle, r.before.result.Directory, files)
	if err != nil {
		return err
	}
	p.Tests.Count = count
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, failedBefore := before[name]; !failedBefore {
			p.Tests.Holds, p.Tests.Text = false, fmt.Sprintf("%s: %s; add its request to --spare if it must stay", name, after[name])
			p.Tests.Counterexamples = append(p.Tests.Counterexamples, map[string]string{"test": name, "why": after[name]})
		}
	}
	return nil
}
