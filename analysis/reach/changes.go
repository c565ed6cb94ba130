package reach

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// The API versions and kinds of documents that edges write.
const (
	rbacVersion = rbacGroup + "/v1"
	writVersion = writGroup + "/v1"
	denyVersion = tables.BreakglassVersion

	kindRole               = "Role"
	kindClusterRole        = "ClusterRole"
	kindRoleBinding        = "RoleBinding"
	kindClusterRoleBinding = "ClusterRoleBinding"
	kindDenyPolicy         = "DenyPolicy"
	kindEscalation         = "BreakglassEscalation"
	kindPolicy             = "Policy"
	kindPolicyBinding      = "PolicyBinding"
)

// newName is the name of documents that hops create, and madeByHop where they are written.
const (
	newName   = "reach"
	madeByHop = "an earlier hop"
)

// change is what one hop does to the documents: it writes one, or takes one out.
type change struct {
	apiVersion, kind, namespace, name string
	document                          map[string]any // nil for a document that is gone

	role    string   // the key of the role of a new binding
	self    string   // the principal that it names
	isNew   bool     // of a binding: nothing is replaced by it
	lends   *lending // of a new escalation
	members []string // of a container: the roles that it makes grant everything, the bindings that go
	text    string   // identifies it; empty before it is asked
}

func (c *change) key() string {
	if c.text == "" {
		c.text = statement.JSONText(c.written())
	}
	return c.text
}

func (c *change) metadata() map[string]any {
	meta := map[string]any{"name": c.name}
	if c.namespace != "" {
		meta["namespace"] = c.namespace
	}
	return meta
}

// written returns the document, or what identifies one that is gone.
func (c *change) written() map[string]any {
	out := map[string]any{"apiVersion": c.apiVersion, "kind": c.kind, "metadata": c.metadata()}
	maps.Copy(out, c.document)
	return out
}

// applied returns the documents that changes write, and what identifies those that they remove.
func applied(changes []change) (adds, removes []map[string]any) {
	for _, c := range changes {
		if c.document == nil {
			removes = append(removes, c.written())
		} else {
			adds = append(adds, c.written())
		}
	}
	return adds, removes
}

// with returns the tables of a revision after the change.
func (c *change) with(list tables.List) tables.List {
	out := slices.Clone(list)
	for i, table := range out {
		switch t := table.(type) {
		case *tables.Access:
			out[i] = c.withAccess(t)
		case *tables.Deny:
			if c.kind == kindDenyPolicy {
				left := *t
				left.Policies = slices.DeleteFunc(slices.Clone(t.Policies), func(p tables.DenyPolicy) bool { return p.Name == c.name })
				out[i] = &left
			}
		}
	}
	return out
}

func (c *change) withAccess(t *tables.Access) *tables.Access {
	out := *t
	family := tables.FamilyKubernetes
	if c.apiVersion == writVersion {
		family = tables.FamilyOrigin
	}
	switch c.kind {
	case kindRole, kindClusterRole:
		role := c.grantsEverything(family, c.name)
		out.Roles = t.Roles.With(map[string]*tables.Role{tables.RoleKey(family, c.namespace, c.name): role})
	case kindPolicy:
		roles := make(map[string]*tables.Role)
		for _, name := range c.members {
			roles[tables.RoleKey(family, c.namespace, name)] = c.grantsEverything(family, name)
		}
		out.Roles = t.Roles.With(roles)
	case kindPolicyBinding:
		left := t
		for _, name := range c.members {
			left = without(left, family, c.namespace, name)
		}
		if c.role == "" {
			return left
		}
		return c.bound(left, family, memberName)
	case kindRoleBinding, kindClusterRoleBinding:
		if c.document == nil {
			return without(t, family, c.namespace, c.name)
		}
		return c.bound(t, family, c.name)
	}
	return &out
}

// grantsEverything returns a role that grants everything.
func (c *change) grantsEverything(family, name string) *tables.Role {
	role := tables.Role{Family: family, Kind: c.kind, Namespace: c.namespace, Name: name, Source: madeByHop}
	if family == tables.FamilyOrigin {
		role.Kind = kindRole
		role.Origin = []tables.OriginRule{{Source: madeByHop, Verbs: everything, Kinds: everything}}
	} else {
		role.Kubernetes = []tables.KubernetesRule{
			{Source: madeByHop, KubernetesLists: &tables.KubernetesLists{Verbs: everything, Groups: everything, Resources: everything}}}
		if c.kind == kindClusterRole {
			role.Kubernetes = append(role.Kubernetes,
				tables.KubernetesRule{Rule: 1, Source: madeByHop, KubernetesLists: &tables.KubernetesLists{Verbs: everything, Paths: everything}})
		}
	}
	return &role
}

