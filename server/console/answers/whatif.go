package answers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// maxWhatIf is how many changed requests are shown.
const maxWhatIf = 12

// members are those of a request or of an object in it.
type members = map[string]any

// alternatives are requests that differ from one in one thing.
type alternatives struct {
	request []byte
	list    []console.WhatIf // before they are decided
}

// add adds the request with a change. The change gets members of its own.
func (a *alternatives) add(text string, change func(members)) {
	var m members
	decoder := json.NewDecoder(bytes.NewReader(a.request))
	decoder.UseNumber()
	if decoder.Decode(&m) != nil || m == nil {
		return
	}
	change(m)
	a.list = append(a.list, console.WhatIf{Text: text, Request: jsontext.Marshal(m)})
}

// set returns a change that sets a member.
func set(key string, value any) func(members) { return func(m members) { m[key] = value } }

// unset returns a change that removes a member.
func unset(key string) func(members) { return func(m members) { delete(m, key) } }

// within returns a change of an object in a request, which may lack it.
func within(key string, change func(members)) func(members) {
	return func(m members) {
		object, ok := m[key].(members)
		if !ok {
			object = members{}
		}
		change(object)
		m[key] = object
	}
}

// withoutEach adds the request without each group.
func (a *alternatives) withoutEach(groups []string, change func([]string) func(members)) {
	for i, group := range groups {
		a.add("without group "+group, change(slices.Delete(slices.Clone(groups), i, i+1)))
	}
}

// whatIf decides a request with one thing changed at a time. Callers who may ask about
// themselves alone get changes of their own request, and none that is taken from clusters
// or from documents about others: the changes would publish them.
func (v *viewer) whatIf(ctx context.Context, c console.Caller, point string, q decision.Question, e *console.Explanation, at time.Time) []console.WhatIf {
	groups, others := &alternatives{request: e.Request}, &alternatives{request: e.Request}
	switch r := q.(type) {
	case *decision.Request:
		groups.withoutEach(r.Groups, func(left []string) func(members) { return set("groups", left) })
		v.accessAlternatives(ctx, others, c, r, e, v.policies.At(at))
	case *decision.VisibilityRequest:
		groups.withoutEach(r.Groups, func(left []string) func(members) { return set("groups", left) })
		v.visibilityAlternatives(others, c, r, at)
	case *decision.GatewayRequest:
		gatewayAlternatives(groups, others, r)
	}
	list := slices.Concat(others.list, groups.list[:min(len(groups.list), max(0, maxWhatIf-len(others.list)))])
	out := []console.WhatIf{}
	for _, w := range list[:min(len(list), maxWhatIf)] {
		then := at
		if w.At != "" {
			then, _ = time.Parse(time.RFC3339, w.At) // as it was written
		}
		if ctx.Err() == nil && v.decideWhatIf(ctx, point, &w, then) {
			out = append(out, w)
		}
	}
	return out
}

// decideWhatIf sets the outcome of a changed request. It returns false if it is not one.
func (v *viewer) decideWhatIf(ctx context.Context, point string, w *console.WhatIf, at time.Time) bool {
	found, _ := decision.FindPoint(point)
	q, err := found.Decode(w.Request, v.x.o.ClusterLabels)
	if err != nil {
		return false
	}
	answer, refused := q.Decide(ctx, v.policies.At(at))
	if refused != nil || ctx.Err() != nil {
		return false
	}
	f := factsOf(point, answer, answer.Settle())
	w.Outcome, w.Reason, w.Matched = f.Outcome, f.Reason, f.Matched
	return true
}

func (v *viewer) accessAlternatives(ctx context.Context, a *alternatives, c console.Caller, r *decision.Request, e *console.Explanation, p decision.Policies) {
	if completed := impliedOf(r, p); completed != r {
		a.add(asAuthenticated, set("groups", completed.Groups))
	}
	if r.Labels != nil {
		a.add("the labels are not known", unset("labels"))
	}
	if r.Labels == nil || len(r.Labels) > 0 {
		a.add("the object has no labels", set("labels", members{}))
	}
	v.unknownFacts(a, c, r, e, p)
	if r.Pod != nil {
		a.add("the pod cannot be read", func(m members) {
			delete(m, "pod")
			m["podError"] = "the pod cannot be read"
		})
	}
	if other, ok := otherThan(v.clusters(c), r.Cluster); ok {
		a.add("in cluster "+other, set("cluster", other))
	}
	if end := p.Access(ctx, r).Span.End; c.SeesAll && end != nil {
		a.add("at "+end.String()+", when a document begins or ends", func(members) {})
		a.list[len(a.list)-1].At = end.String()
	}
	if r.Verb != "get" {
		a.add("the verb is get", set("verb", "get"))
	}
}

// restrictedFacts are the members of requests that restrictions read, by the restriction,
// and the words for them.
var restrictedFacts = map[string][2]string{
	"labelsContain": {"labels", "labels"}, "fieldsMutatable": {"fields", "changed fields"}, "sameMinionRestriction": {"attributes", "nodes"},
}

