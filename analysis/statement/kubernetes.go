package statement

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// KubernetesRule is a PolicyRule. The lists are those of a table's row or shorter.
type KubernetesRule struct {
	Verbs, Groups, Resources, Names, Paths []string
}

// Bit returns 1 for true and 0 for false.
func Bit(matches bool) uint8 {
	if matches {
		return 1
	}
	return 0
}

// HasWord reports whether a list has a value or "*".
func HasWord(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

// Match implements Condition.
func (k *KubernetesRule) Match(at stage, r *Request) uint8 {
	switch at {
	case stageTarget:
		if r.Path != "" {
			return Bit(matchPath(k.Paths, r.Path))
		}
		return Bit(k.matchResource(r.Resource, r.Subresource))
	case stageVerb:
		return Bit(HasWord(k.Verbs, r.Verb))
	case stageGroup:
		return Bit(r.Path != "" || HasWord(k.Groups, r.Group))
	case stageName:
		return Bit(len(k.Names) == 0 || slices.Contains(k.Names, r.Name)) // "" covers requests without a name, as in Kubernetes
	}
	return 1
}

func (k *KubernetesRule) matchResource(resource, subresource string) bool {
	if subresource == "" {
		return HasWord(k.Resources, resource)
	}
	for _, entry := range k.Resources {
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

func (k *KubernetesRule) filter() *tables.NamespaceFilter { return nil }

func (k *KubernetesRule) last() stage {
	if len(k.Names) > 0 {
		return stageName
	}
	return stageGroup
}

// Mention implements Condition.
func (k *KubernetesRule) Mention(v *Values) {
	v.verbs.Add(k.Verbs...)
	v.groups.Add(k.Groups...)
	v.names.Add(k.Names...)
	for _, entry := range k.Resources {
		v.addResource(entry)
	}
	for _, entry := range k.Paths {
		prefix := strings.TrimRight(entry, "*")
		v.paths.Add(prefix)
		if prefix != entry {
			v.paths.Add(prefix + "x")
			v.prefixes = append(v.prefixes, prefix)
		}
	}
}

// Describe implements Condition.
func (k *KubernetesRule) Describe(s *JSON) { s.Rule = k.rule() }

func (k *KubernetesRule) rule() any {
	if len(k.Paths) > 0 {
		return map[string]any{"verbs": k.Verbs, "nonResourceURLs": k.Paths}
	}
	rule := map[string]any{"verbs": k.Verbs, "apiGroups": k.Groups, "resources": k.Resources}
	if len(k.Names) > 0 {
		rule["resourceNames"] = k.Names
	}
	return rule
}

// Without implements Condition.
func (k *KubernetesRule) Without(other Condition) Condition {
	o, ok := other.(*KubernetesRule)
	if !ok || len(k.Paths) > 0 != (len(o.Paths) > 0) {
		return k
	}
	out := *k
	word := func(list []string) func(string) bool {
		return func(v string) bool { return HasWord(list, v) }
	}
	var left bool
	if len(k.Paths) > 0 {
		left = reduce(dimension{&out.Verbs, word(o.Verbs)}, dimension{&out.Paths, func(v string) bool { return coversPath(o.Paths, v) }})
	} else {
		names := dimension{&out.Names, func(v string) bool { return len(o.Names) == 0 || slices.Contains(o.Names, v) }}
		if len(k.Names) == 0 && len(o.Names) > 0 {
			return k // names that o does not list cannot be enumerated
		}
		left = reduce(dimension{&out.Verbs, word(o.Verbs)}, dimension{&out.Groups, word(o.Groups)},
			dimension{&out.Resources, func(v string) bool { return coversResource(o.Resources, v) }}, names)
	}
	if !left {
		return nil
	}
	return &out
}

func coversResource(entries []string, entry string) bool {
	_, sub, slash := strings.Cut(entry, "/")
	return HasWord(entries, entry) || slash && slices.Contains(entries, "*/"+sub)
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
