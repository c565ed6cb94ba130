package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
)

// Unused is what no event used. A log proves use, and never that something is useless.
type Unused struct {
	Rules    []UnusedRule    `json:"rules"`
	Bindings []UnusedBinding `json:"bindings"`
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
	of      map[string]string      // the rule of a binding's rule
	holders map[string]bool
}

func newUsage(rules []statement.Rule) *usage {
	u := &usage{rules: rules, named: make(map[string]bool), counts: make(map[string]*UnusedRule), of: make(map[string]string), holders: make(map[string]bool)}
	for _, r := range rules {
		u.of[matchedKey(r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, r.Rule)] = ruleKey(r)
		u.counts[ruleKey(r)] = &UnusedRule{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Rule: r.Rule, Source: r.Source}
		for _, p := range r.Subjects {
			u.named[p] = true
		}
	}
	return u
}

func ruleKey(r statement.Rule) string { return matchedKey(r.Kind, r.Namespace, r.Name, r.Rule) }

func matchedKey(kind, namespace, name string, rule any) string {
	return strings.Join([]string{kind, namespace, name, fmt.Sprint(rule)}, "\x00")
}

// use counts the rules that matched. A denial uses no allow rule.
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
	for i, m := range readDecision(after).Matched {
		c := t.usage.counts[t.usage.of[matchedKey(m.Kind, m.Namespace, m.Name, m.Rule)]]
		if c == nil || m.Effect == "allow" && after.Outcome != "allow" {
			continue
		}
		c.Matched++
		if i == 0 {
			c.Decided++
		}
	}
}

func (u *usage) add(o *usage) {
	for key, c := range o.counts {
		u.counts[key].Matched += c.Matched
		u.counts[key].Decided += c.Decided
	}
	maps.Copy(u.holders, o.holders)
}

func (u *usage) report() *Unused {
	out := &Unused{Rules: []UnusedRule{}, Bindings: []UnusedBinding{}}
	for _, key := range slices.Sorted(maps.Keys(u.counts)) {
		if c := u.counts[key]; c.Decided == 0 {
			out.Rules = append(out.Rules, *c)
		}
	}
	seen := make(map[string]bool)
	for _, r := range u.rules {
		key := matchedKey(r.Binding.Kind, r.Binding.Namespace, r.Binding.Name, 0)
		if seen[key] || r.Binding.Kind == r.Kind || slices.ContainsFunc(r.Subjects, func(p string) bool { return u.holders[p] }) {
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
	out := &Unused{Rules: []UnusedRule{}, Bindings: []UnusedBinding{}}
	for _, r := range u.Rules {
		for _, s := range o.Rules {
			if r.Kind == s.Kind && r.Namespace == s.Namespace && r.Name == s.Name && r.Rule == s.Rule {
				r.Matched += s.Matched
				out.Rules = append(out.Rules, r)
			}
		}
	}
	for _, b := range u.Bindings {
		if slices.ContainsFunc(o.Bindings, func(c UnusedBinding) bool { return c.Kind == b.Kind && c.Namespace == b.Namespace && c.Name == b.Name }) {
			out.Bindings = append(out.Bindings, b)
		}
	}
	return out
}

func (u *Unused) write(out *strings.Builder) {
	out.WriteString("Unused in these events. A log proves use, and never that something is useless.\n")
	for _, r := range u.Rules {
		why := "matched nothing"
		if r.Matched > 0 {
			why = fmt.Sprintf("matched %d, never decided", r.Matched)
		}
		fmt.Fprintf(out, "  %s %s/%s rule %d (%s): %s\n", r.Kind, r.Namespace, r.Name, r.Rule, r.Source, why)
	}
	for _, b := range u.Bindings {
		fmt.Fprintf(out, "  %s %s/%s (%s): no event by %s\n", b.Kind, b.Namespace, b.Name, b.Source, strings.Join(b.Subjects, ", "))
	}
}
