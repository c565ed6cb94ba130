package answers

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/visibility"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// considered are the steps at points without a ladder: the policies that were considered, in
// their order. Where tables do not list them, they are those that matched.
func (v *viewer) considered(ctx context.Context, c console.Caller, q decision.Question, e *console.Explanation, at time.Time) []console.Step {
	steps := []console.Step{}
	switch r := q.(type) {
	case *decision.VisibilityRequest:
		steps = append(steps, v.visibilityPolicies(ctx, c, r, at)...)
	case *decision.GatewayRequest:
		steps = append(steps, v.gatewayPolicies(e.Decision)...)
	}
	index := make(map[string]int)
	for i := range steps {
		index[steps[i].Title] = i
	}
	deciding := len(steps)
	for i, m := range e.Matched {
		title := titleOf(m.Kind, m.Namespace, m.Name)
		n, ok := index[title]
		if !ok {
			n, index[title] = len(steps), len(steps)
			steps = append(steps, console.Step{Title: title})
		}
		s := &steps[n]
		if s.Matched, s.Why = append(s.Matched, m), ""; i == 0 {
			s.State, deciding = console.Decides, n
		} else if s.State != console.Decides {
			s.State = console.Late
		}
	}
	for i := range steps {
		s := &steps[i]
		s.Step, s.Matched = i+1, elements.NotNil(s.Matched)
		if _, isVisibility := q.(*decision.VisibilityRequest); isVisibility && i > deciding && len(s.Matched) == 0 {
			s.State = console.NotAsked // the first policy decides
		}
	}
	return steps
}

func titleOf(kind, namespace, name string) string {
	return strings.TrimPrefix(kind+" "+namespace+"/"+name, kind+" /")
}

// visibilityPolicies are the policies that name the principal of a request, with why they
// cannot decide: denials come first.
func (v *viewer) visibilityPolicies(ctx context.Context, c console.Caller, r *decision.VisibilityRequest, at time.Time) (steps []console.Step) {
	t := tables.Of[*tables.Visibility](v.revision.tables)
	if t == nil {
		return nil
	}
	policies := v.revision.indexed(at)
	isAsked := policies != nil && len(r.Names()) > 0 && (r.Cluster.Name != "" || r.IsCustom()) &&
		slices.Contains([]string{"", decision.ActionView, decision.ActionViewMetrics}, r.Action)
	keys := principalKeys(r)
	for _, isDenial := range []bool{true, false} {
		for i := range t.Policies {
			p := &t.Policies[i]
			if p.Deny != isDenial || !slices.ContainsFunc(p.SubjectKeys(), func(key string) bool { return slices.Contains(keys, key) }) {
				continue
			}
			s := console.Step{Title: titleOf(kindVisibility, p.Namespace, p.Name), Source: p.Source, State: console.NotAsked}
			if isAsked {
				s.State, s.Why = console.NoMatch, policies.Inactive(ctx, r, i, c.SeesAll)
			}
			steps = append(steps, s)
		}
	}
	return steps
}

// items explains the items of a request by the policies at an instant.
func (v *viewer) items(ctx context.Context, r *decision.VisibilityRequest, e *console.Explanation, at time.Time) {
	policies := v.revision.indexed(at)
	if r.Items == nil || policies == nil {
		return
	}
	a := v.policies.At(at).Visibility(ctx, r)
	for i, by := range policies.Hidden(r, &a) {
		item := console.Item{Name: (*r.Items)[i].Name, Namespace: (*r.Items)[i].Namespace, Shown: by == "", HiddenBy: by}
		if by != "" && len(e.Matched) > 0 {
			m := &e.Matched[0]
			item.Policy, item.Source = titleOf(m.Kind, m.Namespace, m.Name), m.Source
		}
		e.Items = append(e.Items, item)
	}
}

// indexed returns the visibility policies of the revision at an instant, nil if it has no
// table of them. They are indexed once.
func (r *revision) indexed(at time.Time) *visibility.Policies {
	r.indexing.Do(func() {
		if t := tables.Of[*tables.Visibility](r.tables); t != nil {
			// The engine has activated the same tables, so they are not malformed.
			r.policies, _ = visibility.New(r.id, t, visibility.Options{Now: time.Now}, nil)
		}
	})
	if r.policies == nil {
		return nil
	}
	return r.policies.At(at)
}

// principalKeys are the subjects that policies name the principal of a request by.
func principalKeys(r *decision.VisibilityRequest) (keys []string) {
	for _, user := range r.Names() {
		keys = append(keys, statement.UserPrefix+user)
	}
	for _, group := range r.Groups {
		if group != "" {
			keys = append(keys, statement.GroupPrefix+group)
		}
	}
	return keys
}

