package oracle

import (
	"fmt"
	"slices"
)

// Vocabularies of visibility. Literals, globs and the values of requests are
// drawn from each other, so that they meet.
var (
	viewUsers      = []string{"alice", "Alice", "eve", "ev*", "bob", "system:serviceaccount:apps:bot", "u\u0308nal", "\u00fcnal", "*"}
	viewGroups     = []string{"dev", "ops", "a,b", "*", "system:authenticated", "alice"}
	viewAccounts   = []Account{{"apps", "bot"}, {"", "bot"}, {"default", "bot"}, {"apps", "bot.two"}, {"team", "bot"}}
	viewNames      = []string{"a", "a-1", "a.1", "a0", "aa", "B", "z", "x y", "it's", "Ünal", "p/q"}
	viewNamespaces = []string{"", "", "a", "a-b", "team-a", "team-b", "Z"}

	viewClusters   = []string{"prod-eu-1", "nonprod-1", "dev", "edge.1", "prod-eu-1\n", "ünï", "Dev", "prod-*"}
	viewPatterns   = []string{"prod", "^prod-", "^prod-eu-1$", ".*", ".", "(?i)DEV", "^dev$", "eu|edge", `\d$`, "ü", "^$", `^edge\.1$`, "[a-d]e"}
	viewTimes      = []string{"2026-03-01T12:00:00Z", "2026-03-01T12:00:00.5Z", "2026-03-01T12:00:00.500+00:00", "2026-03-01T13:30:00+01:30", "2026-03-01T11:59:59.999999999Z"}
	wrongTimes     = []string{"2026-03-01", "2026-03-01T12:00:00", "2026-03-01 12:00:00Z", "2026-13-01T00:00:00Z", "soon", "2026-02-30T00:00:00Z"}
	standardTypes  = []string{"nodes", "namespaces", "operators", "pods", "alerts", "events"}
	customTypes    = []string{"pvc", "certificate", "vm.v1", "cost report", "PVC"}
	itemNames      = []string{"web", "web-tmp", "api-1", "api-1-tmp", "x", "a.b", "axb", "a*b", "[a]", "a", "Web", "über", "a\nb", "* *", `a\b`, "^a$", "(x)"}
	itemNamespaces = []string{"app-1", "app-2", "app-", "kube-system", "default", "team-a", "a", "b", "*"}
	itemLabels     = []string{"team", "env", "node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"}

	nameLists      = append([]string{"*", "web*", "*-tmp", "?", "a?b", "api-?", "a*", "[ab]", "a.?", "*\n*", "?ber", "* *", `a\*`, "^a*", "(?)", "w??", "**"}, itemNames...)
	namespaceLists = append([]string{"*", "app-*", "kube-*", "?", "*-?", "team-[ab]", "a*", "app-?"}, itemNamespaces...)
	fieldLists     = []string{"Bound", "Failed", "", "*", "?*", "B*", "1", "true", "false", "1000", "0.25", "0.*", "5368709120", "-3", "20.5", "0", "tru?", "[*", "12345678901234567890", "x,y"}

	fieldNames       = []string{"phase", "capacity", "class", "tenant", "ready", "size in GB", "name", "namespace", "_name"}
	aggregationNames = []string{"total", "sum", "by class", "avg", "low", "p", "cost_estimate", "kinds", "bound", "größe", "total*"}
)

type viewGenerator struct {
	random
	views *Views
}

// GenerateViews makes a random policy directory of the visibility family, path to
// content, and what it means.
func GenerateViews(seed uint64) (map[string]string, *Views) {
	views := MakeViews(seed)
	return views.Write(newRandom(seed, 5)), views
}

// MakeViews is what GenerateViews writes.
func MakeViews(seed uint64) *Views {
	g := &viewGenerator{newRandom(seed, 4), &Views{seed: seed}}
	for i, kind := range g.distinct(2, 4, customTypes) {
		s := g.source(kind)
		s.Name = fmt.Sprintf("source-%d", i)
		g.views.Sources = append(g.views.Sources, s)
	}
	taken := map[string]bool{}
	for range 2 + g.IntN(7) {
		p := g.policy()
		if key := p.Namespace + "\x00" + p.Name; !taken[key] {
			taken[key] = true
			g.views.Policies = append(g.views.Policies, p)
		}
	}
	return g.views
}

