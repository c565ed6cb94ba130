package answers

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine/visibility"
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
		if s.Step = i + 1; s.Matched == nil {
			s.Matched = []console.Matched{}
		}
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
