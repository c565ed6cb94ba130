package statement

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
)

// Phrase returns what a statement is about, for a title: verbs and what they act on. Lists
// have at most so many entries, or All.
func (s *JSON) Phrase(most int) string {
	if s.Family == familyVisibility {
		return s.clusters(most)
	}
	written, _ := s.Rule.(map[string]any)
	if pod, ok := written["podSecurity"].(map[string]any); ok {
		subs, _ := pod["subresources"].([]string)
		return joinTo(subs, most) + " into pods by their score"
	}
	if entry, ok := written["impersonation"].(map[string]any); ok {
		return impersonation(entry, most)
	}
	if subs, ok := written["subresources"].([]string); ok && s.IsDebug() {
		return joinTo(subs, most) + " into pods before every denial"
	}
	verbs, _ := written["verbs"].([]string)
	text := words(verbs, "any verb", most)
	if slices.Contains(verbs, "*") {
		text += " on"
	}
	for _, key := range []string{"resources", "resourceKinds", "nonResourceURLs"} {
		list, _ := written[key].([]string)
		if key == "resources" {
			list = withSubresources(list, written["subresources"])
		}
		if len(list) > 0 {
			text += " " + words(list, "all resources", most)
		}
		if groups, _ := written["apiGroups"].([]string); key == "resources" && slices.Contains(list, "*") && len(groups) > 0 && !slices.Contains(groups, "*") {
			text += " of " + joinTo(groupNames(groups), most)
		}
	}
	return text
}

// impersonation states what an entry of impersonationRules is about.
func impersonation(entry map[string]any, most int) string {
	list := func(key, all string) string {
		if list, _ := entry[key].([]string); len(list) > 0 {
			return words(withName(list, "paths"), all, most) // a path has no resource
		}
		return all
	}
	if entry["actionVerbs"] != nil {
		return list("actionVerbs", "any verb on") + " " + list("targetResources", "all resources") + " while impersonating"
	}
	text := rule.Impersonate + " " + list("identityResources", "all identities")
	if entry["identities"] != nil {
		text += " with name " + list("identities", "*")
	}
	return text
}

// withSubresources returns resources with the subresources of a deny policy's rule.
func withSubresources(resources []string, of any) []string {
	subresources, _ := of.([]string)
	if len(subresources) == 0 {
		return resources
	}
	var out []string
	for _, resource := range resources {
		for _, sub := range subresources {
			out = append(out, strings.TrimSuffix(resource+"/"+sub, "/"))
		}
	}
	return out
}

// words returns a list in words: "*" is all, and "-x" beside it is but x.
func words(list []string, all string, most int) string {
	if !slices.Contains(list, "*") {
		return joinTo(list, most)
	}
	var but []string
	for _, entry := range list {
		if name, ok := strings.CutPrefix(entry, "-"); ok {
			but = append(but, name)
		}
	}
	if len(but) > 0 {
		all += " but " + joinTo(but, most)
	}
	return all
}

// groupNames returns API groups with a name for the core group.
func groupNames(groups []string) []string { return withName(groups, "core") }

// withName returns a list with a name for its empty entry.
func withName(list []string, name string) []string {
	out := slices.Clone(list)
	if i := slices.Index(out, ""); i >= 0 {
		out[i] = name
	}
	return out
}

// clusters states which clusters a statement of the point visibility selects.
func (s *JSON) clusters(most int) string {
	selector, ok := s.Clusters["selector"].(map[string]any)
	if !ok {
		return "clusters that no rule selects"
	}
	var parts []string
	if names, ok := selector["matchNames"].([]string); ok {
		if parts = append(parts, joinTo(names, most)); len(selector) == 1 && len(names) == 1 {
			return "cluster " + names[0]
		}
	}
	if pattern, ok := selector["matchPattern"].(string); ok && pattern != ".*" {
		parts = append(parts, "like "+pattern)
	}
	if labels, ok := selector["matchLabels"].(map[string]string); ok {
		var list []string
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			list = append(list, key+"="+labels[key])
		}
		parts = append(parts, "with label "+joinTo(list, most))
	}
	if len(parts) == 0 {
		return "all clusters"
	}
	return "clusters " + strings.Join(parts, " or ")
}
