package shrink

import (
	"math/bits"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
)

// universe is the verbs and kinds that documents name or events use: what a "*" stands for.
type universe struct{ verbs, kinds map[string]int }

func (n universe) add(verbs, kinds []string) {
	for _, v := range verbs {
		if _, known := n.verbs[v]; !known && v != "*" {
			n.verbs[v] = len(n.verbs)
		}
	}
	for _, k := range kinds {
		if _, known := n.kinds[k]; !known && !(entry{value: k}).isWild() {
			n.kinds[k] = len(n.kinds)
		}
	}
}

// Permissions counts the named permissions of the documents of some models: principal, verb
// and kind. All are counted over the same verbs and kinds.
func Permissions(models ...*Model) []int {
	names := universe{make(map[string]int), make(map[string]int)}
	names.add(verbOrder, nil)
	each := func(m *Model, do func(principal string, r *rule)) {
		for _, b := range m.bindings {
			if b.role == nil {
				continue
			}
			for _, r := range append([]*role{b.role}, b.role.collects...) {
				for _, one := range r.rules {
					if one.isDeny || len(one.lists) < 2 {
						continue
					}
					for _, s := range b.subjects {
						do(s.principal, one)
					}
				}
			}
		}
	}
	for _, m := range models {
		for _, r := range m.roles {
			for _, one := range r.rules {
				if len(one.lists) > 1 {
					names.add(one.names(0), one.names(one.kindList()))
				}
			}
		}
	}
	out := make([]int, len(models))
	for i, m := range models {
		held := make(map[string][]uint64)
		each(m, func(principal string, r *rule) {
			set := held[principal]
			if set == nil {
				set = make([]uint64, (len(names.verbs)*len(names.kinds)+63)/64)
				held[principal] = set
			}
			for _, v := range names.meant(r.names(0), names.verbs) {
				for _, k := range names.meant(r.names(r.kindList()), names.kinds) {
					at := v*len(names.kinds) + k
					set[at/64] |= 1 << (at % 64)
				}
			}
		})
		for _, set := range held {
			for _, word := range set {
				out[i] += bits.OnesCount64(word)
			}
		}
	}
	return out
}

// meant returns the numbers of the names that entries cover.
func (universe) meant(entries []string, names map[string]int) []int {
	var out []int
	for _, e := range entries {
		sub, isWild := strings.CutPrefix(e, "*")
		if !isWild || strings.HasPrefix(e, "*") && sub != "" && sub[0] != '/' {
			if at, known := names[e]; known {
				out = append(out, at)
			}
			continue
		}
		for name, at := range names {
			if strings.HasSuffix(name, sub) {
				out = append(out, at)
			}
		}
	}
	return out
}

// kindList is the index of the list of resources, kinds or paths.
func (r *rule) kindList() int {
	if len(r.lists) == 4 {
		return 2
	}
	return 1
}

func (r *rule) names(i int) []string {
	return elements.Map(r.lists[i].entries, func(e entry) string { return e.value })
}
