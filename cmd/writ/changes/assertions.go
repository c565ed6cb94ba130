package changes

import (
	"context"
	"time"

	"github.com/writ-policy/writ/analysis/assertions"
	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/verify"
)

// compareAssertions verifies the assertions of b by both revisions, and those that only a has by
// a; nil if neither has any.
func (l *loader) compareAssertions(ctx context.Context, a, b *diff.Side, now time.Time, setNow func(time.Time)) (*diff.Assertions, error) {
	sets := l.sets
	if sets[0] == nil || sets[1] == nil { // documents that are applied
		return nil, nil
	}
	if len(sets[0].All)+len(sets[1].All) == 0 {
		return nil, nil
	}
	if err := l.checkAssertions(ctx, sets[1]); err != nil {
		return nil, err
	}
	in := &verify.Input{Side: b, Now: now, SetNow: setNow, AllByBase: true}
	proven, err := sets[1].Run(ctx, in, &assertions.Base{Side: a, Set: sets[0]})
	if err != nil {
		return nil, err
	}
	onlyB := toSet(sets[1].Without(sets[0]))
	out := &diff.Assertions{Total: len(proven.Assertions)}
	out.Rules, out.Results = proven.SARIFResults(diff.RuleOffset)
	for i := range proven.Assertions {
		x := &proven.Assertions[i]
		if x.Failed || x.Old {
			out.Failed++
		}
		if x.Failed {
			out.New++
		}
		var from *string
		if x.ByBase != nil && !onlyB[x.ID()] {
			from = &x.ByBase.Verdict
		}
		if x.Failed || from == nil || *from != x.Verdict {
			out.Changes = append(out.Changes, changeOf(x, from, &x.Verdict))
		}
	}
	gone, err := verifyGone(ctx, a, sets, now, setNow)
	if err != nil {
		return nil, err
	}
	for i := range gone {
		out.Changes = append(out.Changes, changeOf(&gone[i], &gone[i].Verdict, nil))
	}
	return out, nil
}

// verifyGone verifies the assertions that only a has. Those that cannot be checked any more,
// because what they refer to is broken, are left out.
func verifyGone(ctx context.Context, a *diff.Side, sets [2]*assertions.Set, now time.Time, setNow func(time.Time)) ([]verify.Result, error) {
	onlyA := toSet(sets[0].Without(sets[1]))
	if sets[0].Filter(func(id string) bool { return onlyA[id] }); len(sets[0].All) == 0 {
		return nil, nil
	}
	if err := sets[0].Check(ctx); err != nil {
		return nil, err
	}
	if sets[0].List.HasErrors() {
		return nil, nil
	}
	report, err := sets[0].Verify(ctx, a, nil, now, setNow)
	if err != nil {
		return nil, err
	}
	return report.Assertions, nil
}

func changeOf(x *verify.Result, from, to *string) diff.AssertionChange {
	out := diff.AssertionChange{Document: x.Document, Name: x.Name, From: from, To: to}
	if to != nil {
		out.New, out.Source = x.Failed, x.Source
		if x.Verdict != verify.Holds {
			out.Text = x.Text
		}
		if x.Witness != nil {
			out.Witness = x.Witness
		}
	}
	return out
}

func toSet(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, text := range list {
		out[text] = true
	}
	return out
}
