package match

import (
	"sync"

	"github.com/writ-policy/writ/translator/tables"
)

// largeRole is an index of a role with many rules, made when it is first needed.
type largeRole struct {
	once       sync.Once
	byResource map[string][]int
}

// fewRules is the largest number of rules that are searched without an index: comparing
// a few short strings takes less time than a map, and most roles are small.
const fewRules = 8

func isLarge(r *tables.Role) bool { return r != nil && len(r.Kubernetes) > fewRules }

// rulesForResources calls f with the index of each Kubernetes rule of a role that may have one
// of the resource entries; for a small role, of all rules. An index may repeat.
func (t *Tree) rulesForResources(r *tables.Role, entries []string, f func(rule int)) {
	if !isLarge(r) {
		for i := range r.Kubernetes {
			f(i)
		}
		return
	}
	large := t.large[r]
	large.once.Do(func() { large.index(r) })
	for _, entry := range entries {
		for _, i := range large.byResource[entry] {
			f(i)
		}
	}
}

// index builds byResource: for each resource entry, the indexes of the rules that have
// it.
func (l *largeRole) index(r *tables.Role) {
	l.byResource = make(map[string][]int)
	for i, rule := range r.Kubernetes {
		for _, entry := range rule.Resources {
			l.byResource[entry] = append(l.byResource[entry], i)
		}
	}
}
