package reach

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/tables"
)

// deniesNothing is the rule of a deny policy that an attacker left without effect: a policy
// must have one.
var deniesNothing = map[string]any{"verbs": []string{"get"}, "apiGroups": []string{"nothing.invalid"}, "resources": []string{"nothing"}}

// rbac adds the hops that bind a role of Kubernetes, or change what one grants. An identity
// that may bind a role that grants everything, or change one that it holds there, gains
// nothing by another one.
//
// Kubernetes, RBAC Good Practices: bind verb, escalate verb; the API server asks for them in
// BindingAuthorized and RoleEscalationAuthorized.
func (x *expansion) rbac() {
	mayGain := func(verb string) bool {
		return x.mayAsk(verb, rbacGroup, "roles") || x.mayAsk(verb, rbacGroup, "clusterroles")
	}
	if !mayGain("bind") && !mayGain("escalate") || x.hasAll("") || !x.isLocal && (x.bind("") || x.escalate("")) {
		return
	}
	for _, namespace := range x.namespaces {
		if !x.hasAll(namespace) && !x.bind(namespace) {
			x.escalate(namespace)
		}
	}
}

// hasAll reports whether a grant of Kubernetes gives everything in a namespace, or in the
// cluster.
func (x *expansion) hasAll(namespace string) bool {
	return slices.ContainsFunc(x.held, func(s *statement.Statement) bool {
		return (s.Namespace == "" || s.Namespace == namespace) && len(s.Documents) > 0 && s.Documents[0].Role != "" && grantsAll(x.n.world.role(s.Documents[0].Role))
	})
}

func (w *world) role(key string) *tables.Role {
	role := w.Access.Roles.At(key)
	return &role
}

