package change

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// kubernetesRule is a PolicyRule. The lists are those of a table's row or shorter.
type kubernetesRule struct {
	verbs, groups, resources, names, paths []string
}

func newKubernetesRule(r *tables.KubernetesRule) *kubernetesRule {
	return &kubernetesRule{verbs: r.Verbs, groups: r.Groups, resources: r.Resources, names: r.Names, paths: r.Paths}
}

func one(matches bool) uint8 {
	if matches {
		return 1
	}
	return 0
}

func hasWord(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func (k *kubernetesRule) match(at stage, r *request) uint8 {
	switch at {
	case stageTarget:
		if r.path != "" {
			return one(matchPath(k.paths, r.path))
		}
		return one(k.matchResource(r.resource, r.subresource))
	case stageVerb:
		return one(hasWord(k.verbs, r.verb))
	case stageGroup:
		return one(r.path != "" || hasWord(k.groups, r.group))
	case stageName:
		return one(len(k.names) == 0 || r.name != "" && slices.Contains(k.names, r.name))
	}
	return 1
}

func (k *kubernetesRule) matchResource(resource, subresource string) bool {
	if subresource == "" {
		return hasWord(k.resources, resource)
	}
	for _, entry := range k.resources {
		kind, sub, slash := strings.Cut(entry, "/")
		if entry == "*" || slash && sub == subresource && (kind == "*" || kind == resource) {
			return true
		}
	}
	return false
}

func matchPath(entries []string, path string) bool {
	for _, entry := range entries {
		if prefix := strings.TrimRight(entry, "*"); entry == path || prefix != entry && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func (k *kubernetesRule) last() stage {
	if len(k.names) > 0 {
		return stageName
	}
	return stageGroup
}

func (k *kubernetesRule) mention(v *values) {
	v.verbs.add(k.verbs...)
	v.groups.add(k.groups...)
	v.names.add(k.names...)
	for _, entry := range k.resources {
		v.addResource(entry)
	}
	for _, entry := range k.paths {
		prefix := strings.TrimRight(entry, "*")
		v.paths.add(prefix)
		if prefix != entry {
			v.paths.add(prefix + "x")
		}
	}
}

func (k *kubernetesRule) describe(s *Statement) { s.Rule = k.rule() }

func (k *kubernetesRule) rule() any {
	if len(k.paths) > 0 {
		return map[string]any{"verbs": k.verbs, "nonResourceURLs": k.paths}
	}
	rule := map[string]any{"verbs": k.verbs, "apiGroups": k.groups, "resources": k.resources}
	if len(k.names) > 0 {
		rule["resourceNames"] = k.names
	}
	return rule
}

func (k *kubernetesRule) without(other condition) condition {
	o, ok := other.(*kubernetesRule)
	if !ok || len(k.paths) > 0 != (len(o.paths) > 0) {
		return k
	}
	out := *k
	word := func(list []string) func(string) bool {
		return func(v string) bool { return hasWord(list, v) }
	}
	var left bool
	if len(k.paths) > 0 {
		left = reduce(dimension{&out.verbs, word(o.verbs)}, dimension{&out.paths, func(v string) bool { return coversPath(o.paths, v) }})
	} else {
		names := dimension{&out.names, func(v string) bool { return len(o.names) == 0 || slices.Contains(o.names, v) }}
		if len(k.names) == 0 && len(o.names) > 0 {
			return k // names that o does not list cannot be enumerated
		}
		left = reduce(dimension{&out.verbs, word(o.verbs)}, dimension{&out.groups, word(o.groups)},
			dimension{&out.resources, func(v string) bool { return coversResource(o.resources, v) }}, names)
	}
	if !left {
		return nil
	}
	return &out
}

func coversResource(entries []string, entry string) bool {
	_, sub, slash := strings.Cut(entry, "/")
	return hasWord(entries, entry) || slash && slices.Contains(entries, "*/"+sub)
}

func coversPath(entries []string, entry string) bool {
	for _, e := range entries {
		prefix := strings.TrimRight(e, "*")
		if e == entry || prefix != e && strings.HasPrefix(strings.TrimRight(entry, "*"), prefix) {
			return true
		}
	}
	return false
}

// dimension is a list of a rule, and which of its entries another rule covers.
type dimension struct {
	list   *[]string
	covers func(entry string) bool
}

// reduce removes the covered entries of a list if all entries of all other lists are
// covered. It returns false if nothing is left. An empty list places no condition.
func reduce(dimensions ...dimension) bool {
	open := -1
	for i, d := range dimensions {
		if slices.ContainsFunc(*d.list, func(v string) bool { return !d.covers(v) }) {
			if open >= 0 {
				return true
			}
			open = i
		}
	}
	if open < 0 {
		return false
	}
	d := dimensions[open]
	*d.list = slices.DeleteFunc(slices.Clone(*d.list), d.covers)
	return true
}
