package reach

import (
	"cmp"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/roles"
	"github.com/writ-policy/writ/translator/tables"
)

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
		if s.Namespace != "" && s.Namespace != namespace || len(s.Documents) == 0 {
			return false
		}
		role := s.Documents[0].Role
		return role != "" && grantsAll(x.n.world.role(role))
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
		return cmp.Or(
			last(!grantsAll(a))-last(!grantsAll(b)),
			last(roles.IsBootstrap(a.Source))-last(roles.IsBootstrap(b.Source)),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// writing is a hop that writes a document, and the name of the document.
type writing struct {
	hop
	name string
}

// writings returns the ways to write a document: it is created, or one that is there is edited.
// known are documents there, of which each is tried if any may be edited.
func (x *expansion) writings(edge, group, resource, namespace string, known func() []string) (out []writing) {
	a := ask{verbs: writes, group: group, resources: []string{resource}, isNamed: true}
	best, v := x.best(&a, namespace, nil)
	if v.class == never {
		return nil
	}
	names := []string{best.name}
	if best.verb != "create" {
		a.verbs = edits
		if best.name != x.g.o.standIn {
			names = x.namesOf(target{verb: best.verb, group: group, resource: resource})
		} else if known != nil {
			names = slices.Concat(known(), names)
		}
	}
	for _, name := range names {
		a.name = name
		if t, v := x.best(&a, namespace, nil); v.class != never {
			w := writing{hop{edge: edge, requests: []target{t}, class: v.class, why: v.why, facts: v.facts}, t.name}
			if t.verb == "create" {
				w.requests[0].name, w.name = "", newName
			}
			out = append(out, w)
		}
	}
	return out
}

// namesOf returns the names that rules of the identity list for a target, sorted.
func (x *expansion) namesOf(t target) (out []string) {
	shape := x.n.world.shape(t)
	for _, s := range x.held {
		if k, ok := s.Condition.(*statement.KubernetesRule); ok && s.Effect == statement.OutcomeAllow && shape.mayFit(s) {
			out = append(out, k.Names...)
		}
	}
	return tables.Entries(out)
}

// bindingsIn returns the names of bindings of Kubernetes in a namespace, one of each role.
func (w *world) bindingsIn(namespace string) []string {
	if w.bindings == nil {
		w.bindings = make(map[string][]string)
		seen := make(map[[2]string]bool)
		for _, b := range w.Access.Bindings.All() {
			if of := [2]string{b.Namespace, b.Role}; b.Family == tables.FamilyKubernetes && !seen[of] {
				seen[of] = true
				w.bindings[b.Namespace] = append(w.bindings[b.Namespace], b.Name)
			}
		}
	}
	return w.bindings[namespace]
}

// bind adds the hops that bind a role in a namespace. It reports whether one of them certainly
// gives everything there. An identity that may edit bindings, but not create them, needs one of
// that role: the API server does not let the role of a binding be changed, and asks for create
// if the binding does not exist.
func (x *expansion) bind(namespace string) bool {
	resource := "clusterrolebindings"
	if namespace != "" {
		resource = "rolebindings"
	}
	if !x.mayAskIn(namespace, "bind", rbacGroup, "roles") && !x.mayAskIn(namespace, "bind", rbacGroup, "clusterroles") {
		return false
	}
	for _, written := range x.writings("bind", rbacGroup, resource, namespace, func() []string { return x.n.world.bindingsIn(namespace) }) {
		existing := x.n.world.Access.Bindings.At(tables.BindingKey(tables.FamilyKubernetes, namespace, written.name))
		for _, role := range x.kubernetesRoles(namespace) {
			if existing.Role != "" && existing.Role != tables.RoleKey(role.Family, role.Namespace, role.Name) || len(role.Kubernetes) == 0 {
				continue // the role of a binding cannot be changed
			}
			h := written.hop
			h.requests = slices.Clone(written.requests)
			if existing.Role == "" && h.requests[0].verb != "create" {
				h.class, h.assumes = max(h.class, Assumed), []string{"there is a binding of that role"}
			}
			if !x.takes(&h, target{verb: "bind", group: rbacGroup, resource: plurals[role.Kind], namespace: namespace, name: role.Name}) {
				continue
			}
			c := newBinding(role, namespace, written.name, x.n.identity.own())
			c.isNew = existing.Role == ""
			x.change(h, c)
			switch {
			case !grantsAll(role):
			case h.class == Certain:
				return true
			case written.name == x.g.o.standIn:
				return false // another role under the same assumption gives no more
			}
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
	if !x.mayAskIn(namespace, "escalate", rbacGroup, plurals[kind]) {
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
		return r.Kind != kind || grantsAll(r) || !bound[tables.RoleKey(r.Family, r.Namespace, r.Name)] && !x.mayBind(kind, namespace, r.Name)
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
			if found = x.takes(&h, target{verb: verb, group: rbacGroup, resource: plurals[kind], namespace: namespace, name: role.Name}); found {
				break
			}
		}
		if !found || !x.takes(&h, target{verb: "escalate", group: rbacGroup, resource: plurals[kind], namespace: namespace, name: role.Name}) {
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

// mayBind reports whether the identity may bind a role somewhere.
func (x *expansion) mayBind(kind, namespace, name string) bool {
	t := target{verb: "bind", group: rbacGroup, resource: plurals[kind], namespace: namespace, name: name}
	places := []string{namespace}
	if namespace == "" {
		places = append(places, x.places(t)...)
	}
	return slices.ContainsFunc(places, func(place string) bool {
		t.namespace = place
		return x.verdict(t, false, nil).class != never
	})
}

// newRole adds the hop that creates a role which grants everything, under a name that may be
// bound.
func (x *expansion) newRole(kind, namespace string) {
	names := append([]string{newName}, x.namesOf(target{verb: "bind", group: rbacGroup, resource: plurals[kind]})...)
	i := slices.IndexFunc(names, func(name string) bool {
		return !x.n.world.Access.Roles.Has(tables.RoleKey(tables.FamilyKubernetes, namespace, name)) && x.mayBind(kind, namespace, name)
	})
	if i < 0 {
		return
	}
	h := hop{edge: "escalate"}
	for _, verb := range []string{"create", "escalate"} {
		if !x.takes(&h, target{verb: verb, group: rbacGroup, resource: plurals[kind], namespace: namespace}) {
			return
		}
	}
	x.change(h, newRole(kind, namespace, names[i]))
}

// change adds a hop that leaves the identity as it is, in changed documents.
func (x *expansion) change(h hop, c change) {
	if w := x.g.after(x.n.world, c); w != nil && w != x.n.world {
		h.change, x.g.hasChanges = &c, true
		x.add(h, x.g.at(x.n.identity, w))
	}
}