func (g *viewGenerator) policy() *ViewPolicy {
	p := &ViewPolicy{
		Namespace: g.one(viewNamespaces), Name: g.one(viewNames),
		Users: g.some(0, 2, viewUsers[:4]), Groups: g.some(0, 2, viewGroups[:3]),
		Deny: g.once(12), Disabled: g.once(12), Default: g.one([]string{"", "", "", "none", "none", "deny", "deny", "all", "allow"}),
	}
	if g.once(4) {
		p.Users, p.Groups = append(p.Users, g.one(viewUsers)), append(p.Groups, g.one(viewGroups))
	}
	for g.once(3) {
		p.Accounts = append(p.Accounts, viewAccounts[g.IntN(len(viewAccounts))])
	}
	if !g.once(3) {
		priority := g.number(0, 1, 9, 10, 99, 100, 101, 10000)
		p.Priority = &priority
	}
	if g.once(4) {
		g.times(p)
	}
	for range g.number(0, 1, 1, 1, 2, 3) {
		p.Rules = append(p.Rules, g.rule())
	}
	return p
}

// times draws validity. Only an Allow may have a time that is none, and a policy
// never ends before it begins.
func (g *viewGenerator) times(p *ViewPolicy) {
	early, late := "2025-12-31T23:59:59Z", "9999-12-31T23:59:59Z"
	if g.once(2) {
		early, late = "0001-01-01T00:00:00Z", "2026-12-31T23:59:59.9+05:30"
	}
	switch g.IntN(6) {
	case 0:
		p.NotBefore = g.one(viewTimes)
	case 1:
		p.NotAfter = g.one(viewTimes)
	case 2:
		p.NotBefore, p.NotAfter = early, g.one(viewTimes)
	case 3:
		p.NotBefore, p.NotAfter = g.one(viewTimes), late
	case 4:
		p.NotBefore, p.NotAfter = early, late
	case 5:
		if !p.Deny {
			p.NotBefore = g.one(wrongTimes)
		}
	}
}

func (g *viewGenerator) rule() *ViewRule {
	rule := &ViewRule{View: !g.once(10), ViewMetrics: !g.once(4)}
	switch g.IntN(8) {
	case 0, 1, 2:
		rule.Pattern = ".*"
	case 3:
		rule.Labels = g.labels(0, 2, []string{"env", "tier"})
	case 4:
		rule.Names = g.some(1, 3, viewClusters)
	case 5:
		rule.Pattern = g.one(viewPatterns)
	case 6:
		rule.Names, rule.Pattern = g.some(0, 2, viewClusters), g.one(append([]string{""}, viewPatterns...))
		if g.once(2) {
			rule.Labels = g.labels(1, 2, []string{"env", "tier"})
		}
	}
	older := g.once(3)
	types := slices.Concat(standardTypes, standardTypes[:4], customTypes, customTypes)
	if older {
		types = slices.Concat(standardTypes[:4], standardTypes[:1], customTypes)
	}
	for range g.IntN(8) {
		if kind := g.one(types); rule.entry(kind) == nil {
			rule.Entries = append(rule.Entries, g.entry(kind, older))
		}
	}
	return rule
}

func (g *viewGenerator) labels(low, high int, keys []string) map[string]string {
	labels := map[string]string{}
	for _, key := range g.distinct(low, high, keys) {
		labels[key] = g.one([]string{"prod", "blue", "", "red"})
	}
	return labels
}

// entry draws an entry; an older one has only what the older form can say.
func (g *viewGenerator) entry(kind string, older bool) *ViewEntry {
	e := &ViewEntry{Type: kind, Visibility: g.one([]string{"", "", "all", "filtered", "filtered", "none"})}
	if e.Visibility == "none" && g.once(2) {
		e.Visibility = "all"
	}
	standard := standardType(kind)
	if !(older && (kind == "nodes" || kind == "pods")) && g.once(2) {
		e.Names = g.criteria(nameLists)
		if kind == "namespaces" {
			e.Names = g.criteria(namespaceLists)
		}
	}
	if kind != "nodes" && kind != "namespaces" && g.once(2) {
		e.Namespaces = g.criteria(namespaceLists)
		if older && kind == "pods" {
			e.Namespaces.Denied = nil
		}
	}
	if (!older || kind == "nodes") && g.once(3) {
		e.Labels = g.labels(0, 2, itemLabels[:2])
	}
	if older && kind == "nodes" {
		e.HideMasters = g.once(2)
		if g.once(2) {
			e.HideByLabels = g.labels(0, 2, itemLabels[:2])
		}
		if (e.HideMasters || len(e.HideByLabels) > 0) && !g.once(3) {
			e.Visibility, e.Labels = "all", nil // what is hidden is seen to be
		}
	}
	if standard {
		return e
	}
	if g.once(2) {
		e.Fields = map[string]Criteria{}
		for _, field := range g.distinct(1, 2, g.filterable(kind)) {
			if c := g.criteria(fieldLists); c.given() {
				e.Fields[field] = c
			}
		}
	}
	if g.once(3) {
		e.Include = g.some(0, 3, aggregationNames)
		e.Exclude = g.some(0, 3, aggregationNames)
	}
	return e
}

