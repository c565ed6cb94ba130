package reach

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// deniesNothing is the rule of a deny policy that an attacker left without effect: a policy
// must have one.
var deniesNothing = map[string]any{"verbs": []string{"get"}, "apiGroups": []string{"nothing.invalid"}, "resources": []string{"nothing"}}

// documents adds the hops that write documents of writ itself. Nothing checks that their
// author holds what they grant. An identity that may do everything, and that no role denies
// anything, gains nothing by another grant; where no policy denies anything either, nothing by
// a session.
func (x *expansion) documents() {
	if !x.isFree() || !x.hasAll("") {
		x.originGrants()
		x.originDenials()
	}
	if x.isLocal {
		return
	}
	if !x.isFree() || len(x.n.world.Deny) > 0 || !x.hasAll("") {
		x.escalations()
	}
	deny := tables.Of[*tables.Deny](x.n.world.Revision.Tables)
	verbs := slices.DeleteFunc(append([]string{"delete"}, edits...), func(verb string) bool { return !x.mayAsk(verb, denyGroup, "denypolicies") })
	if deny == nil {
		return
	}
	for i := range deny.Policies {
		name := deny.Policies[i].Name
		for _, verb := range verbs {
			h := hop{edge: "edit-documents"}
			if !x.takes(&h, target{verb: verb, group: denyGroup, resource: "denypolicies", name: name}) {
				continue
			}
			c := change{apiVersion: denyVersion, kind: kindDenyPolicy, name: name}
			if verb != "delete" {
				c.document = map[string]any{"spec": map[string]any{"rules": []any{deniesNothing}}}
			}
			x.change(h, c)
			break
		}
	}
}

// isFree reports whether an identity that may do everything is denied nothing but by policies,
// which deny the same to all.
func (x *expansion) isFree() bool {
	acting := x.n.identity.Acting
	return !x.n.world.sealed && (acting == nil || acting.Mode == legacy) &&
		!slices.ContainsFunc(x.held, func(s *statement.Statement) bool { return s.Effect != statement.OutcomeAllow })
}

// originGrants adds the hops that write Origin roles, or bind them. Everything in the cluster
// is worth as much as that and anything in a namespace.
func (x *expansion) originGrants() {
	places := make(map[string]bool)
	for _, resource := range []string{"roles", "rolebindings", "policies", "policybindings"} {
		for _, verb := range append([]string{"delete"}, writes...) {
			for _, namespace := range x.places(target{verb: verb, group: writGroup, resource: resource}) {
				places[namespace] = true
			}
		}
	}
	// Each way to everything in a namespace is tried until one is certain.
	gain := func(namespace string) bool {
		for _, way := range []func(string) bool{x.originRole, x.originBinding, x.policy, x.policyBinding} {
			if way(namespace) && x.isFree() {
				return true
			}
		}
		return false
	}
	master := x.n.world.Access.Master
	if (!x.isLocal || slices.Contains(x.namespaces, master)) && master != "" && places[master] && gain(master) {
		return
	}
	for _, namespace := range x.namespaces {
		if namespace != master && places[namespace] && !(x.isFree() && x.hasAll(namespace)) {
			gain(namespace)
		}
	}
}

func (x *expansion) mayWrite(group, resource string) bool {
	return slices.ContainsFunc(writes, func(verb string) bool { return x.mayAsk(verb, group, resource) })
}

// originRole adds the hops that write an Origin role: one that is bound, or a new one. It
// reports whether the identity certainly holds one of them there.
func (x *expansion) originRole(namespace string) bool {
	bound := make(map[string]bool)
	for _, b := range x.n.world.Access.Bindings.All() {
		bound[b.Role] = true
	}
	place := namespace
	if namespace == x.n.world.Access.Master {
		place = ""
	}
	held := make(map[string]bool)
	for _, s := range x.held {
		for _, d := range s.Documents {
			held[d.Role] = held[d.Role] || s.Namespace == place
		}
	}
	_, hasPolicy := x.container(kindPolicy, namespace, "")
	hasPolicy = hasPolicy || place == "" // which other namespaces need for a role
	isCertain := false
	for key, r := range x.n.world.Access.Roles.All() {
		role := r
		if role.Family != tables.FamilyOrigin || role.Namespace != namespace {
			continue
		}
		hasPolicy = true
		if !bound[key] || grantsAll(role) || x.isContained(kindRole, namespace, role.Name) {
			continue
		}
		for _, verb := range edits {
			h := hop{edge: "edit-documents"}
			if x.takes(&h, target{verb: verb, group: writGroup, resource: "roles", namespace: namespace, name: role.Name}) {
				x.change(h, newRole("", namespace, role.Name))
				isCertain = isCertain || held[key] && h.class == Certain
				break
			}
		}
	}
	h := hop{edge: "edit-documents"}
	if !isCertain && hasPolicy && x.mayWrite(writGroup, "rolebindings") && x.takes(&h, target{verb: "create", group: writGroup, resource: "roles", namespace: namespace}) {
		x.change(h, newRole("", namespace, newName))
	}
	return isCertain
}

