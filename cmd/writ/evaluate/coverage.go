package evaluate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

// ruleKey identifies a rule: the key of its role in the tables, and its index.
type ruleKey struct {
	role  string
	index int
}

// hits records the rules that requests of DecisionTests matched. A nil map records nothing.
type hits map[ruleKey]bool

// recorded is policies that record in a report what access requests matched, and whether
// their decisions change with the time.
type recorded struct {
	decision.Policies
	report *testReport
}

func (p recorded) Access(ctx context.Context, r *decision.Request) decision.Decision {
	d := p.Policies.Access(ctx, r)
	p.report.hits.add(d.Matched)
	p.report.clocked = p.report.clocked || d.Span.IsLimited()
	return d
}

func (h hits) add(matched []decision.Matched) {
	for _, m := range matched {
		if h == nil || m.Role == nil {
			continue
		}
		family := tables.FamilyOrigin
		if strings.HasPrefix(m.APIVersion, "rbac.") {
			family = tables.FamilyKubernetes
		}
		h[ruleKey{tables.RoleKey(family, m.Role.Namespace, m.Role.Name), m.Rule}] = true
	}
}

// documentCoverage lists the rules of a role document that no request matched.
type documentCoverage struct {
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Source    string          `json:"source"`
	Rules     int             `json:"rules"`
	Matched   int             `json:"matched"`
	Unmatched []unmatchedRule `json:"unmatched"`
}

type unmatchedRule struct {
	Rule   int    `json:"rule"`
	Source string `json:"source"`
}

// coverage returns the coverage of each role document with rules of its own. A rule
// that was matched through an aggregating role counts for the role that declares it.
func (h hits) coverage(access *tables.Access, aggregated map[string]bool) []documentCoverage {
	written := h.sources(access, aggregated)
	list := []documentCoverage{}
	for key, role := range access.Roles.All() {
		rules := ruleSources(*role)
		if aggregated[key] || len(rules) == 0 {
			continue
		}
		d := documentCoverage{
			Kind: role.Kind, Namespace: role.Namespace, Name: role.Name,
			Source: role.Source, Rules: len(rules), Unmatched: []unmatchedRule{},
		}
		for _, rule := range rules {
			if !h[ruleKey{key, rule.Rule}] && !written[rule.Source] {
				d.Unmatched = append(d.Unmatched, rule)
			}
		}
		d.Matched = d.Rules - len(d.Unmatched)
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b documentCoverage) int {
		return cmp.Or(compareSources(a.Source, b.Source), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// sources returns the places of rules that were matched through aggregating roles.
func (h hits) sources(access *tables.Access, aggregated map[string]bool) map[string]bool {
	found := make(map[string]bool)
	for key := range h {
		if !aggregated[key.role] {
			continue
		}
		for _, rule := range ruleSources(access.Roles.At(key.role)) {
			if rule.Rule == key.index {
				found[rule.Source] = true
			}
		}
	}
	return found
}

func ruleSources(role tables.Role) []unmatchedRule {
	rules := make([]unmatchedRule, 0, len(role.Kubernetes)+len(role.Origin))
	for _, rule := range role.Kubernetes {
		rules = append(rules, unmatchedRule{rule.Rule, rule.Source})
	}
	for _, rule := range role.Origin {
		rules = append(rules, unmatchedRule{rule.Rule, rule.Source})
	}
	return rules
}

// aggregatedRoles returns the keys of the roles that aggregate the rules of others.
func aggregatedRoles(d *directory.Directory) map[string]bool {
	keys := make(map[string]bool)
	for _, role := range directory.DocumentsOf[*access.KubernetesRole](d) {
		if role.Aggregation != nil {
			keys[tables.RoleKey(tables.FamilyKubernetes, role.Namespace, role.Name)] = true
		}
	}
	return keys
}

// compareSources orders "file:line" by file and then by number.
func compareSources(a, b string) int {
	x, _ := diag.ParseSource(a)
	y, _ := diag.ParseSource(b)
	return x.Compare(y)
}
