// Package match finds the access rules that match a request. It reads tables and
// returns hits: rules joined with the bindings that apply them. It does not evaluate
// restrictions and does not decide.
package match

import (
	"cmp"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// Tree indexes the access tables for look-ups: subjects lead to grants, and grants to
// the rules of their roles. It is immutable and safe for concurrent use. Indexes of
// large roles are built when they are first needed.
type Tree struct {
	access    *tables.Access
	large     map[*tables.Role]*largeRole
	bySubject shards[boundSubject, []grant]
	subjects  subjects
	dated     int // number of bindings that begin or end
}

// HasDates reports whether a binding begins or ends to hold at some time.
func (t *Tree) HasDates() bool { return t.dated > 0 }

// boundSubject is a user or group that bindings of a namespace name; bindings with an
// empty namespace apply to the whole cluster.
type boundSubject struct {
	namespace string
	group     bool
	name      string
}

// grant is a binding with its role.
type grant struct {
	binding *tables.Binding
	role    *tables.Role
}

// Build indexes tables. It shares equal parts with before, the tree of earlier tables,
// so that the cost depends on the difference. before may be nil.
func Build(access *tables.Access, before *Tree) *Tree {
	before = cmp.Or(before, &Tree{access: new(tables.Access)})
	g := treeBuilder{
		tree:      &Tree{access: access, dated: before.dated},
		before:    before,
		roles:     tables.FinderOf(access.Roles),
		bindings:  tables.FinderOf(access.Bindings),
		bySubject: before.bySubject.edit(),
		subjects:  before.subjects.clone(),
		stale:     make(map[string]bool),
	}
	g.findStale(g.updateRoles())
	g.updateAllSubjects()
	g.dropStaleSubjects()
	g.tree.bySubject, g.tree.subjects = g.bySubject.shards, *g.subjects
	return g.tree
}

// treeBuilder builds one tree.
type treeBuilder struct {
	tree, before *Tree
	roles        *tables.Finder[tables.Role]
	bindings     *tables.Finder[tables.Binding]
	bySubject    *edit[boundSubject, []grant]
	subjects     *subjects
	// stale holds the keys of bindings whose grant may have changed; their subjects must be
	// refreshed.
	stale map[string]bool
}

// updateRoles keeps the large roles, and returns the keys of the roles that changed; none if all
// bindings are new.
func (g *treeBuilder) updateRoles() map[string]bool {
	changed := make(map[string]bool)
	g.tree.large = maps.Clone(g.before.large)
	g.tree.access.Roles.Since(g.before.access.Roles, func(key string, now, was *tables.Role) {
		if delete(g.tree.large, was); isLarge(now) {
			if g.tree.large == nil {
				g.tree.large = make(map[*tables.Role]*largeRole)
			}
			g.tree.large[now] = new(largeRole)
		}
		if g.before.access.Bindings.Len() > 0 {
			changed[key] = true
		}
	})
	return changed
}

// findStale finds the bindings that changed, or whose role changed.
func (g *treeBuilder) findStale(changed map[string]bool) {
	g.tree.access.Bindings.Since(g.before.access.Bindings, func(key string, now, was *tables.Binding) {
		if was != nil && was.Dates != nil {
			g.tree.dated--
		}
		if now != nil && now.Dates != nil {
			g.tree.dated++
		}
		if was != nil {
			g.stale[key] = true
		}
	})
	if len(changed) == 0 {
		return
	}
	for key, binding := range g.tree.access.Bindings.All() {
		if changed[binding.Role] {
			g.stale[key] = true
		}
	}
}

// updateAllSubjects sets the grants of subjects whose bindings, or one of whose grants,
// changed.
func (g *treeBuilder) updateAllSubjects() {
	now, before := &g.tree.access.Subjects, &g.before.access.Subjects
	g.updateSubjects("", &now.Cluster, &before.Cluster)
	now.Namespaces.Since(before.Namespaces, g.updateSubjects)
	if len(g.stale) == 0 {
		return
	}
	g.refreshStale("", &now.Cluster)
	for namespace, subjects := range now.Namespaces.All() {
		g.refreshStale(namespace, subjects)
	}
}

// updateSubjects sets the grants of the subjects of a namespace whose bindings changed.
// Nil means no subjects.
func (g *treeBuilder) updateSubjects(namespace string, now, before *tables.Map[[]string]) {
	var none tables.Map[[]string]
	now = cmp.Or(now, &none)
	before = cmp.Or(before, &none)
	now.Since(*before, func(subject string, keys, _ *[]string) {
		g.setGrants(namespace, subject, keys)
	})
}

func (g *treeBuilder) refreshStale(namespace string, subjects *tables.Map[[]string]) {
	for subject, keys := range subjects.All() {
		if slices.ContainsFunc(*keys, func(key string) bool { return g.stale[key] }) {
			g.setGrants(namespace, subject, keys)
		}
	}
}

// setGrants sets the grants of a subject to those of its bindings.
func (g *treeBuilder) setGrants(namespace, subject string, keys *[]string) {
	of := tables.ParseSubject(subject)
	h := boundSubject{namespace, of.IsGroup, of.Name}
	if keys == nil {
		delete(g.bySubject.owned(h), h)
		g.subjects.stale++
		return
	}
	grants := make([]grant, 0, len(*keys))
	for _, key := range *keys {
		binding := g.bindings.Find(key)
		if binding == nil {
			continue
		}
		if role := g.roles.Find(binding.Role); role != nil {
			grants = append(grants, grant{binding, role})
		}
	}
	g.bySubject.owned(h)[h] = grants
	g.subjects.add(h.hash(), readsOf(grants))
}

// readsOf returns what the restrictions of all rules of grants read.
func readsOf(grants []grant) (reads tables.Reads) {
	for _, grant := range grants {
		reads |= grant.role.Reads()
	}
	return reads
}

// dropStaleSubjects builds the subjects again if most of their entries may be stale.
func (g *treeBuilder) dropStaleSubjects() {
	if g.subjects.stale <= g.subjects.used/2 {
		return
	}
	g.subjects = new(subjects)
	for _, shard := range g.bySubject.shards {
		for h, grants := range shard {
			g.subjects.add(h.hash(), readsOf(grants))
		}
	}
}
