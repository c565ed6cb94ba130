package statement

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// KindVisibility is the kind of documents at the point visibility.
const KindVisibility = "MonitorAccessPolicy"

// StandardTypes share their access classes. The empty type is the cluster itself.
var StandardTypes = []string{"", "nodes", "namespaces", "operators", "pods", "alerts", "events"}

// clusterRule is where a rule of a visibility policy applies: the clusters that its
// selector selects and no earlier one does. A nil selector is the default.
type clusterRule struct {
	policy   *tables.VisibilityPolicy
	index    int
	rule     *tables.VisibilityRule
	selector bool
	not      []*tables.VisibilityRule

	patterns map[string]*regexp.Regexp
}

// Match implements Condition.
func (c *clusterRule) Match(at stage, r *Request) uint8 {
	if at != StageCluster {
		return 1
	}
	if r.Cluster == "" {
		return 0
	}
	for _, n := range c.not {
		if c.selects(n, r) {
			return 0
		}
	}
	return Bit(!c.selector || c.selects(c.rule, r))
}

func (c *clusterRule) selects(rule *tables.VisibilityRule, r *Request) bool {
	return slices.Contains(rule.Names, r.Cluster) || rule.Pattern != "" && c.pattern(rule.Pattern).MatchString(r.Cluster) ||
		rule.Labels != nil && tables.HasPairs(r.ClusterLabels, *rule.Labels)
}

func (c *clusterRule) pattern(text string) *regexp.Regexp {
	if found := c.patterns[text]; found != nil {
		return found
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		compiled = regexp.MustCompile(`$^x`) // the translator rejects it
	}
	c.patterns[text] = compiled
	return compiled
}

func (c *clusterRule) filter() *tables.NamespaceFilter { return nil }

func (c *clusterRule) last() stage { return StageCluster }

// Mention implements Condition.
func (c *clusterRule) Mention(v *Values) {
	for _, rule := range append(slices.Clone(c.not), c.rule) {
		if rule == nil {
			continue
		}
		v.Clusters().Add(rule.Names...)
		if rule.Pattern != "" {
			v.Clusters().Patterns = append(v.Clusters().Patterns, rule.Pattern)
		}
		if rule.Labels != nil {
			for _, key := range slices.Sorted(maps.Keys(*rule.Labels)) {
				v.ClusterLabels.Add(key, (*rule.Labels)[key])
			}
		}
	}
}

// Describe implements Condition.
func (c *clusterRule) Describe(s *JSON) {
	s.Policy = c.policy.Namespace + "/" + c.policy.Name
	s.Order = []any{c.policy.Priority, c.policy.Namespace, c.policy.Name}
	s.Rule, s.Permissions = c.index, c.rule.Permissions
	s.Effect = "allow"
	if c.policy.Deny {
		s.Effect = OutcomeDeny
	}
	s.Clusters = &Clusters{Default: "all"}
	if c.selector {
		s.Clusters = &Clusters{Selector: selectorOf(c.rule)}
	}
	for _, n := range c.not {
		s.Clusters.Not = append(s.Clusters.Not, *selectorOf(n))
	}
	if len(c.rule.Entries) > 0 {
		s.Entries = make(map[string]TypeEntry)
		for name, e := range c.rule.Entries {
			s.Entries[name] = entryOf(e)
		}
	}
}

// Without implements Condition.
func (c *clusterRule) Without(Condition) Condition { return c }

// VisibilityStatements returns the statements of policies that hold at a time.
func (w *World) VisibilityStatements(now time.Time) []*Statement {
	return w.monitorStatements(func(p *tables.VisibilityPolicy) bool {
		return (p.NotBefore == nil || !now.Before(*p.NotBefore)) && (p.NotAfter == nil || !now.After(*p.NotAfter))
	})
}

// MonitorStatements returns the statements of policies, whenever they hold.
func (w *World) MonitorStatements() []*Statement {
	return w.monitorStatements(func(*tables.VisibilityPolicy) bool { return true })
}

