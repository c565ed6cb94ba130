// Package match finds the access rules that fit a request. Tables come in, hits go
// out: rules joined with the bindings that apply them. It does not evaluate
// restrictions and decides nothing.
//
// Not part of the promised API; see package writ.
package match

import (
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/translator/tables"
)

// Tree is the access tables expanded for look-ups: who is bound leads to grants,
// and a grant to the rules of its role. It is never changed once it is made, save
// for indexes of large roles, which are made when they are first needed.
type Tree struct {
	access    *tables.Access
	roles     shards[string, *role]
	grants    shards[string, grant] // by the key of the binding
	bySubject shards[boundSubject, []grant]
}

// boundSubject is a user or group that bindings of a namespace name; those of an
// empty namespace apply everywhere.
type boundSubject struct {
	namespace string
	group     bool
	name      string
}

// grant is a binding together with the role it names.
type grant struct {
	binding *tables.Binding
	role    *role
}

// Build expands tables. It shares with the tree of earlier tables, which may be
// nil, what both have in common, so that its cost is that of the difference.
func Build(access *tables.Access, before *Tree) *Tree {
	if before == nil {
		before = &Tree{access: new(tables.Access)}
	}
	g := treeBuilder{
		tree:   &Tree{access: access},
		before: before,
		roles:  before.roles.edit(),
		grants: before.grants.edit(),
		held:   before.bySubject.edit(),
		stale:  make(map[string]bool),
	}
	g.grant(g.changedRoles())
	g.subjects()
	g.tree.roles, g.tree.grants, g.tree.bySubject = g.roles.shards, g.grants.shards, g.held.shards
	return g.tree
}

// treeBuilder builds one tree.
type treeBuilder struct {
	tree, before *Tree
	roles        *edit[string, *role]
	grants       *edit[string, grant]
	held         *edit[boundSubject, []grant]
	// stale holds the keys of bindings whose grant changed; their subjects must be
	// refreshed.
	stale map[string]bool
}

// changedRoles takes the roles over and returns the keys of those that are others.
func (g *treeBuilder) changedRoles() map[string]bool {
	changed := make(map[string]bool)
	g.tree.access.Roles.Since(g.before.access.Roles, func(key string, now, _ *tables.Role) {
		changed[key] = true
		if now == nil {
			g.roles.drop(key)
			return
		}
		g.roles.set(key, &role{Role: now})
	})
	return changed
}

// grant joins bindings that are others, or that name a role that is another, with
// their roles.
func (g *treeBuilder) grant(changed map[string]bool) {
	join := func(key string, binding *tables.Binding) {
		if _, was := g.before.grants.find(key); was {
			g.stale[key] = true
		}
		role, _ := g.roles.find(binding.Role)
		g.grants.set(key, grant{binding, role})
	}
	g.tree.access.Bindings.Since(g.before.access.Bindings, func(key string, now, _ *tables.Binding) {
		if now == nil {
			g.grants.drop(key)
			return
		}
		join(key, now)
	})
	if g.before.access.Bindings.Len() == 0 {
		return // all of them are new
	}
	for key, binding := range g.tree.access.Bindings.All() {
		if changed[binding.Role] {
			join(key, binding)
		}
	}
}

// subjects gives each subject its grants, where its list or one of the grants in it
// is another.
func (g *treeBuilder) subjects() {
	now, before := &g.tree.access.Subjects, &g.before.access.Subjects
	g.level("", &now.Cluster, &before.Cluster)
	now.Namespaces.Since(before.Namespaces, g.level)
	if len(g.stale) == 0 {
		return
	}
	g.refresh("", &now.Cluster)
	for namespace, subjects := range now.Namespaces.All() {
		g.refresh(namespace, subjects)
	}
}

// level is the subjects of a namespace, nil for none.
func (g *treeBuilder) level(namespace string, now, before *tables.Map[[]string]) {
	var none tables.Map[[]string]
	if now == nil {
		now = &none
	}
	if before == nil {
		before = &none
	}
	now.Since(*before, func(subject string, keys, _ *[]string) {
		g.hold(namespace, subject, keys)
	})
}

func (g *treeBuilder) refresh(namespace string, subjects *tables.Map[[]string]) {
	for subject, keys := range subjects.All() {
		if slices.ContainsFunc(*keys, func(key string) bool { return g.stale[key] }) {
			g.hold(namespace, subject, keys)
		}
	}
}

// hold gives a subject the grants of its bindings.
func (g *treeBuilder) hold(namespace, subject string, keys *[]string) {
	kind, name, _ := strings.Cut(subject, ":")
	h := boundSubject{namespace, kind == "group", name}
	if keys == nil {
		g.held.drop(h)
		return
	}
	held := make([]grant, len(*keys))
	for i, key := range *keys {
		held[i], _ = g.grants.find(key)
	}
	g.held.set(h, held)
}

// role is a role and, where it has many rules, the way to them.
type role struct {
	*tables.Role
	once       sync.Once
	byResource map[string][]int
}

// fewRules is up to how many rules a role is looked through from end to end:
// comparing a few short strings costs less than a map, and most roles are small.
const fewRules = 8

// rulesForResources calls f with the index of each Kubernetes rule that may name one
// of the resource entries; of a small role, with all of them. An index may repeat.
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

// index leads from each resource entry to the rules that have it.
func (r *role) index() {
	r.byResource = make(map[string][]int)
	for i, rule := range r.Kubernetes {
		for _, entry := range rule.Resources {
			r.byResource[entry] = append(r.byResource[entry], i)
		}
	}
}
