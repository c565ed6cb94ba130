package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// WhatCan is the answer to "what can this subject do?".
type WhatCan struct {
	Question   QuestionJSON `json:"question"`
	Resources  []Resource   `json:"resources"`
	Statements []Statement  `json:"statements"`
	// EverybodyDenied are the statements of deny policies.
	EverybodyDenied []int    `json:"everybodyDenied"`
	Warnings        []string `json:"warnings"`
	Revision        string   `json:"revision"`
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

	step int
}

// WhatCan lists the rules that allow the subject of a question something.
func (a *Asker) WhatCan(ctx context.Context, q *Question) (*WhatCan, error) {
	q.prepare()
	principals := q.principals()
	var bound []*statement
	namespace, stated := q.namespace()
	for _, p := range principals {
		for _, s := range a.World.of(p, namespace) {
			if (!stated || s.namespace == namespace || s.namespace == "") && !slices.Contains(bound, s) {
				bound = append(bound, s)
			}
		}
	}
	f := q.fit(a.World.deny, bound)
	g := new(registry)
	entries := make(map[*statement]*entry, len(f.all))
	for _, s := range f.all {
		entries[s] = g.add(s, nil)
	}
	question := q.json()
	question.Subject = map[string]any{subjectUser: q.User, subjectGroups: append([]string{}, q.Groups...)}
	out := &WhatCan{Question: question, Statements: g.number(), Resources: []Resource{}, EverybodyDenied: []int{}, Warnings: []string{}, Revision: a.Revision}
	for _, s := range f.deny {
		out.EverybodyDenied = append(out.EverybodyDenied, entries[s].ID)
	}
	out.EverybodyDenied = sortedIDs(out.EverybodyDenied)
	own := f.all[len(f.deny):]
	done := make(map[int]bool)
	for _, s := range own {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id := entries[s].ID
		if s.effect != outcomeAllow || done[id] {
			continue
		}
		done[id] = true
		example, err := a.allowed(ctx, q, s, f.deny, below(own, s), principals)
		if err != nil {
			return nil, err
		}
		if example != nil {
			out.Resources = append(out.Resources, q.resource(s, f.deny, below(own, s), principals, id))
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

// principals returns those that the subject of a question holds.
func (q *Question) principals() []string {
	var out []string
	if q.User != "" {
		out = append(out, userPrefix+q.User)
	}
	for _, group := range q.Groups {
		out = append(out, groupPrefix+group)
	}
	return tables.Once(out)
}

// resource describes an allow rule. It allows always unless a denial touches it or its
// own restrictions do not hold.
func (q *Question) resource(s *statement, deny, denials []*statement, principals []string, id int) Resource {
	out := Resource{Verdict: verdictAlways, Statements: []int{id}, step: s.step, Namespaces: "*"}
	if s.namespace != "" {
		out.Namespaces = []string{s.namespace}
	}
	switch c := s.condition.(type) {
	case *kubernetesRule:
		out.Verbs, out.APIGroups, out.Resources, out.ResourceNames, out.NonResourceURLs = c.verbs, c.groups, c.resources, c.names, c.paths
	case *originRule:
		out.Verbs, out.ResourceKinds = negated(c.verbs, c.notVerbs), negated(c.kinds, c.notKinds)
	}
	out.Text = conditionText([]*statement{s})
	var touching []string
	for _, d := range slices.Concat(deny, denials) {
		if q.find([]*statement{s, d}, nil, principals) != nil {
			touching = append(touching, d.title())
		}
	}
	if len(touching) > 0 {
		out.Text = joinTexts(out.Text, "unless "+strings.Join(cut(tables.Once(touching)), " or "))
	}
	if out.Text != "" {
		out.Verdict = verdictSometimes
	}
	return out
}

func joinTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}

// conditionText states what allow statements require beyond verbs and resources. It is
// empty if one of them requires nothing.
func conditionText(list []*statement) string {
	var texts []string
	for _, s := range list {
		if s.effect != outcomeAllow {
			continue
		}
		text := requirement(s)
		if text == "" {
			texts = nil
			break
		}
		texts = append(texts, text)
	}
	text := strings.Join(tables.Once(texts), " or ")
	var denials []string
	for _, s := range list {
		if s.effect == outcomeDeny {
			denials = append(denials, s.title())
		}
	}
	if len(denials) > 0 {
		text = joinTexts(text, "unless "+strings.Join(cut(tables.Once(denials)), " or "))
	}
	return text
}

// requirement states what one statement requires.
func requirement(s *statement) string {
	switch c := s.condition.(type) {
	case *kubernetesRule:
		if len(c.names) > 0 {
			return "name " + strings.Join(cut(c.names), ", ")
		}
	case *originRule:
		if c.restrictions == nil {
			return ""
		}
		var parts []string
		for _, entry := range c.restrictions.Labels {
			if entry.Value == nil {
				parts = append(parts, "label "+entry.Key)
			} else {
				parts = append(parts, "label "+entry.Key+"="+*entry.Value)
			}
		}
		if len(c.restrictions.Fields) > 0 {
			parts = append(parts, "fields "+strings.Join(cut(c.restrictions.Fields), ", "))
		}
		if c.restrictions.SameMinion {
			parts = append(parts, "on the same node")
		}
		if c.restrictions.Expression != "" {
			parts = append(parts, c.restrictions.Expression)
		}
		if c.restrictions.Extension != "" {
			parts = append(parts, "extension "+c.restrictions.Extension)
		}
		return strings.Join(parts, " and ")
	}
	return ""
}

// longest is how many entries of a list a text shows.
const longest = 5

func cut(list []string) []string {
	if len(list) <= longest {
		return list
	}
	return append(slices.Clone(list[:longest]), fmt.Sprintf("and %d more", len(list)-longest))
}

// title names the document of a statement.
func (s *statement) title() string {
	d := s.documents[0]
	if d.Kind == "DenyPolicy" && s.step == 2 {
		return fmt.Sprintf("DenyPolicy %s (pod security)", d.Name)
	}
	return fmt.Sprintf("%s rule %d", documentName(d), d.Rule)
}

func documentName(d Document) string {
	if d.Namespace == "" {
		return d.Kind + " " + d.Name
	}
	return d.Kind + " " + d.Namespace + "/" + d.Name
}