// originDenials adds the hops that delete a binding of an Origin role which denies, or that
// leave it with a user whom no document names.
func (x *expansion) originDenials() {
	if !x.mayWrite(writGroup, "rolebindings") && !x.mayAsk("delete", writGroup, "rolebindings") {
		return
	}
	access := x.n.world.Access
	for _, b := range x.n.world.denyingBindings() {
		role := access.Roles.At(b.Role)
		if x.isContained(kindRoleBinding, b.Namespace, b.Name) {
			continue
		}
		for _, verb := range append([]string{"delete"}, edits...) {
			h := hop{edge: "edit-documents"}
			if !x.takes(&h, target{verb: verb, group: writGroup, resource: "rolebindings", namespace: b.Namespace, name: b.Name}) {
				continue
			}
			c := change{apiVersion: writVersion, kind: kindRoleBinding, namespace: b.Namespace, name: b.Name}
			if verb != "delete" {
				c = newBinding(&role, b.Namespace, b.Name, statement.UserPrefix+standIn)
			}
			x.change(h, c)
			break
		}
	}
}

// denyingBindings returns the bindings of Origin roles that deny.
func (w *world) denyingBindings() []*tables.Binding {
	if w.subtracting == nil {
		w.subtracting = []*tables.Binding{}
		for _, b := range w.Access.Bindings.All() {
			if b.Family == tables.FamilyOrigin && slices.ContainsFunc(w.role(b.Role).Origin, func(o tables.OriginRule) bool { return o.Deny }) {
				w.subtracting = append(w.subtracting, b)
			}
		}
	}
	return w.subtracting
}

// originBinding adds the hops that bind an Origin role to the identity. It reports whether one
// of them certainly gives everything there.
func (x *expansion) originBinding(namespace string) bool {
	access := x.n.world.Access
	known := func() []string { return x.originBindingsIn(namespace) }
	writings := slices.DeleteFunc(x.writings("edit-documents", writGroup, "rolebindings", namespace, known), func(w writing) bool {
		return x.isContained(kindRoleBinding, namespace, w.name)
	})
	if len(writings) == 0 {
		return false
	}
	isThere := func(w writing) bool {
		return w.requests[0].verb == "create" || access.Bindings.Has(tables.BindingKey(tables.FamilyOrigin, namespace, w.name))
	}
	written := writings[max(0, slices.IndexFunc(writings, isThere))]
	if !isThere(written) {
		written.class, written.assumes = max(written.class, Assumed), []string{"there is such a binding"}
	}
	_, hasBinding := x.container(kindPolicyBinding, namespace, namespace)
	hasBinding = hasBinding || namespace == access.Master // into its own namespace, which takes a PolicyBinding
	for _, b := range access.Bindings.All() {
		hasBinding = hasBinding || b.Family == tables.FamilyOrigin && b.Namespace == namespace && b.Role == tables.RoleKey(tables.FamilyOrigin, namespace, access.Roles.At(b.Role).Name)
	}
	for _, role := range x.originRoles(func(in string) bool { return in == access.Master || in == namespace && hasBinding }) {
		h := written.hop // Origin lets the role of a binding be changed
		h.requests = slices.Clone(h.requests)
		c := newBinding(role, namespace, written.name, x.n.identity.own())
		c.isNew = !access.Bindings.Has(tables.BindingKey(tables.FamilyOrigin, namespace, written.name))
		x.change(h, c)
		if grantsAll(role) && h.class == Certain {
			return true
		}
	}
	return false
}

// originBindingsIn returns the name of a binding of Origin documents in a namespace that may be
// changed, rather one whose role the identity does not hold.
func (x *expansion) originBindingsIn(namespace string) []string {
	access := x.n.world.Access
	held := make(map[string]bool)
	for _, s := range x.held {
		for _, d := range s.Documents {
			held[d.Role] = true
		}
	}
	best := ""
	for _, b := range access.Bindings.All() {
		if b.Family != tables.FamilyOrigin || b.Namespace != namespace || x.isContained(kindRoleBinding, namespace, b.Name) {
			continue
		}
		best = cmp.Or(best, b.Name)
		if !held[b.Role] {
			return []string{b.Name}
		}
	}
	if best == "" {
		return nil
	}
	return []string{best}
}

// originRoles returns the Origin roles of some namespaces, those that grant everything first.
func (x *expansion) originRoles(isIn func(namespace string) bool) (out []*tables.Role) {
	for _, r := range x.n.world.Access.Roles.All() {
		if role := r; role.Family == tables.FamilyOrigin && isIn(role.Namespace) {
			out = append(out, role)
		}
	}
	slices.SortStableFunc(out, func(a, b *tables.Role) int {
		switch {
		case grantsAll(a) == grantsAll(b):
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		case grantsAll(a):
			return -1
		}
		return 1
	})
	return out
}
