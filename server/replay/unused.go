package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/diag"
)

// Unused is what no event used. A log proves use, and never that something is useless.
type Unused struct {
	Rules    []UnusedRule    `json:"rules"`
	Bindings []UnusedBinding `json:"bindings"`
	Entries  []UnusedEntries `json:"entries"`
	Wide     []Wide          `json:"wide"`
}

// UnusedRule is a rule of a role that decided no event: it matched none, or a rule of a
// lower step decided each one.
type UnusedRule struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Rule      int    `json:"rule"`
	Source    string `json:"source"`
	Matched   int    `json:"matched"`
	Decided   int    `json:"decided"`
}

// UnusedBinding is a binding of which no event had a subject.
type UnusedBinding struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Source    string   `json:"source"`
	Subjects  []string `json:"subjects"`
}

// usage counts how often rules matched and decided, and which principals were seen.
type usage struct {
	rules   []statement.Rule
	named   map[string]bool
	counts  map[string]*UnusedRule // by rule
	fields  map[string][]*fieldUse // by rule
	of      map[string]string      // the rule of a binding's rule
	holders map[string]bool
	recent  map[string]bool // rules and bindings that are not reported
}

func newUsage(rules []statement.Rule) *usage {
	u := &usage{rules: rules, named: make(map[string]bool), counts: make(map[string]*UnusedRule), fields: make(map[string][]*fieldUse), of: make(map[string]string), holders: make(map[string]bool), recent: make(map[string]bool)}
	for i := range rules {
		r := &rules[i]
		if u.counts[ruleKey(r)] == nil {
			u.fields[ruleKey(r)] = fieldsOf(r)
		}
		u.of[matchedKey(r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, r.Rule)] = ruleKey(r)
		u.counts[ruleKey(r)] = &UnusedRule{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Rule: r.Rule, Source: r.Source}
		for _, p := range r.Subjects {
			u.named[p] = true
		}
	}
	return u
}

// leaveOut leaves out the rules and the bindings that an earlier revision lacks.
func (u *usage) leaveOut(before []statement.Rule) {
	earlier, bindings := make(map[string][]*statement.Rule), make(map[string]bool)
	for i := range before {
		r := &before[i]
		document := matchedKey(r.Kind, r.Namespace, r.Name, 0)
		earlier[document] = append(earlier[document], r)
		bindings[bindingKey(r)] = true
	}
	for i := range u.rules {
		r := &u.rules[i]
		u.recent[bindingKey(r)] = !bindings[bindingKey(r)]
		if _, known := u.recent[ruleKey(r)]; !known {
			u.recent[ruleKey(r)] = !slices.ContainsFunc(earlier[matchedKey(r.Kind, r.Namespace, r.Name, 0)], r.Same)
		}
	}
}

func bindingKey(r *statement.Rule) string {
	return matchedKey("binding "+r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, 0)
}

func ruleKey(r *statement.Rule) string { return matchedKey(r.Kind, r.Namespace, r.Name, r.Rule) }

func matchedKey(kind, namespace, name string, rule any) string {
	return strings.Join([]string{kind, namespace, name, fmt.Sprint(rule)}, "\x00")
}

// use counts the rules that matched. A denial, decided or recorded, uses no allow rule.
func (t *tally) use(r *record, after statement.Verdict) {
	if t.usage == nil || r.point != statement.PointAccess {
		return
	}
	hold := func(p string) {
		if t.usage.named[p] {
			t.usage.holders[p] = true
		}
	}
	hold("user:" + r.user)
	for _, group := range groupsOf(r.request) {
		hold("group:" + group)
	}
	isAllowed := after.Outcome == "allow" && r.outcome != "deny" && r.outcome != forbidden
	for i, m := range readDecision(after).Matched {
		key := t.usage.of[matchedKey(m.Kind, m.Namespace, m.Name, m.Rule)]
		c := t.usage.counts[key]
		if c == nil || m.Effect == "allow" && !isAllowed {
			continue
		}
		c.Matched++
		if i == 0 {
			c.Decided++
			useFields(t.usage.fields[key], r.request)
		}
	}
}

