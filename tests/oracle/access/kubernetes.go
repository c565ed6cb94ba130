package access

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// applies reports whether the binding is about the one who asks.
func (b *KubernetesBinding) applies(r oracle.Request) bool {
	return slices.ContainsFunc(b.Subjects, func(s Subject) bool {
		switch s.Kind {
		case "User":
			return r.Is(s.Name)
		case "Group":
			return r.In(s.Name)
		default:
			return r.Is(s.account(b))
		}
	})
}

// fits reports whether the whole rule fits the request.
func (rule *KubernetesRule) fits(r oracle.Request) bool {
	if !oracle.Has(rule.Verbs, "*", r.Verb) {
		return false
	}
	if r.Path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return fitsPath(url, r.Path) })
	}
	return oracle.Has(rule.APIGroups, "*", r.APIGroup) && rule.fitsResource(r) && rule.fitsName(r)
}

func (rule *KubernetesRule) fitsResource(r oracle.Request) bool {
	if r.Subresource == "" {
		return oracle.Has(rule.Resources, "*", r.Resource)
	}
	return oracle.Has(rule.Resources, "*", r.Resource+"/"+r.Subresource, "*/"+r.Subresource)
}

func (rule *KubernetesRule) fitsName(r oracle.Request) bool {
	return len(rule.ResourceNames) == 0 || oracle.Has(rule.ResourceNames, r.Name)
}

func fitsPath(url, path string) bool {
	if url == "*" || url == path {
		return true
	}
	return strings.HasSuffix(url, "*") && strings.HasPrefix(path, strings.TrimRight(url, "*"))
}

// role is the role that a binding names, nil if it does not exist.
func (w *World) role(b *KubernetesBinding) *KubernetesRole {
	namespace := ""
	if b.RoleKind == "Role" {
		namespace = b.Namespace
	}
	for _, role := range w.KubernetesRoles {
		if role.Namespace == namespace && role.Name == b.RoleName {
			return role
		}
	}
	return nil
}

// effective are the rules a role has after aggregation: selectors in order,
// roles by name, equal rules once.
func (w *World) effective(role *KubernetesRole) []*KubernetesRule {
	var rules []*KubernetesRule
	w.collect(role, map[*KubernetesRole]bool{}, &rules)
	return rules
}

func (w *World) collect(role *KubernetesRole, seen map[*KubernetesRole]bool, rules *[]*KubernetesRule) {
	if seen[role] {
		return
	}
	seen[role] = true
	if role.Selectors == nil {
		*rules = append(*rules, role.Rules...)
		return
	}
	var found []*KubernetesRule
	for _, selector := range role.Selectors {
		for _, other := range w.byName() {
			if other.Namespace == "" && selector.Fits(other.Labels) {
				w.collect(other, seen, &found)
			}
		}
	}
	for _, rule := range found {
		if !slices.ContainsFunc(*rules, rule.equal) {
			*rules = append(*rules, rule)
		}
	}
}

// reaches reports whether a role is among those that another aggregates, directly
// or not. A role that reaches itself is in a cycle.
func (w *World) reaches(from, to *KubernetesRole, seen map[*KubernetesRole]bool) bool {
	for _, selector := range from.Selectors {
		for _, other := range w.KubernetesRoles {
			if other == from || other.Namespace != "" || !selector.Fits(other.Labels) {
				continue
			}
			if other == to {
				return true
			}
			if !seen[other] {
				seen[other] = true
				if w.reaches(other, to, seen) {
					return true
				}
			}
		}
	}
	return false
}

func (w *World) byName() []*KubernetesRole {
	return slices.SortedFunc(slices.Values(w.KubernetesRoles), func(a, b *KubernetesRole) int {
		return cmp.Compare(a.Name, b.Name)
	})
}

func (rule *KubernetesRule) equal(other *KubernetesRule) bool {
	return slices.Equal(rule.Verbs, other.Verbs) && slices.Equal(rule.APIGroups, other.APIGroups) &&
		slices.Equal(rule.Resources, other.Resources) && slices.Equal(rule.ResourceNames, other.ResourceNames) &&
		slices.Equal(rule.NonResourceURLs, other.NonResourceURLs)
}
