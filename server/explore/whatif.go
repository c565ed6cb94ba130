package explore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/tables"
)

// maxWhatIf is how many changed requests are shown.
const maxWhatIf = 12

// whatIf decides r with one thing changed at a time.
func (v *viewer) whatIf(ctx context.Context, r *decision.Request, d *decision.Decision, p decision.Policies) []view.WhatIf {
	list := []view.WhatIf{}
	add := func(text string, change func(*decision.Request)) {
		if len(list) >= maxWhatIf || ctx.Err() != nil {
			return
		}
		changed := *r
		if change(&changed); changed.Validate() != nil {
			return
		}
		d := p.Access(ctx, &changed)
		outcome := d.Settle()
		list = append(list, view.WhatIf{Text: text, Request: changed.Encode(), Outcome: outcomeWord(outcome), Matched: matchedViews(d.Matched)})
	}
	if r.Labels != nil {
		add("the labels are not known", func(r *decision.Request) { r.Labels = nil })
	}
	if r.Labels == nil || len(r.Labels) > 0 {
		add("the object has no labels", func(r *decision.Request) { r.Labels = map[string]string{} })
	}
	for i, group := range r.Groups {
		add("without group "+group, func(r *decision.Request) { r.Groups = slices.Delete(slices.Clone(r.Groups), i, i+1) })
	}
	v.unknownFacts(r, d, add)
	if r.Pod != nil {
		add("the pod cannot be read", func(r *decision.Request) { r.Pod, r.PodError = nil, "the pod cannot be read" })
	}
	if other, ok := otherThan(v.x.o.Clusters(), r.Cluster); ok {
		add("in cluster "+other, func(r *decision.Request) { r.Cluster = other })
	}
	if r.Verb != "get" {
		add("the verb is get", func(r *decision.Request) { r.Verb = "get" })
	}
	return list
}

// unknownFacts adds both values of the facts that warnings name as unknown.
func (v *viewer) unknownFacts(r *decision.Request, d *decision.Decision, add func(string, func(*decision.Request))) {
	names := func(word string) bool {
		return slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, word) })
	}
	if d.LabelsUnknown || r.NamespaceLabels == nil && names("namespace labels") {
		add("the namespace has no labels", func(r *decision.Request) { r.NamespaceLabels = map[string]string{} })
	}
	if r.Fields == nil && names("fields") {
		add("the request changes no field", func(r *decision.Request) { r.Fields = []string{} })
		add("the request changes the whole object", func(r *decision.Request) { r.Fields = []string{"spec"} })
	}
}

// otherThan returns the first of a list that is not one value.
func otherThan(list []string, value string) (string, bool) {
	at := slices.IndexFunc(list, func(s string) bool { return s != value })
	if at < 0 {
		return "", false
	}
	return list[at], true
}

// whatIfElse decides a request at another point as of the instants about the next begin or
// end of a policy, and at the visibility point without each of its groups.
func (v *viewer) whatIfElse(ctx context.Context, q decision.Question, p decision.Policies) []view.WhatIf {
	list := []view.WhatIf{}
	r, ok := q.(*decision.VisibilityRequest)
	if !ok {
		return list
	}
	add := func(text, at string, p decision.Policies, r *decision.VisibilityRequest) {
		if len(list) >= maxWhatIf || ctx.Err() != nil {
			return
		}
		answer, refused := r.Decide(ctx, p)
		if refused != nil {
			return
		}
		outcome := answer.Settle()
		f := factsOf(decision.Visibility, answer, outcome)
		list = append(list, view.WhatIf{Text: text, At: at, Request: visibilityJSON(r), Outcome: f.Outcome, Matched: f.Matched})
	}
	for i, group := range r.Groups {
		changed := *r
		changed.Groups = slices.Delete(slices.Clone(r.Groups), i, i+1)
		add("without group "+group, "", p, &changed)
	}
	if next, name := v.boundary(v.x.o.Now()); name != "" {
		for _, when := range []struct {
			word string
			at   time.Time
		}{{"before", next.Add(-time.Second)}, {"after", next.Add(time.Second)}} {
			add("a second "+when.word+" "+name, when.at.UTC().Format(time.RFC3339), v.policies.At(when.at), r)
		}
	}
	return list
}

// boundary returns the first instant after now at which a policy begins or ends, and says
// which; the name is empty if no policy does any more.
func (v *viewer) boundary(now time.Time) (first time.Time, name string) {
	visibility := tables.Of[*tables.Visibility](v.revision.tables)
	if visibility == nil {
		return first, ""
	}
	for i := range visibility.Policies {
		p := &visibility.Policies[i]
		if p.Disabled || p.Malformed {
			continue
		}
		for _, bound := range []struct {
			at   *time.Time
			word string
		}{{p.NotBefore, "begins"}, {p.NotAfter, "ends"}} {
			if bound.at != nil && bound.at.After(now) && (name == "" || bound.at.Before(first)) {
				first, name = *bound.at, p.Name+" "+bound.word
			}
		}
	}
	return first, name
}

// visibilityJSON returns a request as JSON.
func visibilityJSON(r *decision.VisibilityRequest) []byte {
	members := map[string]any{"user": r.User, "groups": append([]string{}, r.Groups...), "action": r.Action, "type": r.Type,
		"cluster": map[string]any{"name": r.Cluster.Name, "labels": r.Cluster.Labels}}
	if r.ServiceAccount.Name != "" {
		members["serviceAccount"] = map[string]string{"namespace": r.ServiceAccount.Namespace, "name": r.ServiceAccount.Name}
	}
	return mustJSON(members)
}
