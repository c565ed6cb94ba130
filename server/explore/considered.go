package explore

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// considered are the steps at points without a ladder: the policies that were considered, in
// their order. Where tables do not list them, they are those that matched.
func (v *viewer) considered(q decision.Question, e *view.Explanation) []view.Step {
	steps := []view.Step{}
	switch r := q.(type) {
	case *decision.VisibilityRequest:
		steps = append(steps, v.visibilityPolicies(r)...)
	case *decision.GatewayRequest:
		steps = append(steps, v.gatewayPolicies(e.Decision)...)
	}
	at := make(map[string]int)
	for i := range steps {
		at[steps[i].Title] = i
	}
	deciding := len(steps)
	for i, m := range e.Matched {
		title := titleOf(m.Kind, m.Namespace, m.Name)
		n, ok := at[title]
		if !ok {
			n, at[title] = len(steps), len(steps)
			steps = append(steps, view.Step{Title: title})
		}
		s := &steps[n]
		if s.Matched = append(s.Matched, m); i == 0 {
			s.State, deciding = view.Decides, n
		} else if s.State != view.Decides {
			s.State = view.Late
		}
	}
	for i := range steps {
		s := &steps[i]
		if s.Step = i + 1; s.Matched == nil {
			s.Matched = []view.Matched{}
		}
		if _, isVisibility := q.(*decision.VisibilityRequest); isVisibility && i > deciding && len(s.Matched) == 0 {
			s.State = view.NotAsked // the first policy decides
		}
	}
	return steps
}

func titleOf(kind, namespace, name string) string {
	return strings.TrimPrefix(kind+" "+namespace+"/"+name, kind+" /")
}

// visibilityPolicies are the policies that name the principal of a request: denials come
// first.
func (v *viewer) visibilityPolicies(r *decision.VisibilityRequest) []view.Step {
	t := tables.Of[*tables.Visibility](v.revision.tables)
	if t == nil {
		return nil
	}
	var keys []string
	for _, user := range r.Names() {
		keys = append(keys, statement.UserPrefix+user)
	}
	for _, group := range r.Groups {
		if group != "" {
			keys = append(keys, statement.GroupPrefix+group)
		}
	}
	var steps []view.Step
	for _, lists := range []map[string][]int{t.Denies, t.Allows} {
		found := make(map[int]bool)
		for _, key := range keys {
			for _, i := range lists[key] {
				found[i] = true
			}
		}
		for _, i := range slices.Sorted(maps.Keys(found)) {
			p := &t.Policies[i]
			steps = append(steps, view.Step{Title: titleOf(kindVisibility, p.Namespace, p.Name), Source: p.Source, State: view.NoMatch})
		}
	}
	return steps
}

// gatewayPolicies are the policies of what a decision is about, from the gateway to the rule
// of the route. Those without a rule in the effective policy are not asked.
func (v *viewer) gatewayPolicies(answer json.RawMessage) []view.Step {
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
	steps := make([]view.Step, 0, len(found))
	for _, p := range found {
		s := view.Step{Title: titleOf(p.Kind, p.Namespace, p.Name), Source: p.Source, State: view.NotAsked}
		if slices.Contains(d.Policies, p.Kind+"/"+p.Namespace+"/"+p.Name) {
			s.State = view.NoMatch
		}
		steps = append(steps, s)
	}
	return steps
}
