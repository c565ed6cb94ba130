package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/tables"
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
	world *statement.World

	mu   sync.Mutex // held to read and change what follows
	used map[ruleID]*counter
	seen map[string]bool // the principals that documents name
}

// counter is the use of a rule, which may be bound several times.
type counter struct {
	matched, decided int
	fields           []statement.Field // of the rule, from when it decides
	uses             []fieldUse        // by those fields
}

// ruleID identifies a rule of a role or deny policy, a field of one, or a document. Roles of
// Kubernetes and of Origin may have one kind and name; where they are written tells them apart.
type ruleID struct {
	kind, namespace, name string
	rule                  int
	source                string
	field                 string
}

func (i ruleID) compare(o ruleID) int {
	return cmp.Or(strings.Compare(i.kind, o.kind), strings.Compare(i.namespace, o.namespace), strings.Compare(i.name, o.name),
		i.rule-o.rule, strings.Compare(i.source, o.source), strings.Compare(i.field, o.field))
}

func newUsage(w *statement.World) *usage {
	u := &usage{world: w, used: make(map[ruleID]*counter), seen: w.Named()}
	for principal := range u.seen {
		u.seen[principal] = false
	}
	return u
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
		if m.Effect == statement.OutcomeAllow && !isAllowed {
			continue
		}
		if m.Role == nil { // a deny policy
			m.Role = &decision.RoleRef{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
		}
		number, _ := m.Rule.(float64)
		id := ruleID{m.Role.Kind, m.Role.Namespace, m.Role.Name, int(number), m.Source, ""}
		c := u.used[id]
		if c == nil {
			c = new(counter)
			u.used[id] = c
		}
		c.matched++
		if i > 0 {
			continue
		}
		if c.decided++; c.decided == 1 {
			c.fields = u.world.FieldsOf(id.kind, id.namespace, id.name, id.rule, id.source)
		}
		c.useFields(q)
	}
}

func (u *usage) hold(principal string) {
	if seen, named := u.seen[principal]; named && !seen {
		u.seen[principal] = true
	}
}

// report returns what was not used, without what an earlier revision lacks and without the
// bootstrap rules and bindings.
func (u *usage) report(earlier *statement.World) *Unused {
	out, before, boundBefore := newUnused(), make(map[ruleID][]statement.Rule), make(map[ruleID]bool)
	if earlier != nil {
		for r := range earlier.Rules() {
			at := ruleID{kind: r.Kind, namespace: r.Namespace, name: r.Name}
			before[at] = append(before[at], r)
		}
		for b := range earlier.Bindings() {
			boundBefore[ruleID{kind: b.Kind, namespace: b.Namespace, name: b.Name}] = true
		}
	}
	for r := range u.world.Rules() {
		was := before[ruleID{kind: r.Kind, namespace: r.Namespace, name: r.Name}]
		if roles.IsBootstrap(r.Source) || earlier != nil && !slices.ContainsFunc(was, r.Same) {
			continue
		}
		rule := UnusedRule{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Rule: r.Rule, Source: r.Source}
		c := u.used[rule.id()]
		if c != nil {
			rule.Matched, rule.Decided = c.matched, c.decided
		}
		if rule.Decided == 0 {
			out.Rules = append(out.Rules, rule)
		} else {
			out.addFields(&rule, c)
		}
	}
	out.sort()
	listed := make(map[ruleID]bool)
	for b, subjects := range u.world.Bindings() {
		at := ruleID{kind: b.Kind, namespace: b.Namespace, name: b.Name}
		isYoung := earlier != nil && !boundBefore[at]
		isHeld := slices.ContainsFunc(subjects, func(p string) bool { return u.seen[p] })
		at.source = b.Source
		if isYoung || isHeld || listed[at] || roles.IsBootstrap(b.Source) {
			continue
		}
		listed[at] = true
		out.Bindings = append(out.Bindings, UnusedBinding{b.Kind, b.Namespace, b.Name, b.Source, subjects})
	}
	return out
}

func (u *Unused) sort() {
	u.Rules = sortByID(u.Rules, (*UnusedRule).id)
	u.Entries = sortByID(u.Entries, (*UnusedEntries).id)
	u.Wide = sortByID(u.Wide, (*Wide).id)
}

// sortByID sorts rows. Of two for one rule, such as those of two roles on one line, one is kept.
func sortByID[T any](list []T, id func(*T) ruleID) []T {
	compare := func(a, b T) int { return id(&a).compare(id(&b)) }
	slices.SortStableFunc(list, compare)
	return slices.CompactFunc(list, func(a, b T) bool { return compare(a, b) == 0 })
}

func (r *UnusedRule) id() ruleID {
	return ruleID{r.Kind, r.Namespace, r.Name, r.Rule, r.Source, ""}
}

func (b *UnusedBinding) id() ruleID {
	return ruleID{b.Kind, b.Namespace, b.Name, 0, b.Source, ""}
}

// merge returns what neither shard used. Nil is that of no shard.
func (u *Unused) merge(o *Unused) *Unused {
	if u == nil {
		return o
	}
	if o == nil {
		return u
	}
	idle, idleOther := keyed(u.Rules, (*UnusedRule).id), keyed(o.Rules, (*UnusedRule).id)
	out := newUnused()
	out.mergeFields(u, o, idle, idleOther)
	for _, r := range u.Rules {
		if other, ok := idleOther[r.id()]; ok {
			r.Matched += other.Matched
			out.Rules = append(out.Rules, r)
		}
	}
	unheld := keyed(o.Bindings, (*UnusedBinding).id)
	for _, b := range u.Bindings {
		if _, ok := unheld[b.id()]; ok {
			out.Bindings = append(out.Bindings, b)
		}
	}
	return out
}

// keyed returns the rows of a list by what they are of.
func keyed[T any](list []T, id func(*T) ruleID) map[ruleID]T {
	out := make(map[ruleID]T, len(list))
	for i := range list {
		out[id(&list[i])] = list[i]
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
		title := tables.Title(b.Kind, b.Namespace, b.Name)
		out = append(out, fmt.Sprintf("%s (%s): no event by %s", title, b.Source, strings.Join(b.Subjects, ", ")))
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

func ruleName(kind, namespace, name string, rule any, source string) string {
	return fmt.Sprintf("%s rule %v (%s)", tables.Title(kind, namespace, name), rule, source)
}

// quotedEmpty joins values; the empty one, such as the core API group, is quoted.
func quotedEmpty(values []string) string {
	var out []string
	for _, v := range values {
		out = append(out, cmp.Or(v, `""`))
	}
	return strings.Join(out, ", ")
}