// bound returns the tables with the binding of a change.
func (c *change) bound(t *tables.Access, family, name string) *tables.Access {
	b := tables.Binding{Family: family, APIVersion: c.apiVersion, Kind: c.kind, Namespace: c.namespace, Name: name, Role: c.role, Source: madeByHop,
		Cluster: c.kind == kindClusterRoleBinding || family == tables.FamilyOrigin && c.namespace == t.Master}
	if c.kind == kindPolicyBinding {
		b.Kind = kindRoleBinding
	}
	out, key := *t, tables.BindingKey(family, c.namespace, name)
	out.Bindings = t.Bindings.With(map[string]*tables.Binding{key: &b})
	if b.Cluster {
		out.Subjects.Cluster = named(t.Subjects.Cluster, key, c.self)
	} else {
		there := named(t.Subjects.Namespaces.At(c.namespace), key, c.self)
		out.Subjects.Namespaces = t.Subjects.Namespaces.With(map[string]*tables.Map[[]string]{c.namespace: &there})
	}
	return &out
}

// without returns the tables without a binding.
func without(t *tables.Access, family, namespace, name string) *tables.Access {
	left := *t
	key := tables.BindingKey(family, namespace, name)
	left.Bindings = t.Bindings.With(map[string]*tables.Binding{key: nil})
	left.Subjects.Cluster = unnamed(t.Subjects.Cluster, key)
	if namespace != "" {
		there := unnamed(t.Subjects.Namespaces.At(namespace), key)
		left.Subjects.Namespaces = t.Subjects.Namespaces.With(map[string]*tables.Map[[]string]{namespace: &there})
	}
	return &left
}

// unnamed returns subjects that a binding does not name.
func unnamed(subjects tables.Map[[]string], key string) tables.Map[[]string] {
	changed := make(map[string]*[]string)
	for subject, keys := range subjects.All() {
		if slices.Contains(*keys, key) {
			left := slices.DeleteFunc(slices.Clone(*keys), func(k string) bool { return k == key })
			if changed[subject] = &left; len(left) == 0 {
				changed[subject] = nil
			}
		}
	}
	return subjects.With(changed)
}

// named returns subjects of which one alone is named by a binding.
func named(subjects tables.Map[[]string], key, self string) tables.Map[[]string] {
	left := unnamed(subjects, key)
	own := tables.Entries(append(slices.Clone(left.At(self)), key))
	return left.With(map[string]*[]string{self: &own})
}

var everything = []string{"*"}

// everyRule returns the rules of a role of Kubernetes that grants everything. One of a namespace
// cannot have paths.
func everyRule(kind string) []any {
	rules := []any{map[string]any{"verbs": everything, "apiGroups": everything, "resources": everything}}
	if kind == kindClusterRole {
		rules = append(rules, map[string]any{"verbs": everything, "nonResourceURLs": everything})
	}
	return rules
}

// newRole returns a change that writes a role which grants everything.
func newRole(kind, namespace, name string) change {
	if kind == "" {
		return change{apiVersion: writVersion, kind: kindRole, namespace: namespace, name: name,
			document: map[string]any{"rules": []any{map[string]any{"verbs": everything, "resourceKinds": everything}}}}
	}
	return change{apiVersion: rbacVersion, kind: kind, namespace: namespace, name: name, document: map[string]any{"rules": everyRule(kind)}}
}

