package engine

import (
	"maps"
	"slices"
	"strconv"

	"github.com/writ-policy/writ/translator/lower"
)

// sharer makes the levels of roles, equal ones once. A level is known by what it
// holds, spelt with the numbers of its parts.
type sharer struct {
	numbers map[string]int
	lists   map[int][]int
	levels  map[int]any
}

func newSharer() *sharer {
	return &sharer{numbers: make(map[string]int), lists: make(map[int][]int), levels: make(map[int]any)}
}

// number is the number of what is spelt so, the same for the same spelling.
func (s *sharer) number(spelling []byte) (number int, known bool) {
	if number, known = s.numbers[string(spelling)]; known {
		return number, true
	}
	number = len(s.numbers)
	s.numbers[string(spelling)] = number
	return number, false
}

// list shares a list of rule numbers.
func (s *sharer) list(rules []int) int {
	spelling := []byte("list ")
	for _, rule := range rules {
		spelling = append(strconv.AppendInt(spelling, int64(rule), 36), ' ')
	}
	number, known := s.number(spelling)
	if !known {
		s.lists[number] = slices.Clone(rules)
	}
	return number
}

// share shares one level: entries, spelt, and the number of what each leads to.
func share[M ~map[K]V, K comparable, V any](s *sharer, kind string, below map[K]int, spell func(K) string, value func(int) V) int {
	spelled := make(map[string]K, len(below))
	for key := range below {
		spelled[spell(key)] = key
	}
	spelling := []byte(kind)
	for _, text := range slices.Sorted(maps.Keys(spelled)) {
		spelling = strconv.AppendInt(append(spelling, ' '), int64(len(text)), 36)
		spelling = append(append(spelling, ':'), text...)
		spelling = strconv.AppendInt(append(spelling, '='), int64(below[spelled[text]]), 36)
	}
	number, known := s.number(spelling)
	if !known {
		level := make(M, len(below))
		for key, part := range below {
			level[key] = value(part)
		}
		s.levels[number] = level
	}
	return number
}

func plain(entry string) string { return entry }

// spellResource tells an entry without names from one with the empty name.
func spellResource(r resource) string {
	if !r.named {
		return r.entry
	}
	return strconv.Itoa(len(r.entry)) + "\x00" + r.entry + r.name
}

func level[V any](s *sharer) func(int) V {
	return func(number int) V { return s.levels[number].(V) }
}

// under groups rules by the entries each has, in the order of the rules.
func under[K comparable](rules []int, entries func(rule int) []K) map[K][]int {
	lists := make(map[K][]int)
	for _, rule := range rules {
		for _, entry := range entries(rule) {
			if list := lists[entry]; len(list) == 0 || list[len(list)-1] != rule {
				lists[entry] = append(list, rule)
			}
		}
	}
	return lists
}

// each maps the rules under each entry to the number of the level below, made
// once for entries over the same rules.
func each[K comparable](s *sharer, lists map[K][]int, below func(rules []int) int) map[K]int {
	made := make(map[int]int)
	numbers := make(map[K]int, len(lists))
	for entry, rules := range lists {
		list := s.list(rules)
		number, ok := made[list]
		if !ok {
			number = below(rules)
			made[list] = number
		}
		numbers[entry] = number
	}
	return numbers
}

func (s *sharer) role(declared *lower.Role) *role {
	r := &role{Role: declared}
	if declared.Family == lower.FamilyOrigin {
		r.origin = s.levels[s.originVerbs(declared.Origin)].(originVerbs)
		return r
	}
	r.kubernetes = s.levels[s.verbs(declared.Kubernetes)].(verbs)
	for i, rule := range declared.Kubernetes {
		if len(rule.Paths) > 0 {
			r.paths = append(r.paths, i)
		}
	}
	return r
}

func (s *sharer) verbs(rules []lower.KubernetesRule) int {
	var about []int
	for i, rule := range rules {
		if len(rule.Paths) == 0 {
			about = append(about, i)
		}
	}
	ofGroup := func(list []int) int {
		lists := under(list, func(i int) []resource { return entries(rules[i]) })
		return share[resources](s, "resources", each(s, lists, s.list), spellResource, func(n int) []int { return s.lists[n] })
	}
	ofVerb := func(list []int) int {
		lists := under(list, func(i int) []string { return rules[i].Groups })
		return share[groups](s, "groups", each(s, lists, ofGroup), plain, level[resources](s))
	}
	lists := under(about, func(i int) []string { return rules[i].Verbs })
	return share[verbs](s, "verbs", each(s, lists, ofVerb), plain, level[groups](s))
}

// entries are what a rule is found under: its resources, with each of its names
// where it has any.
func entries(rule lower.KubernetesRule) []resource {
	var found []resource
	for _, entry := range rule.Resources {
		if len(rule.Names) == 0 {
			found = append(found, resource{entry: entry})
		}
		for _, name := range rule.Names {
			found = append(found, resource{entry, name, true})
		}
	}
	return found
}

func (s *sharer) originVerbs(rules []lower.OriginRule) int {
	numbers := make([]int, len(rules))
	for i := range rules {
		numbers[i] = i
	}
	ofVerb := func(list []int) int {
		lists := under(list, func(i int) []string { return found(rules[i].Kinds, rules[i].NotKinds, rules[i].Deny) })
		return share[originKinds](s, "kinds", each(s, lists, s.list), plain, func(n int) []int { return s.lists[n] })
	}
	lists := under(numbers, func(i int) []string { return found(rules[i].Verbs, rules[i].NotVerbs, rules[i].Deny) })
	return share[originVerbs](s, "origin verbs", each(s, lists, ofVerb), plain, level[originKinds](s))
}

// found are the entries an Origin list is found under. All of it: a grant must
// cover the whole, a denial needs only to touch it.
func found(positive, negative []string, deny bool) []string {
	switch {
	case len(positive) == 0 || slices.Contains(negative, "*"):
		return nil
	case deny || slices.Contains(positive, "*") && len(negative) == 0:
		return append(slices.Clone(positive), all)
	}
	return positive
}