// gatewayPolicies are the policies of what a decision is about, from the gateway to the rule
// of the route. Those without a rule in the effective policy are not asked.
func (v *viewer) gatewayPolicies(answer json.RawMessage) []console.Step {
	var d struct {
		Target   struct{ Gateway, Route string } `json:"target"`
		Policies []string                        `json:"policies"`
	}
	t := tables.Of[*tables.Gateway](v.revision.tables)
	if err := json.Unmarshal(answer, &d); err != nil || t == nil || d.Target.Gateway == "" {
		return nil
	}
	gateway, _, _ := strings.Cut(d.Target.Gateway, "#")
	route, _, _ := strings.Cut(d.Target.Route, "#")
	var found []*tables.GatewayPolicy
	for i := range t.Policies {
		p := &t.Policies[i]
		if p.Kind == tables.KindAuthPolicy && slices.Contains([]string{gateway, d.Target.Gateway, route, d.Target.Route}, p.Target) {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *tables.GatewayPolicy) int { return cmp.Compare(a.Level, b.Level) })
	steps := make([]console.Step, 0, len(found))
	for _, p := range found {
		s := console.Step{Title: titleOf(p.Kind, p.Namespace, p.Name), Source: p.Source, State: console.NotAsked}
		if slices.Contains(d.Policies, p.Kind+"/"+p.Namespace+"/"+p.Name) {
			s.State = console.NoMatch
		}
		steps = append(steps, s)
	}
	return steps
}

// maxBoundaries is how many times are looked at, before and after that of an explanation, at
// which a document begins or ends.
const maxBoundaries = 16

// addDated adds to the steps that were asked the rules that match the request at another time
// alone. The request is decided between each two boundaries that matter to it, so that facts,
// sessions and restrictions count as they do in decisions.
func (v *viewer) addDated(ctx context.Context, c console.Caller, steps []console.Step, r *decision.Request, now *decision.Decision, at dates.Instant) {
	known := make(map[string]bool)
	for i := range now.Matched {
		known[matchKey(&now.Matched[i])] = true
	}
	look := func(at dates.Instant, seen map[string]bool, why func(*decision.Matched) string) dates.Span {
		d := v.policies.At(at.Time()).Access(ctx, r)
		for i := range d.Matched {
			m := &d.Matched[i]
			n := slices.IndexFunc(steps, func(s console.Step) bool { return s.Step == v.stepOf(m) })
			isSeen := seen[matchKey(m)]
			seen[matchKey(m)] = true
			if !isSeen && n >= 0 && isAsked(&steps[n]) && (c.SeesAll || m.Effect == tables.EffectAllow) {
				steps[n].Dated = append(steps[n].Dated, console.Dated{Matched: matchedView(m), Why: why(m)})
			}
		}
		return d.Span
	}
	seen, bound := maps.Clone(known), now.Span.End
	for n := 0; n < maxBoundaries && bound != nil && ctx.Err() == nil; n++ {
		bound = look(*bound, seen, func(m *decision.Matched) string { return "begins " + v.beginOf(m, at, *bound).String() }).End
	}
	seen, bound = known, now.Span.Begin
	for n := 0; n < maxBoundaries && bound != nil && ctx.Err() == nil; n++ {
		bound = look(*bound-1, seen, func(m *decision.Matched) string { return "ended " + endedOf(m, at, *bound).String() }).Begin
	}
}

// isAsked reports whether what matches at a step would be among its matches. A deny policy
// that decides hides others, and a step that was not asked all of its rules.
func isAsked(s *console.Step) bool {
	return s.State != console.NotAsked && (s.Step > tables.StepDenyPolicy || s.State != console.Decides)
}

func matchKey(m *decision.Matched) string {
	return string(jsontext.Marshal([]any{m.APIVersion, m.Kind, m.Namespace, m.Name, m.Rule}))
}

// beginOf returns when a match begins: when its document does, and the first of its sessions.
// It is the boundary for a policy that a session brings into scope.
func (v *viewer) beginOf(m *decision.Matched, at, boundary dates.Instant) dates.Instant {
	from := func(p *dates.Period) dates.Instant {
		if p == nil || p.From == nil {
			return at
		}
		return *p.From
	}
	begin := max(at, from(v.datesOf(m)))
	if len(m.Via) > 0 {
		sessions, first := tables.Of[*tables.Sessions](v.revision.tables), boundary
		for _, via := range m.Via {
			first = min(first, from(sessions.Sessions.At(via.Name).Dates))
		}
		begin = max(begin, first)
	}
	if begin == at {
		return boundary
	}
	return begin
}

// endedOf returns when a match ended: its own end, or the boundary for a policy that a session
// brought into scope.
func endedOf(m *decision.Matched, at, boundary dates.Instant) dates.Instant {
	if until, err := dates.Parse(m.Until); err == nil && dates.Of(until) <= at {
		return dates.Of(until)
	}
	return boundary
}

// datesOf returns when the document of a match holds, nil for always.
func (v *viewer) datesOf(m *decision.Matched) *dates.Period {
	switch {
	case m.Kind == kindDebug:
		return tables.Of[*tables.Sessions](v.revision.tables).Debug.At(m.Namespace + " " + m.Name).Dates
	case m.Role == nil:
		if p := policyOf(tables.Of[*tables.Deny](v.revision.tables), m.Name); p != nil {
			return p.Dates
		}
		return nil
	}
	b := tables.Of[*tables.Access](v.revision.tables).BindingOf(m.APIVersion, m.Namespace, m.Name)
	return b.Dates
}