// kubernetesRoles returns the roles that a binding in a namespace may name: those that grant
// everything first, then those of documents that are not part of Kubernetes, then by name.
func (x *expansion) kubernetesRoles(namespace string) (out []*tables.Role) {
	for _, r := range x.n.world.Access.Roles.All() {
		if role := r; role.Family == tables.FamilyKubernetes && (role.Kind == kindClusterRole || namespace != "" && role.Namespace == namespace) {
			out = append(out, role)
		}
	}
	last := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	slices.SortFunc(out, func(a, b *tables.Role) int {
		return cmp.Or(last(!grantsAll(a))-last(!grantsAll(b)), last(roles.IsBootstrap(a.Source))-last(roles.IsBootstrap(b.Source)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// write adds the request that writes a document to a hop. It returns the name of the document.
func (x *expansion) write(h *hop, group, resource, namespace string) (name string, ok bool) {
	t, v := x.best(&ask{verbs: writes, group: group, resources: []string{resource}, isNamed: true}, namespace, nil)
	if v.class == never {
		return "", false
	}
	h.requests, h.class, h.why, h.facts = []target{t}, max(h.class, v.class), v.why, v.facts
	if t.verb == "create" {
		return newName, true
	}
	return t.name, true
}

// bind adds the hops that bind a role in a namespace. It reports whether one of them certainly
// gives everything there.
func (x *expansion) bind(namespace string) bool {
	resource := "clusterrolebindings"
	if namespace != "" {
		resource = "rolebindings"
	}
	if !x.mayAsk("bind", rbacGroup, "roles") && !x.mayAsk("bind", rbacGroup, "clusterroles") {
		return false
	}
	written := hop{edge: "bind"}
	name, ok := x.write(&written, rbacGroup, resource, namespace)
	if !ok {
		return false
	}
	existing := x.n.world.Access.Bindings.At(tables.BindingKey(tables.FamilyKubernetes, namespace, name))
	for _, role := range x.kubernetesRoles(namespace) {
		if existing.Role != "" && existing.Role != tables.RoleKey(role.Family, role.Namespace, role.Name) || len(role.Kubernetes) == 0 {
			continue // the role of a binding cannot be changed
		}
		h := written
		h.requests = slices.Clone(written.requests)
		if !x.takes(&h, target{verb: "bind", group: rbacGroup, resource: plurals[role.Kind], namespace: namespace, name: role.Name}, false) {
			continue
		}
		c := newBinding(role, namespace, name, x.n.identity.own())
		c.isNew = existing.Role == ""
		x.change(h, c)
		if grantsAll(role) && h.class == Certain {
			return true
		}
	}
	return false
}

var plurals = map[string]string{kindRole: "roles", kindClusterRole: "clusterroles"}

// escalate adds the hops that make a role grant everything. It reports whether the identity
// certainly holds one of them there.
func (x *expansion) escalate(namespace string) bool {
	kind := kindClusterRole
	if namespace != "" {
		kind = kindRole
	}
	if !x.mayAsk("escalate", rbacGroup, plurals[kind]) {
		return false
	}
	bound := make(map[string]bool)
	for _, b := range x.n.world.Access.Bindings.All() {
		bound[b.Role] = true
	}
	held := make(map[string]bool)
	for _, s := range x.held {
		for _, d := range s.Documents {
			held[d.Role] = held[d.Role] || s.Namespace == namespace
		}
	}
	candidates := slices.DeleteFunc(x.kubernetesRoles(namespace), func(r *tables.Role) bool {
		return r.Kind != kind || grantsAll(r) || !bound[tables.RoleKey(r.Family, r.Namespace, r.Name)]
	})
	slices.SortStableFunc(candidates, func(a, b *tables.Role) int {
		isHeld := func(r *tables.Role) int {
			if held[tables.RoleKey(r.Family, r.Namespace, r.Name)] {
				return 0
			}
			return 1
		}
		return isHeld(a) - isHeld(b)
	})
	for _, role := range candidates {
		h, found := hop{edge: "escalate"}, false
		for _, verb := range edits {
			if found = x.takes(&h, target{verb: verb, group: rbacGroup, resource: plurals[kind], namespace: namespace, name: role.Name}, false); found {
				break
			}
		}
		if !found || !x.takes(&h, target{verb: "escalate", group: rbacGroup, resource: plurals[kind], namespace: namespace, name: role.Name}, false) {
			continue
		}
		x.change(h, newRole(kind, namespace, role.Name))
		if held[tables.RoleKey(role.Family, role.Namespace, role.Name)] && h.class == Certain {
			return true
		}
	}
	x.newRole(kind, namespace)
	return false
}

// newRole adds the hop that creates a role which grants everything, if it may be bound.
func (x *expansion) newRole(kind, namespace string) {
	if x.verdict(target{verb: "bind", group: rbacGroup, resource: plurals[kind], namespace: namespace, name: newName}, false, nil).class == never {
		return
	}
	h := hop{edge: "escalate"}
	for _, verb := range []string{"create", "escalate"} {
		if !x.takes(&h, target{verb: verb, group: rbacGroup, resource: plurals[kind], namespace: namespace}, false) {
			return
		}
	}
	x.change(h, newRole(kind, namespace, newName))
}

// change adds a hop that leaves the identity as it is, in changed documents.
func (x *expansion) change(h hop, c change) {
	if w := x.g.after(x.n.world, c); w != nil && w != x.n.world {
		h.change, x.g.hasChanges = &c, true
		x.add(h, x.g.at(x.n.identity, w))
	}
}

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
			if !x.takes(&h, target{verb: verb, group: denyGroup, resource: "denypolicies", name: name}, false) {
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
	if !x.mayWrite(writGroup, "roles") && !x.mayWrite(writGroup, "rolebindings") {
		return
	}
	master := x.n.world.Access.Master
	isAsked := !x.isLocal || slices.Contains(x.namespaces, master)
	if isAsked && master != "" && (x.originRole(master) || x.originBinding(master)) && x.isFree() {
		return
	}
	for _, namespace := range x.namespaces {
		if namespace == master || x.isFree() && x.hasAll(namespace) {
			continue
		}
		if !x.originRole(namespace) || !x.isFree() {
			x.originBinding(namespace)
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
	hasPolicy := place == "" // which other namespaces need for a role
	isCertain := false
	for key, r := range x.n.world.Access.Roles.All() {
		role := r
		if role.Family != tables.FamilyOrigin || role.Namespace != namespace {
			continue
		}
		hasPolicy = true
		if !bound[key] || grantsAll(role) {
			continue
		}
		for _, verb := range edits {
			h := hop{edge: "edit-documents"}
			if x.takes(&h, target{verb: verb, group: writGroup, resource: "roles", namespace: namespace, name: role.Name}, false) {
				x.change(h, newRole("", namespace, role.Name))
				isCertain = isCertain || held[key] && h.class == Certain
				break
			}
		}
	}
	h := hop{edge: "edit-documents"}
	if !isCertain && hasPolicy && x.mayWrite(writGroup, "rolebindings") && x.takes(&h, target{verb: "create", group: writGroup, resource: "roles", namespace: namespace}, false) {
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
	for _, b := range access.Bindings.All() {
		role := access.Roles.At(b.Role)
		if b.Family != tables.FamilyOrigin || !slices.ContainsFunc(role.Origin, func(o tables.OriginRule) bool { return o.Deny }) {
			continue
		}
		for _, verb := range append([]string{"delete"}, edits...) {
			h := hop{edge: "edit-documents"}
			if !x.takes(&h, target{verb: verb, group: writGroup, resource: "rolebindings", namespace: b.Namespace, name: b.Name}, false) {
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

// originBinding adds the hops that bind an Origin role to the identity. It reports whether one
// of them certainly gives everything there.
func (x *expansion) originBinding(namespace string) bool {
	access := x.n.world.Access
	written := hop{edge: "edit-documents"}
	name, ok := x.write(&written, writGroup, "rolebindings", namespace)
	if !ok {
		return false
	}
	hasBinding := namespace == access.Master // into its own namespace, which takes a PolicyBinding
	for _, b := range access.Bindings.All() {
		hasBinding = hasBinding || b.Family == tables.FamilyOrigin && b.Namespace == namespace && b.Role == tables.RoleKey(tables.FamilyOrigin, namespace, access.Roles.At(b.Role).Name)
	}
	var candidates []*tables.Role
	for _, r := range access.Roles.All() {
		if role := r; role.Family == tables.FamilyOrigin && (role.Namespace == access.Master || role.Namespace == namespace && hasBinding) {
			candidates = append(candidates, role)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *tables.Role) int {
		switch {
		case grantsAll(a) == grantsAll(b):
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		case grantsAll(a):
			return -1
		}
		return 1
	})
	for _, role := range candidates {
		h := written
		h.requests = slices.Clone(written.requests)
		c := newBinding(role, namespace, name, x.n.identity.own())
		c.isNew = !access.Bindings.Has(tables.BindingKey(tables.FamilyOrigin, namespace, name))
		x.change(h, c)
		if grantsAll(role) && h.class == Certain {
			return true
		}
	}
	return false
}
