package reach

import (
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// memberName is the name of a binding that a hop writes into a PolicyBinding.
const memberName = newName + "-member"

// Containers returns the containers among documents, for Options; it is not nil.
func Containers(documents []syntax.Document) []access.Container {
	return append([]access.Container{}, access.Containers(documents)...)
}

// container returns the container of a kind in a namespace, after the changes. An empty name
// stands for any.
func (x *expansion) container(kind, namespace, name string) (members []string, ok bool) {
	for _, c := range x.n.world.changes {
		if c.kind == kind && c.namespace == namespace && (name == "" || c.name == name) {
			return c.contents(), c.document != nil
		}
	}
	i := slices.IndexFunc(x.g.o.Containers, func(c access.Container) bool {
		return c.Kind == kind && c.Namespace == namespace && (name == "" || c.Name == name)
	})
	if i < 0 {
		return nil, false
	}
	return x.g.o.Containers[i].Members, true
}

// contents are the members of a container that a change leaves.
func (c *change) contents() []string {
	switch {
	case c.kind == kindPolicy:
		return c.members
	case c.role != "":
		return []string{memberName}
	}
	return nil
}

// isContained reports whether a role or a binding is part of a container, and no document.
func (x *expansion) isContained(kind, namespace, name string) bool {
	return slices.ContainsFunc(x.g.o.Containers, func(c access.Container) bool { return c.Has(kind, namespace, name) })
}

// policy adds the hop that writes the Policy of a namespace, whose roles then grant everything.
// It reports whether the identity certainly holds one of them there.
func (x *expansion) policy(namespace string) bool {
	if x.g.o.Containers == nil || !x.mayWrite(writGroup, "policies") {
		return false
	}
	h, name, members := hop{edge: "edit-documents"}, newName, []string{newName}
	t := target{verb: "create", group: writGroup, resource: "policies", namespace: namespace}
	i := slices.IndexFunc(x.g.o.Containers, func(c access.Container) bool { return c.Kind == kindPolicy && c.Namespace == namespace })
	found := false
	if i < 0 {
		found = x.takes(&h, t)
	} else {
		name, members = x.g.o.Containers[i].Name, tables.Entries(append(members, x.g.o.Containers[i].Members...))
		for _, verb := range edits {
			if t.verb, t.name = verb, name; x.takes(&h, t) {
				found = true
				break
			}
		}
	}
	isOfUse := x.mayWrite(writGroup, "rolebindings") || x.mayWrite(writGroup, "policybindings")
	isHeld, contents := false, make(map[string]any)
	for _, member := range members {
		contents[member] = map[string]any{"rules": []any{map[string]any{"verbs": everything, "resourceKinds": everything}}}
		key := tables.RoleKey(tables.FamilyOrigin, namespace, member)
		for _, b := range x.n.world.Access.Bindings.All() {
			isOfUse = isOfUse || b.Role == key
		}
		isHeld = isHeld || slices.ContainsFunc(x.held, func(s *statement.Statement) bool {
			return slices.ContainsFunc(s.Documents, func(d statement.Document) bool { return d.Role == key })
		})
	}
	if !found || !isOfUse {
		return false
	}
	x.change(h, change{apiVersion: writVersion, kind: kindPolicy, namespace: namespace, name: name, members: members, document: map[string]any{"roles": contents}})
	return isHeld && h.class == Certain
}

// policyBinding adds the hops that write or delete a PolicyBinding of a namespace. It reports
// whether one of them certainly gives everything there.
func (x *expansion) policyBinding(namespace string) bool {
	master := x.n.world.Access.Master
	isCertain := false
	for _, of := range tables.Once([]string{namespace, master}) {
		if x.g.o.Containers != nil && !isCertain {
			isCertain = x.policyBindingOf(namespace, of)
		}
	}
	return isCertain
}

// policyBindingOf is policyBinding for the one that binds roles of a namespace.
func (x *expansion) policyBindingOf(namespace, of string) bool {
	members, exists := x.container(kindPolicyBinding, namespace, of)
	verbs := []string{"create"}
	if exists {
		verbs = edits
	}
	t := target{group: writGroup, resource: "policybindings", namespace: namespace}
	c := change{apiVersion: writVersion, kind: kindPolicyBinding, namespace: namespace, name: of, members: members}
	for _, verb := range verbs {
		h := hop{edge: "edit-documents"}
		if t.verb = verb; exists {
			t.name = of
		}
		if !x.takes(&h, t) {
			continue
		}
		roles := x.originRoles(func(in string) bool { return in == of })
		for _, role := range roles {
			next, one := c, newBinding(role, namespace, memberName, x.n.identity.own())
			next.role, next.self, next.isNew = one.role, one.self, len(members) == 0
			next.document = map[string]any{"roleBindings": map[string]any{memberName: one.document}}
			x.change(h, next)
			if grantsAll(role) && h.class == Certain {
				return true
			}
		}
		if c.document = (map[string]any{"roleBindings": map[string]any{}}); len(roles) == 0 && x.deniesBy(namespace, members) {
			x.change(h, c)
		}
		return false
	}
	h := hop{edge: "edit-documents"}
	t.verb, t.name, c.document = "delete", of, nil
	if exists && x.deniesBy(namespace, members) && !x.isNeeded(namespace, of, members) && x.takes(&h, t) {
		x.change(h, c)
	}
	return false
}

// deniesBy reports whether one of some bindings of a namespace has a role that denies.
func (x *expansion) deniesBy(namespace string, names []string) bool {
	access := x.n.world.Access
	return slices.ContainsFunc(names, func(name string) bool {
		role := access.Roles.At(access.Bindings.At(tables.BindingKey(tables.FamilyOrigin, namespace, name)).Role)
		return slices.ContainsFunc(role.Origin, func(o tables.OriginRule) bool { return o.Deny })
	})
}

// isNeeded reports whether another binding of a namespace has a role of there, which takes the
// PolicyBinding.
func (x *expansion) isNeeded(namespace, of string, members []string) bool {
	access := x.n.world.Access
	for _, b := range access.Bindings.All() {
		if b.Family == tables.FamilyOrigin && b.Namespace == namespace && of == namespace && of != access.Master &&
			access.Roles.At(b.Role).Namespace == namespace && !slices.Contains(members, b.Name) {
			return true
		}
	}
	return false
}