func (u *usage) add(o *usage) {
	for key, c := range o.counts {
		u.counts[key].Matched += c.Matched
		u.counts[key].Decided += c.Decided
		for i, f := range o.fields[key] {
			u.fields[key][i].add(f)
		}
	}
	maps.Copy(u.holders, o.holders)
}

func (u *usage) report() *Unused {
	out := newUnused()
	for _, key := range slices.Sorted(maps.Keys(u.counts)) {
		if c := u.counts[key]; u.recent[key] {
			continue
		} else if c.Decided == 0 {
			out.Rules = append(out.Rules, *c)
		} else {
			out.addFields(c, u.fields[key])
		}
	}
	slices.SortFunc(out.Wide, func(a, b Wide) int { return cmp.Compare(a.key(), b.key()) })
	seen := make(map[string]bool)
	for i := range u.rules {
		r := &u.rules[i]
		key := bindingKey(r)
		if seen[key] || u.recent[key] || r.Binding.Kind == r.Kind || slices.ContainsFunc(r.Subjects, func(p string) bool { return u.holders[p] }) {
			continue
		}
		seen[key] = true
		out.Bindings = append(out.Bindings, UnusedBinding{r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, r.Binding.Source, r.Subjects})
	}
	return out
}

// merge returns what neither shard used. Nil is that of no shard.
func (u *Unused) merge(o *Unused) *Unused {
	if u == nil {
		return o
	}
	if o == nil {
		return u
	}
	ruleOf := func(r *UnusedRule) string { return matchedKey(r.Kind, r.Namespace, r.Name, r.Rule) }
	idle, idleOther := keyed(u.Rules, ruleOf), keyed(o.Rules, ruleOf)
	out := newUnused()
	out.mergeFields(u, o, idle, idleOther)
	for _, r := range u.Rules {
		if other, ok := idleOther[ruleOf(&r)]; ok {
			r.Matched += other.Matched
			out.Rules = append(out.Rules, r)
		}
	}
	bindingOf := func(b *UnusedBinding) string { return matchedKey(b.Kind, b.Namespace, b.Name, 0) }
	unheld := keyed(o.Bindings, bindingOf)
	for _, b := range u.Bindings {
		if _, ok := unheld[bindingOf(&b)]; ok {
			out.Bindings = append(out.Bindings, b)
		}
	}
	return out
}

// keyed returns the elements of a list by key.
func keyed[T any](list []T, key func(*T) string) map[string]T {
	out := make(map[string]T, len(list))
	for i := range list {
		out[key(&list[i])] = list[i]
	}
	return out
}

// lines returns what was not used, a line each.
func (u *Unused) lines() []string {
	var out []string
	for _, r := range u.Rules {
		why := "matched nothing"
		if r.Matched > 0 {
			why = fmt.Sprintf("matched %d, never decided", r.Matched)
		}
		out = append(out, fmt.Sprintf("%s: %s", ruleName(r.Kind, r.Namespace, r.Name, r.Rule, r.Source), why))
	}
	for _, b := range u.Bindings {
		out = append(out, fmt.Sprintf("%s (%s): no event by %s", documentName(b.Kind, b.Namespace, b.Name), b.Source, strings.Join(b.Subjects, ", ")))
	}
	for i := range u.Entries {
		out = append(out, u.Entries[i].line())
	}
	for i := range u.Wide {
		w := &u.Wide[i]
		out = append(out, fmt.Sprintf("%s: * in %s was used %s, for %s",
			ruleName(w.Kind, w.Namespace, w.Name, w.Rule, w.Source), w.Field, diag.Counted(w.Count, "time"), quotedEmpty(w.Used)))
	}
	return out
}

func documentName(kind, namespace, name string) string {
	return statement.DocumentName(statement.Document{Kind: kind, Namespace: namespace, Name: name})
}

func ruleName(kind, namespace, name string, rule any, source string) string {
	return fmt.Sprintf("%s rule %v (%s)", documentName(kind, namespace, name), rule, source)
}

// quotedEmpty joins values; the empty one, such as the core API group, is quoted.
func quotedEmpty(values []string) string {
	var out []string
	for _, v := range values {
		out = append(out, cmp.Or(v, `""`))
	}
	return strings.Join(out, ", ")
}
