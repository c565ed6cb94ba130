package deny

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

func denyRule(index int, rule *DenyRule) tables.DenyRule {
	return tables.DenyRule{
		Rule:       index,
		Source:     rule.At.Source(),
		Actions:    actions(rule),
		Resources:  resources(rule.Resources, rule.Subresources),
		Namespaces: rule.Namespaces,
		Names:      rule.ResourceNames,
		NeedsName:  needsName(rule.ResourceNames),
	}
}

// needsName reports whether names exclude requests without one: only the entries "*"
// and "" include them.
func needsName(names []tables.PathGlob) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(g tables.PathGlob) bool {
		name, literal := g.Literal()
		return g.MatchesAll() || literal && name == ""
	})
}

// words is a word list, nil if it has "*".
func words(list []string) []string {
	if slices.Contains(list, "*") {
		return nil
	}
	return list
}

// actions are the verbs and groups of a rule. "impersonate" covers the verbs of the
// newer impersonation too. API servers ask those in the group of authentication and the
// older one in the core group, so that each of the two groups stands for both.
func actions(r *DenyRule) []tables.DenyAction {
	out := []tables.DenyAction{{Verbs: words(r.Verbs), Groups: words(r.APIGroups)}}
	isMode := func(verb string) bool { return strings.HasPrefix(verb, impersonatePrefix) }
	var modes tables.DenyAction
	switch {
	case slices.Contains(r.Verbs, "*"), slices.Contains(r.Verbs, impersonate):
		modes.VerbPrefix = impersonatePrefix
	case slices.ContainsFunc(r.Verbs, isMode):
		modes.Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return !isMode(v) })
	default:
		return out
	}
	switch {
	case slices.Contains(r.APIGroups, ""), slices.Contains(r.APIGroups, authenticationGroup):
		modes.Groups = words(tables.Once(append([]string{"", authenticationGroup}, r.APIGroups...)))
		return append(out, modes)
	case slices.Contains(r.Verbs, impersonate):
		modes.Groups = words(r.APIGroups)
		return append(out, modes)
	}
	return out
}

// resources are one alternative for each entry in RBAC's spelling, and one for the
// entries without a slash.
func resources(entries, subresources []string) []tables.DenyResource {
	var out []tables.DenyResource
	var plain []string
	for _, entry := range entries {
		resource, subresource, slash := strings.Cut(entry, "/")
		switch {
		case !slash:
			plain = append(plain, entry)
		case subresource == "*":
			out = append(out, tables.DenyResource{Resources: words([]string{resource}), NeedsSubresource: true})
		default:
			out = append(out, tables.DenyResource{Resources: words([]string{resource}), Subresources: []string{subresource}})
		}
	}
	if len(plain) > 0 {
		out = append(out, tables.DenyResource{Resources: words(plain), Subresources: words(subresources)})
	}
	return out
}

// namedResources are the resources that policies name, by the lower-case words for the
// same kind.
func namedResources(policies []tables.DenyPolicy) map[string][]string {
	var names []string
	for i := range policies {
		if policies[i].Pod != nil {
			names = append(names, podResource)
		}
		for j := range policies[i].Rules {
			for _, r := range policies[i].Rules[j].Resources {
				names = append(names, r.Resources...)
			}
		}
		for j := range policies[i].Impersonation {
			names = append(names, impersonationResources(&policies[i].Impersonation[j])...)
		}
	}
	var named map[string][]string
	for _, name := range tables.Entries(names) {
		if name == "" || name != strings.ToLower(name) { // empty: the resource of a path
			continue
		}
		if named == nil {
			named = make(map[string][]string)
		}
		for _, word := range tables.KindSynonyms(name) {
			named[word] = append(named[word], name)
		}
	}
	return named
}
