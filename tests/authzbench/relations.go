package main

// OpenFGA and SpiceDB have the same model, which the documentation of both advises for roles
// that users define and that are given in one place: a role has a relation for each permission,
// which everybody has who has the role; an assignment has a subject and a role; a namespace has
// assignments, and those of the cluster. A binding is one assignment, which is three tuples.

// tuple is a relationship: the user of OpenFGA, the subject of SpiceDB.
type tuple struct{ Object, Relation, User string }

// tuples are those of a binding.
func (b *binding) tuples() []tuple {
	at, subject := "namespace:"+b.Namespace, b.subject()
	if b.Namespace == "" {
		at = "cluster:main"
	}
	if b.Group != "" {
		subject += "#member"
	}
	assignment := "assignment:" + b.Name
	return []tuple{{assignment, "assignee", subject}, {assignment, "role", "role:" + b.Role}, {at, "assignment", assignment}}
}

// tuples are those of the world, bindings last.
func (w *world) tuples() (list []tuple) {
	for i := range w.Roles {
		for pair := range w.Roles[i].pairs() {
			list = append(list, tuple{"role:" + w.Roles[i].Name, pair[0] + "_" + pair[1], "user:*"})
		}
	}
	for _, namespace := range w.Namespaces {
		list = append(list, tuple{"namespace:" + namespace, "cluster", "cluster:main"})
	}
	for _, user := range w.Users {
		for _, group := range w.Groups[user] {
			list = append(list, tuple{"group:" + group, "member", "user:" + user})
		}
	}
	for i := range w.Bindings {
		list = append(list, w.Bindings[i].tuples()...)
	}
	return list
}
