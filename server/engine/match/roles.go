package match

import (
	"sync"

	"github.com/writ-policy/writ/translator/tables"
)

// role is a role and, if it has many rules, an index of them.
type role struct {
	*tables.Role
	reads      tables.Reads // what the restrictions of all rules read
	once       sync.Once
	byResource map[string][]int
}

// fewRules is the largest number of rules that are searched without an index: comparing
// a few short strings takes less time than a map, and most roles are small.
const fewRules = 8

// rulesForResources calls f with the index of each Kubernetes rule that may have one
// of the resource entries; for a small role, of all rules. An index may repeat.
func (r *role) rulesForResources(entries []string, f func(rule int)) {
	if len(r.Kubernetes) <= fewRules {
		for i := range r.Kubernetes {
			f(i)
		}
		return
	}
	r.once.Do(r.index)
	for _, entry := range entries {
		for _, i := range r.byResource[entry] {
			f(i)
		}
	}
}

// index builds byResource: for each resource entry, the indexes of the rules that have
// it.
func (r *role) index() {
	r.byResource = make(map[string][]int)
	for i, rule := range r.Kubernetes {
		for _, entry := range rule.Resources {
			r.byResource[entry] = append(r.byResource[entry], i)
		}
	}
}
