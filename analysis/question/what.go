package question

import (
	"context"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/tables"
)

// WhatCan is the answer to "what can this subject do?".
type WhatCan struct {
	Question   QuestionJSON     `json:"question"`
	Resources  []Resource       `json:"resources"`
	Statements []statement.JSON `json:"statements"`
	// EverybodyDenied are the statements of deny policies.
	EverybodyDenied []int    `json:"everybodyDenied"`
	Warnings        []string `json:"warnings"`
	Revision        string   `json:"revision"`
	// At is the time of the answer.
	At string `json:"at"`
	// Sessions are the BreakglassSessions of the subject that are valid then. Statements name
	// their groups.
	Sessions []Session `json:"sessions"`
}

// Resource is an allow rule that allows the subject something.
type Resource struct {
	Verbs           []string `json:"verbs"`
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
	ResourceKinds   []string `json:"resourceKinds,omitempty"`
	// Namespaces is a list, or "*".
	Namespaces any    `json:"namespaces"`
	Verdict    string `json:"verdict"`
	Text       string `json:"text"`
	Statements []int  `json:"statements"`
	// Until is when the rule, or the session that gives it, begins or ends; empty if it does
	// not.
	Until string `json:"until,omitempty"`
	// Via is the session that gives the rule to the subject.
	Via []Via `json:"via,omitempty"`
	// Example is a request that the rule allows; nil if it may allow one that was not found.
	Example map[string]any `json:"-"`

	step int
}

// WhatCan lists the rules that allow the subject of a question something.
func (a *Asker) WhatCan(ctx context.Context, q *Question) (*WhatCan, error) {
	if err := a.prepare(q); err != nil {
		return nil, err
	}
	principals := q.principals()
	f := q.fit(a.World.Deny).add(q, slices.Values(a.bound(q, principals)))
	g := new(statement.Registry)
	entries := make(map[*statement.Statement]*statement.Entry, len(f.all))
	for _, s := range f.all {
		entries[s] = g.Add(s.Stated(), nil)
	}
	question := q.json()
	question.Subject = map[string]any{subjectUser: q.User, subjectGroups: append([]string{}, q.Groups...)}
	out := &WhatCan{Question: question, Statements: g.Number(), Resources: []Resource{}, EverybodyDenied: []int{}, Warnings: []string{}, Revision: a.Revision, At: dates.Format(a.Now),
		Sessions: sessionsOf(q.fitting(a.World.Sessions().Of(statement.UserPrefix + q.User)))}
	for _, s := range f.deny {
		out.EverybodyDenied = append(out.EverybodyDenied, entries[s].ID)
	}
	out.EverybodyDenied = statement.SortedIDs(out.EverybodyDenied)
	own := f.all[len(f.deny):]
	type given struct { // an entry, and the cluster on which a session gives it
		id      int
		cluster string
	}
	done := make(map[given]bool)
	for _, s := range own {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id := entries[s].ID
		of := given{id, s.Cluster()}
		if s.Effect != statement.OutcomeAllow || done[of] || done[given{id, ""}] {
			continue
		}
		done[of] = true
		example, unsure, err := a.allowed(ctx, q, s, f.deny, below(own, s), principals)
		if err != nil {
			return nil, err
		}
		if example != nil || unsure {
			resource := q.resource(s, f.deny, below(own, s), principals, id)
			resource.Example = example
			alike := []*statement.Statement{s}
			if s.IsLent() { // several sessions may give one rule
				alike = slices.DeleteFunc(slices.Clone(own), func(t *statement.Statement) bool { return given{entries[t].ID, t.Cluster()} != of })
			}
			resource.Until, resource.Via = untilOf(alike, dates.Of(a.Now)), viaOf(alike)
			out.Resources = append(out.Resources, resource)
		}
	}
	slices.SortStableFunc(out.Resources, func(a, b Resource) int {
		if a.step != b.step {
			return a.step - b.step
		}
		return a.Statements[0] - b.Statements[0]
	})
	return out, q.err()
}

// bound returns the statements of some principals that hold where the question is, each
// once: those of bindings, and those that sessions give.
func (a *Asker) bound(q *Question, principals []string) []*statement.Statement {
	return a.boundTo(q, principals, true)
}

// boundTo returns the statements of principals that may hold where a question asks, with
// those of sessions or without.
func (a *Asker) boundTo(q *Question, principals []string, sessions bool) []*statement.Statement {
	var bound []*statement.Statement
	seen := make(map[*statement.Statement]bool)
	namespace, isStated := q.namespace()
	for _, p := range principals {
		own := a.World.In(p, "")
		if !isStated || namespace != "" {
			own = a.World.Of(p, namespace)
		}
		var given []*statement.Statement
		switch {
		case !sessions:
		case !isStated || namespace != "":
			given = a.World.Sessions().Holding(p, namespace)
		default:
			given = a.World.Sessions().In(p, "")
		}
		for _, s := range slices.Concat(own, given) {
			if !seen[s] {
				seen[s] = true
				bound = append(bound, s)
			}
		}
	}
	return bound
}

// principals returns those that the subject of a question holds.
func (q *Question) principals() []string {
	return tables.Once(statement.Principals(q.User, q.Groups))
}

// resource describes an allow rule. It allows always unless a denial touches it or its
// own restrictions do not hold.
func (q *Question) resource(s *statement.Statement, deny, denials []*statement.Statement, principals []string, id int) Resource {
	out := Resource{Verdict: verdictAlways, Statements: []int{id}, step: s.Step, Namespaces: "*"}
	if s.Namespace != "" {
		out.Namespaces = []string{s.Namespace}
	}
	switch c := s.Rule().(type) {
	case *statement.KubernetesRule:
		out.Verbs, out.APIGroups, out.Resources, out.ResourceNames, out.NonResourceURLs = c.Verbs, c.Groups, c.Resources, c.Names, c.Paths
	case *statement.OriginRule:
		out.Verbs, out.ResourceKinds = tables.Negated(c.Verbs, c.NotVerbs), tables.Negated(c.Kinds, c.NotKinds)
	}
	if namespaces, names, resources := s.Pods(); len(names) > 0 {
		out.Verbs, out.APIGroups, out.Namespaces, out.Resources, out.ResourceNames = []string{"*"}, []string{""}, namespaces, resources, names
	}
	out.Text = statement.ConditionText([]*statement.Statement{s}, map[string]bool{"cluster": q.open["cluster"]}, false)
	var touching []string
	for _, d := range slices.Concat(deny, denials) {
		if d.Step < s.Step && q.find([]*statement.Statement{s, d}, nil, principals) != nil {
			touching = append(touching, d.Title())
		}
	}
	if len(touching) > 0 {
		out.Text = statement.JoinTexts(out.Text, "unless "+strings.Join(statement.Shorten(tables.Once(touching)), " or "))
	}
	if out.Text != "" {
		out.Verdict = verdictSometimes
	}
	return out
}
