package lint

import (
	"reflect"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// denyPolicies compares deny policies, which apply to every author. The precedence
// only decides which policy a denial names.
func (c *relaxed) denyPolicies(now, base *tables.Deny) {
	for i := range base.Policies {
		before := &base.Policies[i]
		at := slices.IndexFunc(now.Policies, func(p tables.DenyPolicy) bool { return p.Name == before.Name })
		if at < 0 {
			example := ""
			for j := 0; j < len(before.Rules) && example == ""; j++ {
				example = c.example(requestOf(before, &before.Rules[j]))
			}
			c.removed(before.Source, "DenyPolicy %q is removed%s", before.Name, example)
			continue
		}
		after := &now.Policies[at]
		if !sameScope(after, before) {
			c.report(after.Source, "the scope of DenyPolicy %q is changed", before.Name)
		}
		for _, rule := range before.Rules {
			if !slices.ContainsFunc(after.Rules, func(r tables.DenyRule) bool { return sameRule(r, rule) }) {
				c.report(after.Source, "rule %d of DenyPolicy %q is removed or changed%s",
					rule.Rule, before.Name, c.example(requestOf(before, &rule)))
			}
		}
		for _, rule := range before.Impersonation {
			if !slices.ContainsFunc(after.Impersonation, func(r tables.ImpersonationRule) bool { return sameImpersonation(r, rule) }) {
				c.report(after.Source, "impersonation rule %d of DenyPolicy %q is removed or changed", rule.Rule, before.Name)
			}
		}
		if before.Pod != nil && !samePodSecurity(after.Pod, before.Pod) {
			c.report(after.Source, "podSecurityRules of DenyPolicy %q are removed or changed", before.Name)
		}
	}
}

// requestOf is a request that a rule of a policy denies, as far as one can be derived
// from the first of its entries.
func requestOf(p *tables.DenyPolicy, r *tables.DenyRule) Question {
	action, resource := &r.Actions[0], &r.Resources[0]
	q := Question{
		Verb: sampleWord(action.Verbs, "get"), APIGroup: sampleWord(action.Groups, ""), Resource: sampleWord(resource.Resources, "pods"),
		Subresource: sampleWord(resource.Subresources, ""), Name: sample(r.Names), Cluster: sample(p.Clusters), Tenant: sample(p.Tenants),
		Namespace: "default",
	}
	if resource.NeedsSubresource {
		q.Subresource = "status"
	}
	if r.Namespaces != nil && len(r.Namespaces.Patterns) > 0 {
		q.Namespace = sample(r.Namespaces.Patterns)
	}
	return q
}

// sample is a value that the first of the globs matches, empty without globs.
func sample(globs []tables.PathGlob) string {
	if len(globs) == 0 {
		return ""
	}
	return globs[0].Sample()
}

// sameScope reports whether a policy applies wherever it did. An escalation that refers
// to it only adds to its scope.
func sameScope(now, base *tables.DenyPolicy) bool {
	return reflect.DeepEqual([][]tables.PathGlob{now.Clusters, now.Tenants, now.Sessions, now.EscalationRefs},
		[][]tables.PathGlob{base.Clusters, base.Tenants, base.Sessions, base.EscalationRefs}) &&
		!slices.ContainsFunc(base.ReferredBy, func(name string) bool { return !slices.Contains(now.ReferredBy, name) })
}

func sameRule(a, b tables.DenyRule) bool {
	a.Rule, a.Source = b.Rule, b.Source
	return reflect.DeepEqual(a, b)
}

func sameImpersonation(a, b tables.ImpersonationRule) bool {
	a.Rule, a.Source = b.Rule, b.Source
	return reflect.DeepEqual(a, b)
}

func samePodSecurity(a, b *tables.PodSecurity) bool {
	if a == nil {
		return false
	}
	now := *a
	now.Source = b.Source
	return reflect.DeepEqual(&now, b)
}

// overrides reports the overrides of pod security that are new or changed and that the
// author can use: one of the author's groups must be listed.
func (c *relaxed) overrides(now, base *tables.Deny) {
	groups := append([]string{authenticated}, c.author.Groups...)
	for _, after := range now.Escalations {
		if !slices.ContainsFunc(after.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			continue
		}
		if slices.ContainsFunc(base.Escalations, func(before tables.Escalation) bool {
			before.Source = after.Source
			return reflect.DeepEqual(before, after)
		}) {
			continue
		}
		c.report(after.Source, "podSecurityOverrides of BreakglassEscalation %q are added or changed", after.Name)
	}
}
