package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
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

// maxUsed is how many values of a "*" are listed.
const maxUsed = 20

// fieldUse is a list of a rule and what of it events needed.
type fieldUse struct {
	statement.Field
	needed map[string]bool
	values []string // that "*" was used for: the first maxUsed in order
	wide   int
}

func fieldsOf(r *statement.Rule) []*fieldUse {
	var out []*fieldUse
	for _, f := range r.Fields() {
		if len(f.Entries) > 0 {
			out = append(out, &fieldUse{Field: f, needed: make(map[string]bool)})
		}
	}
	return out
}

// useFields counts the entries that a request needs.
func useFields(fields []*fieldUse, request []byte) {
	var object map[string]any
	if len(fields) == 0 || json.Unmarshal(request, &object) != nil {
		return
	}
	var r statement.Request
	for _, set := range statement.Setters(object, nil) {
		set(&r)
	}
	for _, f := range fields {
		for _, entry := range f.Used(&r) {
			f.needed[entry] = true
			if entry == "*" {
				f.wide++
				f.see(f.Value(&r))
			}
		}
	}
}

// see adds a value that "*" was used for.
func (f *fieldUse) see(values ...string) {
	for _, value := range values {
		at, known := slices.BinarySearch(f.values, value)
		if !known && at < maxUsed {
			f.values = slices.Insert(f.values, at, value)
			f.values = f.values[:min(len(f.values), maxUsed)]
		}
	}
}

func (f *fieldUse) add(o *fieldUse) {
	f.wide += o.wide
	f.see(o.values...)
	maps.Copy(f.needed, o.needed)
}

func newUnused() *Unused {
	return &Unused{Rules: []UnusedRule{}, Bindings: []UnusedBinding{}, Entries: []UnusedEntries{}, Wide: []Wide{}}
}

// addFields adds what a rule that decided events did not need.
func (u *Unused) addFields(c *UnusedRule, fields []*fieldUse) {
	e := UnusedEntries{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, Source: c.Source, Rule: c.Rule}
	for _, f := range fields {
		unneeded := slices.DeleteFunc(slices.Clone(f.Entries), func(entry string) bool { return f.needed[entry] })
		for _, list := range e.lists() {
			if list.name == f.Name {
				*list.entries = unneeded
			}
		}
		if f.wide > 0 {
			u.Wide = append(u.Wide, Wide{c.Kind, c.Namespace, c.Name, c.Source, c.Rule, f.Name, f.values, f.wide})
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

func (e *UnusedEntries) key() string { return matchedKey(e.Kind, e.Namespace, e.Name, e.Rule) }

func (w *Wide) key() string { return matchedKey(w.Kind, w.Namespace, w.Name, w.Rule) + w.Field }

// mergeFields sets what the rules of two shards did not need. A rule that decided no event
// of one shard, as idle states, has what it did not need in the other one.
func (u *Unused) mergeFields(a, b *Unused, idleA, idleB map[string]UnusedRule) {
	entries, before := make(map[string]UnusedEntries), make(map[string]*UnusedEntries)
	for i := range a.Entries {
		e := &a.Entries[i]
		before[e.key()] = e
		if _, idle := idleB[e.key()]; idle {
			entries[e.key()] = *e
		}
	}
	for _, e := range b.Entries {
		if other := before[e.key()]; other != nil {
			for j, l := range e.lists() {
				*l.entries = slices.DeleteFunc(slices.Clone(*l.entries), func(entry string) bool { return !slices.Contains(*other.lists()[j].entries, entry) })
			}
			if !e.isEmpty() {
				entries[e.key()] = e
			}
		} else if _, idle := idleA[e.key()]; idle {
			entries[e.key()] = e
		}
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		u.Entries = append(u.Entries, entries[key])
	}
	wide := make(map[string]Wide)
	for _, w := range slices.Concat(a.Wide, b.Wide) {
		if before, ok := wide[w.key()]; ok {
			w.Count += before.Count
			w.Used = slices.Compact(slices.Sorted(slices.Values(slices.Concat(w.Used, before.Used))))
			w.Used = w.Used[:min(len(w.Used), maxUsed)]
		}
		wide[w.key()] = w
	}
	for _, key := range slices.Sorted(maps.Keys(wide)) {
		u.Wide = append(u.Wide, wide[key])
	}
}