func (w *World) monitorStatements(holds func(*tables.VisibilityPolicy) bool) []*Statement {
	v := tables.Of[*tables.Visibility](w.Revision.Tables)
	if v == nil {
		return nil
	}
	var out []*Statement
	patterns := make(map[string]*regexp.Regexp)
	for i := range v.Policies {
		p := &v.Policies[i]
		if p.Disabled || p.Malformed || !holds(p) {
			continue
		}
		var not []*tables.VisibilityRule
		for j := range p.Rules {
			out = append(out, visibilityStatement(p, &clusterRule{p, j, &p.Rules[j], true, slices.Clone(not), patterns}))
			not = append(not, &p.Rules[j])
		}
		if p.ByDefault != nil {
			out = append(out, visibilityStatement(p, &clusterRule{p, -1, p.ByDefault, false, not, patterns}))
		}
	}
	return out
}

func visibilityStatement(p *tables.VisibilityPolicy, c *clusterRule) *Statement {
	order := fmt.Sprintf("1%020d\x00%s\x00%s", p.Priority, p.Namespace, p.Name)
	if p.Deny {
		order = "0"
	}
	subjects := p.SubjectKeys()
	if subjects == nil {
		subjects = []string{}
	}
	s := &Statement{family: familyVisibility, Effect: OutcomeAllow, Subjects: subjects, Condition: c, Rank: []byte(order),
		Documents: []Document{{Kind: KindVisibility, Namespace: p.Namespace, Name: p.Name, Rule: c.index, Source: cmp.Or(c.rule.Source, p.Source)}}}
	if p.Deny {
		s.Effect = OutcomeDeny
	}
	return s
}

// VisibilityRule returns the rule of a statement at the point visibility. It panics for
// others.
func (s *Statement) VisibilityRule() *tables.VisibilityRule { return s.Condition.(*clusterRule).rule }

// EffectOf returns the outcome of standard types by a statement for an action.
func (s *Statement) EffectOf(action string) string {
	c := s.Condition.(*clusterRule)
	if s.Effect == OutcomeDeny || !slices.Contains(c.rule.Permissions, action) {
		return OutcomeDeny
	}
	for name, e := range c.rule.Entries {
		if slices.Contains(StandardTypes[1:], name) && e.Restricts() {
			return OutcomePartial
		}
	}
	return OutcomeAllow
}

// On returns a statement that fits the requests on the clusters of some patterns.
func On(clusters []tables.PathGlob) *Statement { return &Statement{Condition: onClusters(clusters)} }

// onClusters is the condition of On.
type onClusters []tables.PathGlob

// Match implements Condition.
func (c onClusters) Match(at stage, r *Request) uint8 {
	return Bit(at != StageCluster || r.Cluster != "" && slices.ContainsFunc(c, func(g tables.PathGlob) bool { return rule.MatchGlob(g, r.Cluster) }))
}

func (c onClusters) last() stage { return StageCluster }

func (c onClusters) filter() *tables.NamespaceFilter { return nil }

// Mention implements Condition.
func (c onClusters) Mention(v *Values) { v.Clusters().addGlobs(c) }

// Describe implements Condition.
func (c onClusters) Describe(s *JSON) { s.AppliesTo = map[string][]string{"clusters": GlobTexts(c)} }

// Without implements Condition.
func (c onClusters) Without(Condition) Condition { return c }

// NamesCluster reports whether a statement at the point visibility has the name of a cluster,
// or a pattern that it matches.
func (s *Statement) NamesCluster(name string) bool {
	c := s.Condition.(*clusterRule)
	return slices.ContainsFunc(append(slices.Clone(c.not), c.rule), func(r *tables.VisibilityRule) bool {
		return slices.Contains(r.Names, name) || r.Pattern != "" && c.pattern(r.Pattern).MatchString(name)
	})
}
