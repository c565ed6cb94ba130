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
			c.removed(before.Source, "DenyPolicy %q is removed", before.Name)
			continue
		}
		after := &now.Policies[at]
		if !sameScope(after, before) {
			c.report(after.Source, "the scope of DenyPolicy %q is changed", before.Name)
		}
		for _, rule := range before.Rules {
			if !slices.ContainsFunc(after.Rules, func(r tables.DenyRule) bool { return sameRule(r, rule) }) {
				c.report(after.Source, "rule %d of DenyPolicy %q is removed or changed", rule.Rule, before.Name)
			}
		}
		if before.Pod != nil && !samePodSecurity(after.Pod, before.Pod) {
			c.report(after.Source, "podSecurityRules of DenyPolicy %q are removed or changed", before.Name)
		}
	}
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
