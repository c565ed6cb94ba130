package explore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/lint/accept"
	"github.com/writ-policy/writ/translator/source"
)

// Times of a search for risks: one search may take searchWithin, and a caller waits for
// waitForRisks, now and before the same question.
const (
	searchWithin = time.Minute
	waitForRisks = 2 * time.Second
)

// risks has the last search for risks. One is made at a time, in the background.
type risks struct {
	mu   sync.Mutex // held to read and write last, not while searching
	last *riskSearch
}

// riskSearch is the search for the risks of a revision. found and err are set when done is
// closed.
type riskSearch struct {
	revision string
	done     chan struct{}
	found    []lint.Risk
	err      error
}

// of returns the search for a revision, which it begins unless there is one. It returns nil
// while another one is being made.
func (k *risks) of(revision string, world *statement.World) *riskSearch {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last != nil && k.last.revision == revision {
		return k.last
	}
	if k.last != nil {
		select {
		case <-k.last.done:
		default:
			return nil
		}
	}
	s := &riskSearch{revision: revision, done: make(chan struct{})}
	k.last = s
	go func() {
		defer close(s.done)
		ctx, cancel := context.WithTimeout(context.Background(), searchWithin)
		defer cancel()
		s.found, s.err = searchRisks(ctx, world)
	}()
	return s
}

func searchRisks(ctx context.Context, world *statement.World) (found []lint.Risk, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = view.Errorf(view.Internal, "the search for risks failed")
		}
	}()
	if found, err = lint.RisksOf(ctx, world); err != nil {
		return nil, view.Errorf(view.NotReady, "the revision is too large to be searched for risks within %s", searchWithin)
	}
	return found, nil
}

// Risks implements view.Viewer.
func (v *viewer) Risks(ctx context.Context, c view.Caller, q view.RisksQuery) (*view.Risks, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if _, known := severities[q.Severity]; q.Severity != "" && !known {
		return nil, &view.Error{Reason: view.Invalid, Field: "severity", Message: "severity must be critical, high, medium or low"}
	}
	world := v.policies.Statements()
	if world == nil {
		return nil, view.Errorf(view.NotReady, "the bundle has no table of its deny policies")
	}
	s := v.x.risks.of(v.Revision(), world)
	if s == nil {
		return nil, &view.Error{Reason: view.Pending, Message: "another revision is being searched for risks", Wait: waitForRisks}
	}
	late := time.NewTimer(waitForRisks)
	defer late.Stop()
	select {
	case <-s.done:
	case <-late.C:
		return nil, riskPending
	case <-ctx.Done():
		return nil, riskPending
	}
	if s.err != nil {
		return nil, s.err
	}
	return v.risksOf(s.found, q)
}

// severities are the words of severities, with the counts of no risks.
var severities = map[string]int{"critical": 0, "high": 0, "medium": 0, "low": 0}

var riskPending = &view.Error{Reason: view.Pending, Message: "the revision is being searched for risks", Wait: waitForRisks}

// risksOf selects a page of risks.
func (v *viewer) risksOf(found []lint.Risk, q view.RisksQuery) (*view.Risks, error) {
	out := &view.Risks{Risks: []view.Risk{}, Severities: maps.Clone(severities), Revision: v.Revision()}
	accepted := v.revision.texts.accepted(found, v.x.o.Now())
	all := make([]int, 0, len(found)) // indexes of the selected
	for i := range found {
		if accepted[i] == nil {
			out.Severities[found[i].Severity]++
		}
		if !selects(&q, &found[i]) {
			continue
		}
		all = append(all, i)
		if accepted[i] != nil {
			out.Accepted++
		}
	}
	isLast := func(i int) int {
		if accepted[i] != nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(isLast(a), isLast(b)) })
	from, to, after, err := page(len(all), q.Limit, q.After)
	if err != nil {
		return nil, err
	}
	out.Total, out.After = len(all), after
	for _, i := range all[from:to] {
		out.Risks = append(out.Risks, riskOf(&found[i], accepted[i]))
	}
	return out, nil
}

// selects reports whether a query asks for a risk.
func selects(q *view.RisksQuery, r *lint.Risk) bool {
	return (q.Code == "" || q.Code == string(r.Code)) && (q.Severity == "" || q.Severity == r.Severity) &&
		(q.Subject == "" || slices.ContainsFunc(r.Subjects, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(q.Subject)) }))
}

func riskOf(r *lint.Risk, accepted *view.Accepted) view.Risk {
	out := view.Risk{
		Code: string(r.Code), Severity: r.Severity, Sentence: r.Diagnostic.Message, Remedy: r.Diagnostic.Hint,
		Subjects: r.Subjects, Source: r.Binding.Source, RuleSource: r.Role.Source, Accepted: accepted,
	}
	if r.Example != nil {
		out.Request = statement.Encode(r.Example)
	}
	return out
}

// accepted returns why each risk is accepted, nil for those that are not.
func (t *texts) accepted(found []lint.Risk, now time.Time) []*view.Accepted {
	t.mu.Lock()
	in := accept.Input{Snapshot: source.Snapshot{Files: t.files, Origins: t.origins}, Now: now}
	t.mu.Unlock()
	list := make(diag.List, len(found))
	byKey := make(map[string][]int, len(found))
	key := func(d *diag.Diagnostic) string {
		return d.Position.Source() + "\x00" + string(d.Code) + "\x00" + d.Message
	}
	for i := range found {
		list[i] = found[i].Diagnostic
		byKey[key(&list[i])] = append(byKey[key(&list[i])], i)
	}
	out := make([]*view.Accepted, len(found))
	_, silenced := accept.Apply(list, in)
	for i := range silenced {
		for _, at := range byKey[key(&silenced[i].Diagnostic)] {
			out[at] = &view.Accepted{Reason: silenced[i].By.Reason, Source: silenced[i].By.Position.Source()}
		}
	}
	return out
}
