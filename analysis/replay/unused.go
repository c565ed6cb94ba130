package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/roles"
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

// usage counts how often rules matched and decided, and which principals were seen. Its
// size is that of the documents.
type usage struct {
	rules []statement.Rule
	of    map[ruleID]int // the counter of a rule, by its binding, and by itself
	used  []counter

	mu   sync.Mutex      // held to change counters, and to read and change seen
	seen map[string]bool // the principals that documents name
}

// counter is the use of a rule, which may be bound several times.
type counter struct {
	rule             int // the index of its last binding
	matched, decided int
	fields           []fieldUse // by the fields of the rule, nil until it decides
}

// ruleID identifies a rule of a document.
type ruleID struct{ kind, namespace, name, rule string }

func newUsage(rules []statement.Rule) *usage {
	u := &usage{rules: rules, of: make(map[ruleID]int), seen: make(map[string]bool)}
	for i := range rules {
		r := &rules[i]
		own := ruleID{r.Kind, r.Namespace, r.Name, strconv.Itoa(r.Rule)}
		at, ok := u.of[own]
		if !ok {
			at = len(u.used)
			u.used, u.of[own] = append(u.used, counter{}), at
		}
		u.used[at].rule = i
		u.of[ruleID{r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, own.rule}] = at
		for _, p := range r.Subjects {
			u.seen[p] = false
		}
	}
	return u
}

// isRecent returns what reports whether a rule, or its binding, is one that an earlier
// revision lacks. Nil is the revision of no comparison.
func isRecent(before []statement.Rule) func(r *statement.Rule) (rule, binding bool) {
	earlier, bindings := make(map[string][]*statement.Rule), make(map[string]bool)
	for i := range before {
		r := &before[i]
		document := matchedKey(r.Kind, r.Namespace, r.Name, 0)
		earlier[document] = append(earlier[document], r)
		bindings[bindingKey(r)] = true
	}
	return func(r *statement.Rule) (rule, binding bool) {
		if before == nil {
			return false, false
		}
		return !slices.ContainsFunc(earlier[matchedKey(r.Kind, r.Namespace, r.Name, 0)], r.Same), !bindings[bindingKey(r)]
	}
}

func bindingKey(r *statement.Rule) string {
	return matchedKey(r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, 0)
}

func matchedKey(kind, namespace, name string, rule any) string {
	return strings.Join([]string{kind, namespace, name, fmt.Sprintf("%06v", rule)}, "\x00")
}

// use counts the rules that matched. A denial, decided or recorded, uses no allow rule.
func (u *usage) use(r *record, after statement.Verdict) {
	q, ok := r.question.(*decision.Request)
	if !ok {
		return
	}
	isAllowed := after.Outcome == statement.OutcomeAllow && r.outcome != statement.OutcomeDeny && r.outcome != forbidden
	matched := readDecision(after).Matched
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hold(statement.UserPrefix + q.User)
	for _, group := range q.Groups {
		u.hold(statement.GroupPrefix + group)
	}
	for i, m := range matched {
		at, ok := u.of[ruleID{m.Kind, m.Namespace, m.Name, fmt.Sprint(m.Rule)}]
		if !ok || m.Effect == statement.OutcomeAllow && !isAllowed {
			continue
		}
		c := &u.used[at]
		c.matched++
		if i == 0 {
			c.decided++
			c.useFields(u.rules[c.rule].Fields(), q)
		}
	}
}

func (u *usage) hold(principal string) {
	if seen, named := u.seen[principal]; named && !seen {
		u.seen[principal] = true
	}
}

// report returns what was not used, without what an earlier revision lacks and without the
// bootstrap rules and bindings.
func (u *usage) report(earlier []statement.Rule) *Unused {
	out, recent := newUnused(), isRecent(earlier)
	for _, c := range u.used {
		r := &u.rules[c.rule]
		if isNew, _ := recent(r); isNew || roles.IsBootstrap(r.Source) {
			continue
		}
		rule := UnusedRule{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Rule: r.Rule, Source: r.Source, Matched: c.matched, Decided: c.decided}
		if c.decided == 0 {
			out.Rules = append(out.Rules, rule)
		} else {
			out.addFields(&rule, r.Fields(), c.fields)
		}
	}
	out.sort()
	listed := make(map[string]bool)
	for i := range u.rules {
		r := &u.rules[i]
		key := bindingKey(r)
		_, isNew := recent(r)
		if listed[key] || isNew || roles.IsBootstrap(r.Binding.Source) || r.Binding.Kind == r.Kind || slices.ContainsFunc(r.Subjects, func(p string) bool { return u.seen[p] }) {
			continue
		}
		listed[key] = true
		out.Bindings = append(out.Bindings, UnusedBinding{r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, r.Binding.Source, r.Subjects})
	}
	return out
}

func (u *Unused) sort() {
	sortByKey(u.Rules, (*UnusedRule).key)
	sortByKey(u.Entries, (*UnusedEntries).key)
	sortByKey(u.Wide, (*Wide).key)
}

func sortByKey[T any](list []T, key func(*T) string) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(&a), key(&b)) })
}

func (r *UnusedRule) key() string { return matchedKey(r.Kind, r.Namespace, r.Name, r.Rule) }

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
