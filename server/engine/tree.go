package engine

import (
	"strings"
	"sync"

	"github.com/writ-policy/writ/translator/lower"
)

// tree is the access tables expanded for look-ups: who is bound leads to grants,
// and a grant to the rules of its role. It is never changed once it is made, save
// for indexes of large roles, which are made when they are first needed.
type tree struct {
	cluster    *places
	namespaces map[string]*places
}

// places are the grants of each user and group in one scope.
type places struct {
	users, groups map[string][]grant
}

// grant is a binding together with the role it names.
type grant struct {
	binding *lower.Binding
	role    *role
}

// expand makes the tree of the tables.
func expand(access *lower.Access) *tree {
	roles := make(map[string]*role, len(access.Roles))
	for key, declared := range access.Roles {
		roles[key] = &role{Role: declared}
	}
	grants := make(map[string]grant, len(access.Bindings))
	for key, binding := range access.Bindings {
		grants[key] = grant{&binding, roles[binding.Role]}
	}
	t := &tree{
		cluster:    place(access.Subjects.Cluster, grants),
		namespaces: make(map[string]*places, len(access.Subjects.Namespaces)),
	}
	for namespace, subjects := range access.Subjects.Namespaces {
		t.namespaces[namespace] = place(subjects, grants)
	}
	return t
}

func place(subjects map[string][]string, grants map[string]grant) *places {
	p := &places{users: make(map[string][]grant), groups: make(map[string][]grant)}
	for subject, keys := range subjects {
		held := make([]grant, len(keys))
		for i, key := range keys {
			held[i] = grants[key]
		}
		if user, ok := strings.CutPrefix(subject, "user:"); ok {
			p.users[user] = held
		} else {
			p.groups[strings.TrimPrefix(subject, "group:")] = held
		}
	}
	return p
}

// role is a role and, where it has many rules, the way to them.
type role struct {
	lower.Role
	once       sync.Once
	byResource map[string][]int
}

// fewRules is up to how many rules a role is looked through from end to end:
// comparing a few short strings costs less than a map, and most roles are small.
const fewRules = 8

// about calls f with the number of each Kubernetes rule that may be about one of
// the resource entries; of a small role, with all of them. Numbers may come twice.
func (r *role) about(entries []string, f func(rule int)) {
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

// index leads from each resource entry to the rules that have it.
func (r *role) index() {
	r.byResource = make(map[string][]int)
	for i, rule := range r.Kubernetes {
		for _, entry := range rule.Resources {
			r.byResource[entry] = append(r.byResource[entry], i)
		}
	}
}