// unknownFacts adds both values of the facts that warnings and denials name as unknown: with
// one the rule matches, with the other it does not. What a deny policy requires is for
// auditors.
func (v *viewer) unknownFacts(a *alternatives, c console.Caller, r *decision.Request, e *console.Explanation, p decision.Policies) {
	var d struct{ Reason string }
	isClosed := json.Unmarshal(e.Decision, &d) == nil && strings.HasSuffix(d.Reason, "namespace labels are unknown (fail-closed)")
	if len(e.Warnings) == 0 && !isClosed {
		return
	}
	world := statement.Of(p)
	if world == nil {
		return
	}
	if isClosed && c.SeesAll && len(e.Matched) > 0 {
		for _, s := range world.Deny {
			if at := s.Documents[0]; at.Name == e.Matched[0].Name && at.Source == e.Matched[0].Source {
				contrast(a, r, s, "namespaceLabels", "namespace labels")
			}
		}
	}
	for _, principal := range statement.Principals(r.User, r.Groups) {
		own := world.In(principal, "")
		if r.Namespace != "" {
			own = world.Of(principal, r.Namespace)
		}
		for _, s := range own {
			for _, warning := range e.Warnings {
				rest, isOwn := strings.CutPrefix(warning, ruleText(s)+": ")
				restriction, _, _ := strings.Cut(rest, " undecidable: ")
				if fact, known := restrictedFacts[restriction]; isOwn && known {
					contrast(a, r, s, fact[0], fact[1])
				}
			}
		}
	}
}

// ruleText names a rule as warnings do.
func ruleText(s *statement.Statement) string {
	d := &s.Documents[0]
	return strings.Replace(fmt.Sprintf("%s %s/%s rule %d", d.Kind, d.Namespace, d.Name, d.Rule), " /", " ", 1)
}

// contrast adds a value of a member that a rule matches, and one that it does not.
func contrast(a *alternatives, r *decision.Request, s *statement.Statement, member, word string) {
	q, err := nearQuestion(r, member)
	if err != nil {
		return
	}
	fits, other := q.Contrast(s, statement.Principals(r.User, r.Groups))
	for _, row := range []struct {
		word    string
		request map[string]any
	}{{"matches", fits}, {"does not match", other}} {
		if value := row.request[member]; value != nil {
			a.add(fmt.Sprintf("with %s that %s %s: %s", word, ruleText(s), row.word, jsontext.Marshal(value)), set(member, value))
		}
	}
}

func (v *viewer) visibilityAlternatives(a *alternatives, c console.Caller, r *decision.VisibilityRequest, now time.Time) {
	if r.Cluster.Name != "" {
		if r.Cluster.Labels != nil && v.x.o.ClusterLabels(r.Cluster.Name) == nil {
			a.add("the labels of the cluster are not known", within("cluster", unset("labels")))
		}
		if r.Cluster.Labels == nil || len(r.Cluster.Labels) > 0 {
			a.add("the cluster has no labels", within("cluster", set("labels", members{})))
		}
	}
	if other, ok := otherThan(v.clusters(c), r.Cluster.Name); ok {
		cluster := members{"name": other}
		if labels := v.x.o.ClusterLabels(other); labels != nil {
			cluster["labels"] = labels
		}
		a.add("in cluster "+other, set("cluster", cluster))
	}
	if next, name := boundary(now, v.shownPolicies(c, r)); name != "" {
		for _, when := range []struct {
			word string
			at   time.Time
		}{{"before", next.Add(-time.Second)}, {"after", next.Add(time.Second)}} {
			a.add("a second "+when.word+" "+name, func(members) {})
			a.list[len(a.list)-1].At = when.at.UTC().Format(time.RFC3339)
		}
	}
}

// gatewayAlternatives adds a request without its identity, without each of its groups, and
// with the method GET.
func gatewayAlternatives(groups, others *alternatives, r *decision.GatewayRequest) {
	identity, _ := r.Object("auth")["identity"].(map[string]any)
	if identity != nil {
		others.add("without an identity", within("auth", unset("identity")))
	}
	if r.Text("request", "method") != "GET" {
		others.add("the method is GET", within("request", set("method", "GET")))
	}
	list, _ := identity["groups"].([]any)
	for i, group := range list {
		left := slices.Delete(slices.Clone(list), i, i+1)
		groups.add(fmt.Sprintf("without group %v", group), within("auth", within("identity", set("groups", left))))
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

// clusters returns the clusters that may be named to a caller: all to auditors.
func (v *viewer) clusters(c console.Caller) []string {
	if !c.SeesAll {
		return nil
	}
	return v.x.o.Clusters()
}

// shownPolicies returns the visibility policies that may be named to a caller: those that
// name the principal of the request and, for auditors, all.
func (v *viewer) shownPolicies(c console.Caller, r *decision.VisibilityRequest) (list []*tables.VisibilityPolicy) {
	t := tables.Of[*tables.Visibility](v.revision.tables)
	if t == nil {
		return nil
	}
	keys := principalKeys(r)
	for i := range t.Policies {
		p := &t.Policies[i]
		if c.SeesAll || slices.ContainsFunc(p.SubjectKeys(), func(key string) bool { return slices.Contains(keys, key) }) {
			list = append(list, p)
		}
	}
	return list
}

// boundary returns the first instant after now at which one of the policies begins or ends,
// and says which; the name is empty if no policy does any more while clocks go on.
func boundary(now time.Time, policies []*tables.VisibilityPolicy) (first time.Time, name string) {
	for _, p := range policies {
		if p.Disabled || p.Malformed {
			continue
		}
		for word, at := range maps.All(map[string]*time.Time{"begins": p.NotBefore, "ends": p.NotAfter}) {
			if at == nil || !at.After(now) || !dates.Of(*at).Time().Equal(*at) {
				continue
			}
			text := p.Name + " " + word
			if name == "" || cmp.Or(at.Compare(first), strings.Compare(text, name)) < 0 {
				first, name = *at, text
			}
		}
	}
	return first, name
}