func (g *viewGenerator) criteria(from []string) Criteria {
	var c Criteria
	if !g.once(3) {
		c.Allowed = g.distinct(0, 3, slices.Compact(slices.Sorted(slices.Values(from))))
	}
	if len(c.Allowed) > 0 && g.once(4) && !slices.Contains(c.Allowed, "*") {
		c.Allowed = append(c.Allowed, "*")
	}
	if g.once(2) {
		c.Denied = g.distinct(0, 2, slices.Compact(slices.Sorted(slices.Values(from))))
	}
	if len(c.Allowed) > 0 && len(c.Denied) == 0 && g.once(4) {
		c.Denied = []string{g.one(c.Allowed)} // denied wins
	}
	return c
}

// filterable are the fields a policy may filter a type on.
func (g *viewGenerator) filterable(kind string) []string {
	if s := g.views.source(kind); s != nil {
		return s.Filterable
	}
	return fieldNames
}

func (g *viewGenerator) source(kind string) *MetricSource {
	s := &MetricSource{Namespace: g.one(viewNamespaces), Type: kind, KeepTotals: g.once(6)}
	s.Fields = g.distinct(2, 6, fieldNames)
	if g.once(2) {
		s.Computed = []string{"ratio"}
	}
	if g.once(12) {
		s.Type = ""
	}
	declared := slices.Concat(s.Fields, s.Computed)
	s.Filterable = g.distinct(1, len(declared), declared)
	if g.once(4) {
		s.NamespaceField = g.one(declared)
	}
	if g.once(4) {
		s.NameField = g.one(declared)
	}
	readable := append([]string{"name", "namespace", "_name", "_namespace"}, slices.Concat(declared, declared)...)
	for _, name := range g.distinct(2, len(aggregationNames), aggregationNames) {
		s.Aggregations = append(s.Aggregations, g.aggregation(name, readable))
	}
	return s
}

func (g *viewGenerator) aggregation(name string, readable []string) *Aggregation {
	a := &Aggregation{Name: name, Function: g.one([]string{"count", "sum", "avg", "min", "max", "percentile", "distinct"})}
	if a.Function != "count" || g.once(4) {
		a.Field = g.one(readable)
	}
	if a.Function == "percentile" {
		a.Percentile = g.number(0, 1, 33, 50, 90, 99, 100)
	}
	if g.once(3) {
		a.GroupBy = g.one(readable)
	}
	if g.once(2) {
		a.Filter = g.filter(g.one(readable))
	}
	return a
}

func (g *viewGenerator) filter(field string) *AggregationFilter {
	f := &AggregationFilter{Field: field, Operator: g.one([]string{
		"equals", "equals", "notEquals", "notEquals", "contains", "startsWith", "endsWith", "greaterThan", "lessThan", "in", "matches",
	})}
	switch f.Operator {
	case "greaterThan", "lessThan":
		f.Value = g.one([]string{"0", "1", "10", "0.25", "1e3", "-1", "1.0", "Bound", "5368709120", "12345678901234567889"})
	case "in":
		f.Value = g.one([]string{"Bound,Failed", "[ Bound , 1 ]", "true, false", "[0.25,1000]", " web ,x", "[app-1]", "1", "[]x", "", "[]", "a,,b", ",", "10.0,1e3", "1000,true", "x,y"})
	case "matches":
		f.Value = g.one([]string{"^B", "o", "^$", `^\d+$`, "(?i)FAIL", ".", "^a.b$", "1|true"})
	default:
		f.Value = g.one([]string{"Bound", "Bound", "1", "1.0", "1.0", "10", "10.0", "1000.0", "1.0", "1.00", "1e3", "true", "o", "B", "app-1", "web", "0.25", "d", "20.50", "-0", "ü", "", "+1", "01", "1000"})
	}
	return f
}
