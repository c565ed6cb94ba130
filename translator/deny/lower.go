package deny

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// podResource is the only resource that pod security evaluates.
const podResource = "pods"

// defaultSubresources are those pod security evaluates unless it names others.
var defaultSubresources = []string{"exec", "attach", "portforward"}

// lower lowers deny policies and the overrides of escalations. For one cluster it leaves
// out those of other clusters, and the rest hold there whatever the request names.
func lower(r *resolution) *tables.Deny {
	deny := &tables.Deny{Policies: []tables.DenyPolicy{}, Escalations: []tables.Escalation{}}
	for i := range r.DenyPolicies {
		if p := &r.DenyPolicies[i]; isWithin(r.Cluster, p.Document.AppliesTo[tables.ScopeCluster]) {
			deny.Policies = append(deny.Policies, denyPolicy(p))
		}
	}
	// Ties go by name, never by file: two directories with the same documents
	// must report the same policy.
	slices.SortFunc(deny.Policies, func(a, b tables.DenyPolicy) int {
		return cmp.Or(cmp.Compare(a.Precedence, b.Precedence), cmp.Compare(a.Name, b.Name))
	})
	for _, e := range r.Escalations {
		if o := e.Override; o == nil || !o.Enabled || o.RequireApproval {
			continue // no request shows the approval that requireApproval asks for
		}
		deny.Owned = append(deny.Owned, escalation(e))
		if len(e.Clusters) > 0 && len(e.Groups) > 0 && isWithin(r.Cluster, e.Clusters) {
			deny.Escalations = append(deny.Escalations, escalation(e))
		}
	}
	byName := func(a, b tables.Escalation) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(deny.Escalations, byName)
	slices.SortFunc(deny.Owned, byName)
	if r.Cluster != "" {
		applyEverywhere(deny)
	}
	deny.Resources = namedResources(deny.Policies)
	return deny
}

// isWithin reports whether requests about a cluster, or about any if it is empty, can be
// in the scope of globs. An empty list does not limit it.
func isWithin(cluster string, globs []tables.PathGlob) bool {
	return cluster == "" || len(globs) == 0 || slices.ContainsFunc(globs, func(g tables.PathGlob) bool { return g.Match(cluster) })
}

// applyEverywhere removes the limits to clusters: those that are left hold for the only
// cluster of the tables, also for requests that do not name it.
func applyEverywhere(deny *tables.Deny) {
	every, _, _ := tables.ParsePathGlob("*")
	for i := range deny.Policies {
		deny.Policies[i].Clusters = nil
	}
	for i := range deny.Escalations {
		deny.Escalations[i].Clusters = []tables.PathGlob{every}
	}
}

func denyPolicy(p *resolvedPolicy) tables.DenyPolicy {
	d := p.Document
	out := tables.DenyPolicy{
		Name:       d.Name,
		Precedence: d.Precedence,
		Source:     d.At.Source(),
		Rules:      make([]tables.DenyRule, 0, len(d.Rules)),
		Pod:        podSecurity(d.Pod),
		Dates:      d.Dates.Period,
	}
	for i, globs := range out.Scope() {
		*globs = d.AppliesTo[i]
	}
	for _, e := range p.ReferredBy {
		out.ReferredBy = append(out.ReferredBy, e.Name)
	}
	slices.Sort(out.ReferredBy)
	out.ReferredBy = slices.Compact(out.ReferredBy)
	for i := range d.Rules {
		out.Rules = append(out.Rules, denyRule(i, &d.Rules[i]))
	}
	for i := range d.Impersonation {
		out.Impersonation = append(out.Impersonation, impersonationRule(i, &d.Impersonation[i]))
	}
	return out
}

// capabilityPrefix begins the name of a risk factor that is a capability.
const capabilityPrefix = "capability:"

func podSecurity(p *PodSecurity) *tables.PodSecurity {
	if p == nil {
		return nil
	}
	out := &tables.PodSecurity{
		Source:           p.At.Source(),
		Subresources:     tables.Once(p.Subresources),
		Thresholds:       p.Thresholds,
		BlockFactors:     tables.Once(p.BlockFactors),
		ExemptNamespaces: p.ExemptNamespaces,
		ExemptLabels:     p.ExemptLabels,
		FailOpen:         p.FailOpen,
	}
	if len(out.Subresources) == 0 {
		out.Subresources = defaultSubresources
	}
	named := slices.Collect(maps.Keys(p.Weights))
	for _, name := range tables.Entries(slices.Concat(riskFactors, named, p.BlockFactors)) {
		factor := tables.RiskFactor{Name: name, Weight: p.Weights[name]}
		if capability, ok := strings.CutPrefix(name, capabilityPrefix); ok {
			factor.Capability = capability
		}
		out.Factors = append(out.Factors, factor)
	}
	return out
}

func escalation(e *BreakglassEscalation) tables.Escalation {
	return tables.Escalation{
		Name:            e.Name,
		Source:          e.At.Source(),
		Clusters:        e.Clusters,
		Groups:          tables.Entries(e.Groups),
		ExemptFactors:   tables.Once(e.Override.ExemptFactors),
		MaxAllowedScore: e.Override.MaxAllowedScore,
		NamespaceScope:  e.Override.NamespaceScope,
	}
}
