package visibility

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/tests/oracle/random"
)

// Vocabularies of visibility. Literals, globs and the values of requests are
// drawn from each other, so that they meet.
var (
	viewUsers      = []string{"alice", "Alice", "eve", "ev*", "bob", "system:serviceaccount:apps:bot", "u\u0308nal", "\u00fcnal", "*"}
	viewGroups     = []string{"dev", "ops", "a,b", "*", "system:authenticated", "alice"}
	viewAccounts   = []Account{{"apps", "bot"}, {"", "bot"}, {"default", "bot"}, {"apps", "bot.two"}, {"team", "bot"}}
	viewNames      = []string{"a", "a-1", "a.1", "a0", "aa", "b", "z", "x-y", "0", "u.nal", "p--q"}
	viewNamespaces = []string{"", "", "a", "a-b", "team-a", "team-b", "z"}

	viewClusters   = []string{"prod-eu-1", "nonprod-1", "dev", "edge.1", "prod-eu-1\n", "ünï", "Dev", "prod-*", "\u212a1"}
	viewPatterns   = []string{"prod", "^prod-", "^prod-eu-1$", ".*", ".", "(?i)DEV", "^dev$", "eu|edge", `\d$`, "ü", "^$", `^edge\.1$`, "[a-d]e", "(?i)e", "(?i)^k1$", "^[ -~]*$", "[^a-z]"}
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

type generator struct {
	random.Source
	views *World
}

// Generate makes a random policy directory of the visibility family, path to
// content, and what it means.
func Generate(seed uint64) (map[string]string, *World) {
	views := Make(seed)
	return views.Write(random.New(seed, 5)), views
}

// Make is what GenerateViews writes.
func Make(seed uint64) *World {
	g := &generator{random.New(seed, 4), &World{seed: seed}}
	for i, kind := range g.Distinct(2, 4, customTypes) {
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

func (g *generator) policy() *Policy {
	p := &Policy{
		Namespace: g.One(viewNamespaces), Name: g.One(viewNames),
		Users: g.Some(0, 2, viewUsers[:4]), Groups: g.Some(0, 2, viewGroups[:3]),
		Deny: g.Once(12), Disabled: g.Once(12), Default: g.One([]string{"", "", "", "none", "none", "deny", "deny", "all", "allow"}),
	}
	if g.Once(4) {
		p.Users, p.Groups = append(p.Users, g.One(viewUsers)), append(p.Groups, g.One(viewGroups))
	}
	for g.Once(3) {
		p.Accounts = append(p.Accounts, viewAccounts[g.IntN(len(viewAccounts))])
	}
	if !g.Once(3) {
		priority := g.Number(0, 1, 9, 10, 99, 100, 101, 10000)
		p.Priority = &priority
	}
	if g.Once(4) {
		g.times(p)
	}
	for range g.Number(0, 1, 1, 1, 2, 3) {
		p.Rules = append(p.Rules, g.rule())
	}
	return p
}

// times draws validity. Only an Allow may have an invalid time, and a policy
// never ends before it begins.
func (g *generator) times(p *Policy) {
	early, late := "2025-12-31T23:59:59Z", "9999-12-31T23:59:59Z"
	if g.Once(2) {
		early, late = "0001-01-01T00:00:00Z", "2026-12-31T23:59:59.9+05:30"
	}
	switch g.IntN(6) {
	case 0:
		p.NotBefore = g.One(viewTimes)
	case 1:
		p.NotAfter = g.One(viewTimes)
	case 2:
		p.NotBefore, p.NotAfter = early, g.One(viewTimes)
	case 3:
		p.NotBefore, p.NotAfter = g.One(viewTimes), late
	case 4:
		p.NotBefore, p.NotAfter = early, late
	case 5:
		if !p.Deny {
			p.NotBefore = g.One(wrongTimes)
		}
	}
}

func (g *generator) rule() *Rule {
	rule := &Rule{View: !g.Once(10), ViewMetrics: !g.Once(4)}
	switch g.IntN(8) {
	case 0, 1, 2:
		rule.Pattern = ".*"
	case 3:
		rule.Labels = g.labels(0, []string{"env", "tier"})
	case 4:
		rule.Names = g.Some(1, 3, viewClusters)
	case 5:
		rule.Pattern = g.One(viewPatterns)
	case 6:
		rule.Names, rule.Pattern = g.Some(0, 2, viewClusters), g.One(append([]string{""}, viewPatterns...))
		if g.Once(2) {
			rule.Labels = g.labels(1, []string{"env", "tier"})
		}
	}
	older := g.Once(3)
	types := slices.Concat(standardTypes, standardTypes[:4], customTypes, customTypes)
	if older {
		types = slices.Concat(standardTypes[:4], standardTypes[:1], customTypes)
	}
	for range g.IntN(8) {
		if kind := g.One(types); rule.entry(kind) == nil {
			rule.Entries = append(rule.Entries, g.entry(kind, older))
		}
	}
	return rule
}

func (g *generator) labels(low int, keys []string) map[string]string {
	labels := map[string]string{}
	for _, key := range g.Distinct(low, 2, keys) {
		labels[key] = g.One([]string{"prod", "blue", "", "red"})
	}
	return labels
}

// entry draws an entry; an older one has only what the older form can say.
func (g *generator) entry(kind string, older bool) *Entry {
	e := &Entry{Type: kind, Visibility: g.One([]string{"", "", "all", "filtered", "filtered", "none"})}
	if e.Visibility == "none" && g.Once(2) {
		e.Visibility = "all"
	}
	standard := standardType(kind)
	if !(older && (kind == "nodes" || kind == "pods")) && g.Once(2) {
		e.Names = g.criteria(nameLists)
		if kind == "namespaces" {
			e.Names = g.criteria(namespaceLists)
		}
	}
	if kind != "nodes" && kind != "namespaces" && g.Once(2) {
		e.Namespaces = g.criteria(namespaceLists)
		if older && kind == "pods" {
			e.Namespaces.Denied = nil
		}
	}
	if (!older || kind == "nodes") && g.Once(3) {
		e.Labels = g.labels(0, itemLabels[:2])
	}
	if older && kind == "nodes" {
		e.HideMasters = g.Once(2)
		if g.Once(2) {
			e.HideByLabels = g.labels(0, itemLabels[:2])
		}
		if (e.HideMasters || len(e.HideByLabels) > 0) && !g.Once(3) {
			e.Visibility, e.Labels = "all", nil // what is hidden is seen to be
		}
	}
	if standard {
		return e
	}
	if g.Once(2) {
		e.Fields = map[string]Criteria{}
		for _, field := range g.Distinct(1, 2, g.filterable(kind)) {
			if c := g.criteria(fieldLists); c.given() {
				e.Fields[field] = c
			}
		}
	}
	if g.Once(3) {
		e.Include = g.Some(0, 3, aggregationNames)
		e.Exclude = g.Some(0, 3, aggregationNames)
	}
	return e
}

func (g *generator) criteria(from []string) Criteria {
	var c Criteria
	if !g.Once(3) {
		c.Allowed = g.Distinct(0, 3, slices.Compact(slices.Sorted(slices.Values(from))))
	}
	if len(c.Allowed) > 0 && g.Once(4) && !slices.Contains(c.Allowed, "*") {
		c.Allowed = append(c.Allowed, "*")
	}
	if g.Once(2) {
		c.Denied = g.Distinct(0, 2, slices.Compact(slices.Sorted(slices.Values(from))))
	}
	if len(c.Allowed) > 0 && len(c.Denied) == 0 && g.Once(4) {
		c.Denied = []string{g.One(c.Allowed)} // denied wins
	}
	return c
}

// filterable are the fields a policy may filter a type on.
func (g *generator) filterable(kind string) []string {
	if s := g.views.source(kind); s != nil {
		return s.Filterable
	}
	return fieldNames
}

func (g *generator) source(kind string) *MetricSource {
	s := &MetricSource{Namespace: g.One(viewNamespaces), Type: kind, KeepTotals: g.Once(6)}
	s.Fields = g.Distinct(2, 6, fieldNames)
	if g.Once(2) {
		s.Computed = []string{"ratio"}
	}
	if g.Once(12) {
		s.Type = ""
	}
	declared := slices.Concat(s.Fields, s.Computed)
	s.Filterable = g.Distinct(1, len(declared), declared)
	if g.Once(4) {
		s.NamespaceField = g.One(declared)
	}
	if g.Once(4) {
		s.NameField = g.One(declared)
	}
	readable := append([]string{"name", "namespace", "_name", "_namespace"}, slices.Concat(declared, declared)...)
	for _, name := range g.Distinct(2, len(aggregationNames), aggregationNames) {
		s.Aggregations = append(s.Aggregations, g.aggregation(name, readable))
	}
	return s
}

func (g *generator) aggregation(name string, readable []string) *Aggregation {
	a := &Aggregation{Name: name, Function: g.One([]string{"count", "sum", "avg", "min", "max", "percentile", "distinct"})}
	if a.Function != "count" || g.Once(4) {
		a.Field = g.One(readable)
	}
	if a.Function == "percentile" {
		a.Percentile = g.Number(0, 1, 33, 50, 90, 99, 100)
	}
	if g.Once(3) {
		a.GroupBy = g.One(readable)
	}
	if g.Once(2) {
		a.Filter = g.filter(g.One(readable))
	}
	return a
}

func (g *generator) filter(field string) *AggregationFilter {
	f := &AggregationFilter{Field: field, Operator: g.One([]string{
		"equals", "equals", "notEquals", "notEquals", "contains", "startsWith", "endsWith", "greaterThan", "lessThan", "in", "matches",
	})}
	switch f.Operator {
	case "greaterThan", "lessThan":
		f.Value = g.One([]string{"0", "1", "10", "0.25", "1e3", "-1", "1.0", "Bound", "5368709120", "12345678901234567889"})
	case "in":
		f.Value = g.One([]string{"Bound,Failed", "[ Bound , 1 ]", "true, false", "[0.25,1000]", " web ,x", "[app-1]", "1", "[]x", "", "[]", "a,,b", ",", "10.0,1e3", "1000,true", "x,y"})
	case "matches":
		f.Value = g.One([]string{"^B", "o", "^$", `^\d+$`, "(?i)FAIL", ".", "^a.b$", "1|true", "(?i)b", "[^ -~]"})
	default:
		f.Value = g.One([]string{"Bound", "Bound", "1", "1.0", "1.0", "10", "10.0", "1000.0", "1.0", "1.00", "1e3", "true", "o", "B", "app-1", "web", "0.25", "d", "20.50", "-0", "ü", "", "+1", "01", "1000"})
	}
	return f
}
