package answers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
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

// riskSearch is the search for the risks of a revision. found is set when done is closed, unless
// it failed.
type riskSearch struct {
	background
	revision string
	while    dates.Span // has no time at which a document begins or ends
	found    []lint.Risk

	mu       sync.Mutex // held to read and write the fields below
	at       acceptedAt
	accepted []*console.Accepted // as of at, nil for those that are not
}

// acceptedAt is what acceptances depend on beside the findings.
type acceptedAt struct {
	texts   *texts
	version int
	day     string // in UTC, as ends of acceptances are days
}

// of returns the search for the risks of policies at the time of a clock, which it begins unless
// there is one. It returns nil while another one is being made.
func (k *risks) of(policies decision.Policies, clock func() time.Time) (*riskSearch, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := clock()
	at := dates.Of(now)
	if k.last != nil && k.last.revision == policies.Loaded().Revision && k.last.while.Contains(at) && !k.last.isOver(now) {
		return k.last, nil
	}
	if k.last != nil && !k.last.isDone() {
		return nil, nil //nolint:nilnil // documented
	}
	world := statement.Of(policies.At(now))
	if world == nil {
		return nil, console.Errorf(console.NotReady, "the bundle has no table of its deny policies")
	}
	s := &riskSearch{revision: policies.Loaded().Revision}
	for _, d := range world.Whole().Dated() {
		s.while = s.while.Around(at, d.Dates)
	}
	k.last = s
	s.start(clock, "the search for risks", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), searchWithin)
		defer cancel()
		found, err := lint.RisksOf(ctx, world)
		if err != nil {
			return console.Errorf(console.NotReady, "the revision is too large to be searched for risks within %s", searchWithin)
		}
		s.found = found
		return nil
	})
	return s, nil
}

// Risks implements console.Viewer.
func (v *viewer) Risks(ctx context.Context, c console.Caller, q console.RisksQuery) (*console.Risks, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	if _, known := severities[q.Severity]; q.Severity != "" && !known {
		return nil, &console.Error{Reason: console.Invalid, Field: "severity", Message: "severity must be critical, high, medium or low"}
	}
	now := v.x.o.Now()
	s, err := v.x.risks.of(v.policies, v.x.o.Now)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, &console.Error{Reason: console.Pending, Message: "another revision is being searched for risks", Wait: waitForRisks}
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
	return v.risksOf(s, s.acceptedAt(v.revision.texts, now), q)
}

// severities are the words of severities, with the counts of no risks.
var severities = map[string]int{"critical": 0, "high": 0, "medium": 0, "low": 0}

var riskPending = &console.Error{Reason: console.Pending, Message: "the revision is being searched for risks", Wait: waitForRisks}

// risksOf selects a page of risks.
func (v *viewer) risksOf(s *riskSearch, accepted []*console.Accepted, q console.RisksQuery) (*console.Risks, error) {
	out := &console.Risks{Risks: []console.Risk{}, Severities: maps.Clone(severities), Revision: v.Revision()}
	all := make([]int, 0, len(s.found)) // indexes of the selected
	for i := range s.found {
		if accepted[i] == nil {
			out.Severities[s.found[i].Severity]++
		}
		if !selects(&q, &s.found[i]) {
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
	out.Total, out.After, out.Codes = len(all), after, codesOf(s.found, all, accepted)
	for _, i := range all[from:to] {
		out.Risks = append(out.Risks, riskOf(&s.found[i], accepted[i]))
	}
	return out, nil
}

// codesOf counts risks by code, in the order in which the codes occur.
func codesOf(found []lint.Risk, selected []int, accepted []*console.Accepted) []console.RiskCode {
	out := []console.RiskCode{}
	index := make(map[diag.Code]int)
	for _, i := range selected {
		at, ok := index[found[i].Code]
		if !ok {
			at, index[found[i].Code] = len(out), len(out)
			code := console.RiskCode{Code: string(found[i].Code), Severity: found[i].Severity, Can: found[i].Can, Remedy: found[i].Diagnostic.Hint}
			if e, known := diag.Explain(found[i].Code); known {
				text, _, _ := strings.Cut(e.Text, "\nRemedy: ")
				code.Text = strings.ReplaceAll(text, "\n", " ")
			}
			out = append(out, code)
		}
		if out[at].Total++; accepted[i] != nil {
			out[at].Accepted++
		}
	}
	return out
}

// selects reports whether a query asks for a risk.
func selects(q *console.RisksQuery, r *lint.Risk) bool {
	return (q.Code == "" || q.Code == string(r.Code)) && (q.Severity == "" || q.Severity == r.Severity) &&
		(q.Subject == "" || slices.ContainsFunc(r.Subjects, func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(q.Subject)) }))
}

func riskOf(r *lint.Risk, accepted *console.Accepted) console.Risk {
	out := console.Risk{
		Code: string(r.Code), Severity: r.Severity, Sentence: r.Diagnostic.Message, Remedy: r.Diagnostic.Hint,
		Can: r.What(), Where: r.Reach(), Binding: r.Binding.String(),
		Subjects: r.Subjects, Source: r.Binding.Source, RuleSource: r.Role.Source, Accepted: accepted,
	}
	if r.Example != nil {
		out.Request = statement.Encode(r.Example)
	}
	return out
}

// acceptedAt returns why each risk is accepted, nil for those that are not.
func (s *riskSearch) acceptedAt(t *texts, now time.Time) []*console.Accepted {
	t.mu.Lock()
	in := accept.Input{Snapshot: source.Snapshot{Files: t.files, Origins: t.origins}, Now: now}
	at := acceptedAt{t, t.version, now.UTC().Format(time.DateOnly)}
	t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepted == nil || s.at != at {
		s.accepted, s.at = acceptedOf(s.found, in), at
	}
	return s.accepted
}

func acceptedOf(found []lint.Risk, in accept.Input) []*console.Accepted {
	list := make(diag.List, len(found))
	byKey := make(map[string][]int, len(found))
	key := func(d *diag.Diagnostic) string {
		return d.Position.Source() + "\x00" + string(d.Code) + "\x00" + d.Message
	}
	for i := range found {
		list[i] = found[i].Diagnostic
		byKey[key(&list[i])] = append(byKey[key(&list[i])], i)
	}
	out := make([]*console.Accepted, len(found))
	_, silenced := accept.Apply(list, in)
	for i := range silenced {
		for _, at := range byKey[key(&silenced[i].Diagnostic)] {
			out[at] = &console.Accepted{Reason: silenced[i].By.Reason, Source: silenced[i].By.Position.Source()}
		}
	}
	return out
}