// newBinding returns a change that binds a role to a principal.
func newBinding(role *tables.Role, namespace, name, self string) change {
	principal, isUser := strings.CutPrefix(self, statement.UserPrefix)
	principal = strings.TrimPrefix(principal, statement.GroupPrefix)
	c := change{apiVersion: rbacVersion, kind: kindClusterRoleBinding, namespace: namespace, name: name, self: self, role: tables.RoleKey(role.Family, role.Namespace, role.Name)}
	if namespace != "" {
		c.kind = kindRoleBinding
	}
	if role.Family == tables.FamilyOrigin {
		c.apiVersion = writVersion
		c.document = map[string]any{"roleRef": map[string]any{"namespace": role.Namespace, "name": role.Name}}
		if isUser {
			c.document["userNames"] = []string{principal}
		} else {
			c.document["groupNames"] = []string{principal}
		}
		return c
	}
	subject := map[string]any{"kind": "Group", "apiGroup": rbacGroup, "name": principal}
	if account, isAccount := accountOf(principal); isUser && isAccount {
		at, of, _ := strings.Cut(account, ":")
		subject = map[string]any{"kind": "ServiceAccount", "namespace": at, "name": of}
	} else if isUser {
		subject["kind"] = "User"
	}
	c.document = map[string]any{
		"roleRef":  map[string]any{"apiGroup": rbacGroup, "kind": role.Kind, "name": role.Name},
		"subjects": []any{subject},
	}
	return c
}

// grantsAll reports whether a role allows everything and denies nothing.
func grantsAll(r *tables.Role) bool {
	if r.Family == tables.FamilyOrigin {
		all := false
		for _, o := range r.Origin {
			if o.Deny {
				return false
			}
			all = all || slices.Contains(o.Verbs, "*") && slices.Contains(o.Kinds, "*") && len(o.NotVerbs)+len(o.NotKinds) == 0 && o.Restrictions == nil
		}
		return all
	}
	return slices.ContainsFunc(r.Kubernetes, func(k tables.KubernetesRule) bool {
		return slices.Contains(k.Verbs, "*") && slices.Contains(k.Groups, "*") && slices.Contains(k.Resources, "*") && len(k.Names) == 0
	})
}

// after returns the world that a change leads to, nil if that would be one change too many.
// Changes count as a set.
func (g *graph) after(w *world, c change) *world {
	changes := slices.DeleteFunc(slices.Clone(w.changes), func(o change) bool {
		return o.apiVersion == c.apiVersion && o.kind == c.kind && o.namespace == c.namespace && o.name == c.name
	})
	c.key()
	changes = append(changes, c)
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.key(), b.key()) })
	if len(changes) > g.o.MaxChanges {
		return nil
	}
	key := keyOf(changes)
	if known := g.worlds[key]; known != nil {
		return known
	}
	next := newWorld(statement.NewWorld(tables.Revision{Tables: c.with(w.Revision.Tables), Modules: w.Revision.Modules}), g.o, w.memory, changes)
	g.worlds[key] = next
	return next
}

// seenBy returns the world without what does not concern an identity, nil for a set of them:
// without the bindings that other users made for themselves alone.
func (g *graph) seenBy(i *Identity, w *world) *world {
	left := slices.DeleteFunc(slices.Clone(w.changes), func(c change) bool { return c.isOwn() && (i == nil || !c.isFor(i)) })
	if len(left) == len(w.changes) {
		return w
	}
	out := g.worlds[""]
	for _, c := range left {
		out = g.after(out, c)
	}
	return out
}

// isOwn reports whether a change is a new binding of a user to itself: it grants nothing to
// others, and takes nothing from them.
func (c *change) isOwn() bool { return c.isNew && strings.HasPrefix(c.self, statement.UserPrefix) }

// isFor reports whether what an identity may do depends on a binding of a user to itself.
func (c *change) isFor(i *Identity) bool {
	return c.self == statement.UserPrefix+i.User || i.Acting != nil && i.Acting.Mode != legacy && c.isFor(i.Acting.By)
}

// ownPlace returns the namespace in which an identity bound a role to itself, empty for none.
func (n *node) ownPlace() string {
	for _, c := range n.world.changes {
		if c.isOwn() && c.isFor(n.identity) && c.namespace != "" && (c.apiVersion != writVersion || c.namespace != n.world.Access.Master) {
			return c.namespace
		}
	}
	return ""
}

// parse reads a request and the principals that it holds.
func parse(request []byte) (object map[string]any, principals []string, err error) {
	if err := json.Unmarshal(request, &object); err != nil {
		return nil, nil, err
	}
	user, _ := object["user"].(string)
	var groups []string
	list, _ := object["groups"].([]any)
	for _, group := range list {
		text, _ := group.(string)
		groups = append(groups, text)
	}
	return object, statement.Principals(user, groups), nil
}
