package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
)

// UnusedEntries are entries of a rule that decided events, none of which needed them.
type UnusedEntries struct {
	Kind            string   `json:"kind"`
	Namespace       string   `json:"namespace"`
	Name            string   `json:"name"`
	Source          string   `json:"source"`
	Rule            int      `json:"rule"`
	Verbs           []string `json:"verbs,omitempty"`
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	ResourceKinds   []string `json:"resourceKinds,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
}

// Wide is a "*" of a rule, with the values that events used it for.
type Wide struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Source    string   `json:"source"`
	Rule      int      `json:"rule"`
	Field     string   `json:"field"`
	Used      []string `json:"used"`
	Count     int      `json:"count"`
}

// fieldUse is what events needed of a list of a rule.
type fieldUse struct {
	needed []bool      // by entry, nil if none is
	values leastValues // that "*" was used for
	wide   int
}

// useFields counts the entries of the rule that a request needs.
func (c *counter) useFields(q *decision.Request) {
	r := &statement.Request{Verb: q.Verb, Group: q.APIGroup, Resource: q.Resource, Subresource: q.Subresource, Path: q.Path, Name: q.Name, Namespace: q.Namespace}
	if c.uses == nil {
		c.uses = make([]fieldUse, len(c.fields))
	}
	for i := range c.fields {
		f, use := &c.fields[i], &c.uses[i]
		if len(f.Entries) == 0 {
			continue
		}
		used := f.Used(r)
		if use.needed == nil {
			use.needed = make([]bool, len(f.Entries))
		}
		for j, entry := range f.Entries {
			use.needed[j] = use.needed[j] || slices.Contains(used, entry)
		}
		if slices.Contains(used, "*") {
			use.wide++
			use.values.add(f.Value(r), maxListed)
		}
	}
}

func newUnused() *Unused {
	return &Unused{Rules: []UnusedRule{}, Bindings: []UnusedBinding{}, Entries: []UnusedEntries{}, Wide: []Wide{}}
}

// addFields adds what a rule that decided events did not need.
func (u *Unused) addFields(r *UnusedRule, c *counter) {
	e := UnusedEntries{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Source: r.Source, Rule: r.Rule}
	for i, use := range c.uses {
		var unneeded []string
		for j, needed := range use.needed {
			if !needed {
				unneeded = append(unneeded, c.fields[i].Entries[j])
			}
		}
		for _, list := range e.lists() {
			if list.name == c.fields[i].Name {
				*list.entries = unneeded
			}
		}
		if use.wide > 0 {
			u.Wide = append(u.Wide, Wide{r.Kind, r.Namespace, r.Name, r.Source, r.Rule, c.fields[i].Name, use.values, use.wide})
		}
	}
	if !e.isEmpty() {
		u.Entries = append(u.Entries, e)
	}
}

// entryList is a list of entries with the name of its field.
type entryList struct {
	name    string
	entries *[]string
}

func (e *UnusedEntries) lists() []entryList {
	return []entryList{{"verbs", &e.Verbs}, {"apiGroups", &e.APIGroups}, {"resources", &e.Resources},
		{"resourceNames", &e.ResourceNames}, {"resourceKinds", &e.ResourceKinds}, {"nonResourceURLs", &e.NonResourceURLs}}
}

func (e *UnusedEntries) isEmpty() bool {
	return !slices.ContainsFunc(e.lists(), func(l entryList) bool { return len(*l.entries) > 0 })
}

func (e *UnusedEntries) line() string {
	var parts []string
	for _, l := range e.lists() {
		if len(*l.entries) > 0 {
			parts = append(parts, l.name+" "+quotedEmpty(*l.entries))
		}
	}
	return fmt.Sprintf("%s: no event needed %s", ruleName(e.Kind, e.Namespace, e.Name, e.Rule, e.Source), strings.Join(parts, "; "))
}

func (e *UnusedEntries) id() ruleID {
	return ruleID{e.Kind, e.Namespace, e.Name, e.Rule, e.Source, ""}
}

func (w *Wide) id() ruleID { return ruleID{w.Kind, w.Namespace, w.Name, w.Rule, w.Source, w.Field} }

// mergeFields sets what the rules of two shards did not need. A rule that decided no event
// of one shard, as idle states, has what it did not need in the other one.
func (u *Unused) mergeFields(a, b *Unused, idleA, idleB map[ruleID]UnusedRule) {
	entries, before := make(map[ruleID]UnusedEntries), make(map[ruleID]*UnusedEntries)
	for i := range a.Entries {
		e := &a.Entries[i]
		before[e.id()] = e
		if _, idle := idleB[e.id()]; idle {
			entries[e.id()] = *e
		}
	}
	for _, e := range b.Entries {
		if other := before[e.id()]; other != nil {
			for j, l := range e.lists() {
				*l.entries = slices.DeleteFunc(slices.Clone(*l.entries), func(entry string) bool { return !slices.Contains(*other.lists()[j].entries, entry) })
			}
			if !e.isEmpty() {
				entries[e.id()] = e
			}
		} else if _, idle := idleA[e.id()]; idle {
			entries[e.id()] = e
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(entries), ruleID.compare) {
		u.Entries = append(u.Entries, entries[key])
	}
	wide := make(map[ruleID]Wide)
	for _, w := range slices.Concat(a.Wide, b.Wide) {
		if before, ok := wide[w.id()]; ok {
			w.Count += before.Count
			used := leastValues(slices.Clone(before.Used))
			for _, value := range w.Used {
				used.add(value, maxListed)
			}
			w.Used = used
		}
		wide[w.id()] = w
	}
	for _, key := range slices.SortedFunc(maps.Keys(wide), ruleID.compare) {
		u.Wide = append(u.Wide, wide[key])
	}
}
