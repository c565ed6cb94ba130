package main

import (
	"maps"
	"slices"
)

// pairs are the verbs and resources that a role gives.
func (r *role) pairs() map[[2]string]bool {
	pairs := make(map[[2]string]bool)
	for _, one := range r.Rules {
		for _, verb := range one.Verbs {
			for _, resource := range one.Resources {
				pairs[[2]string{verb, resource}] = true
			}
		}
	}
	return pairs
}

// The reference reads the facts one after the other, as they are written.

func (r *role) gives(verb, resource string) bool {
	return slices.ContainsFunc(r.Rules, func(one rule) bool {
		return slices.Contains(one.Verbs, verb) && slices.Contains(one.Resources, resource)
	})
}

func (b *binding) names(q *question) bool {
	return b.User != "" && b.User == q.User || b.Group != "" && slices.Contains(q.Groups, b.Group)
}

// reference answers questions about a world.
type reference struct {
	*world
	giving map[[2]string][]*binding // the bindings that give a verb on a resource
}

func newReference(w *world) *reference {
	r := &reference{world: w, giving: make(map[[2]string][]*binding)}
	for i := range w.Bindings {
		given := w.role(w.Bindings[i].Role)
		for _, verb := range w.Shape.Verbs {
			for _, resource := range w.Shape.Resources {
				if given.gives(verb, resource) {
					r.giving[[2]string{verb, resource}] = append(r.giving[[2]string{verb, resource}], &w.Bindings[i])
				}
			}
		}
	}
	return r
}

func (r *reference) decide(q *question) bool {
	return slices.ContainsFunc(r.giving[[2]string{q.Verb, q.Resource}], func(b *binding) bool {
		return b.names(q) && (b.Namespace == "" || b.Namespace == q.Namespace)
	})
}

// who are the users that may do what is asked, sorted. The user of the question is not read.
func (r *reference) who(q *question) []string {
	var users, groups []string
	for _, b := range r.giving[[2]string{q.Verb, q.Resource}] {
		if b.Namespace == "" || b.Namespace == q.Namespace {
			users, groups = append(users, b.User), append(groups, b.Group)
		}
	}
	return r.usersOf(users, groups)
}

// usersOf are the users and the members of the groups, sorted. Systems that do not hold the
// members of groups answer with groups; who asks them knows the members.
func (w *world) usersOf(users, groups []string) []string {
	named, namedGroups := make(map[string]bool), make(map[string]bool)
	for _, user := range users {
		named[user] = true
	}
	for _, group := range groups {
		namedGroups[group] = true
	}
	var found []string
	for _, user := range w.Users {
		if named[user] || slices.ContainsFunc(w.Groups[user], func(g string) bool { return namedGroups[g] }) {
			found = append(found, user)
		}
	}
	slices.Sort(found)
	return found
}

// namespaces are those in which the user may do what is asked, sorted. The namespace of the
// question is not read.
func (r *reference) namespaces(q *question) []string {
	found := make(map[string]bool)
	for _, b := range r.giving[[2]string{q.Verb, q.Resource}] {
		if !b.names(q) {
			continue
		}
		if b.Namespace == "" {
			return slices.Sorted(slices.Values(r.Namespaces))
		}
		found[b.Namespace] = true
	}
	return slices.Sorted(maps.Keys(found))
}
