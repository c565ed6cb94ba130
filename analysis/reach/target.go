package reach

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// The targets that are not subjects.
const (
	ClusterAdmin   = "cluster-admin"
	namespaceAdmin = "namespace-admin:"
	roleTarget     = "ROLE:"
	anything       = "any" // every identity that documents name
)

// goal is what a path leads to.
type goal struct {
	name      string
	principal string // of a subject
	namespace string // of a namespace's administrator
	role      string // the key of a role
}

// parseGoal reads a target.
func parseGoal(text string, access *tables.Access) (goal, error) {
	g := goal{name: text}
	switch {
	case text == ClusterAdmin:
	case strings.HasPrefix(text, namespaceAdmin) && len(text) > len(namespaceAdmin):
		g.namespace = strings.TrimPrefix(text, namespaceAdmin)
	case strings.HasPrefix(text, roleTarget):
		namespace, name, found := strings.Cut(strings.TrimPrefix(text, roleTarget), "/")
		if !found {
			namespace, name = "", namespace
		}
		for _, family := range []string{tables.FamilyKubernetes, tables.FamilyOrigin} {
			if key := tables.RoleKey(family, namespace, name); access.Roles.Has(key) {
				g.role = key
			}
		}
		if g.role == "" {
			return g, &InputError{"to", fmt.Sprintf("role %q not found", strings.TrimPrefix(text, roleTarget))}
		}
		if role := access.Roles.At(g.role); len(sharesOf(&role, "", "")) == 0 { // or everybody held it
			return g, &InputError{"to", fmt.Sprintf("role %q grants nothing (%s)", strings.TrimPrefix(text, roleTarget), role.Source)}
		}
	case isPrincipal(text):
		g.principal = text
	default:
		return g, &InputError{"to", fmt.Sprintf("target %q: must be user:NAME, group:NAME, %s, %sNAMESPACE, %s[NAMESPACE/]NAME or %s", text, ClusterAdmin, namespaceAdmin, roleTarget, anything)}
	}
	return g, nil
}

func isPrincipal(text string) bool {
	for _, prefix := range []string{statement.UserPrefix, statement.GroupPrefix} {
		if strings.HasPrefix(text, prefix) && len(text) > len(prefix) {
			return true
		}
	}
	return false
}

// reached reports whether a node is at the goal with certainty.
func (g *goal) reached(n *node) bool {
	i := n.identity
	switch {
	case i == nil:
		return false
	case g.principal != "":
		return !i.sink && i.holds(g.principal)
	case g.role != "":
		class, _ := n.world.holdsRole(i, g.role)
		return class == Certain
	case i.sink || i.holds(statement.GroupPrefix+masters):
		return true
	}
	return n.mayAdminister(g.namespace) && n.administers(g.namespace)
}

// classAt returns how certain it is that a node is at the goal, and on what it depends if that is
// possible.
func (g *goal) classAt(n *node) (class Class, why []string) {
	switch {
	case g.role != "" && n.identity != nil:
		return n.world.holdsRole(n.identity, g.role)
	case g.reached(n):
		return Certain, nil
	}
	return never, nil
}

// administers reports whether a node is allowed everything in a namespace, or in the cluster.
func (n *node) administers(namespace string) bool {
	if n.isAdmin == nil {
		n.isAdmin = make(map[string]bool)
	}
	is, known := n.isAdmin[namespace]
	if !known {
		g := goal{namespace: namespace}
		is = n.world.isAllowed(n.identity, g.request())
		n.isAdmin[namespace] = is
	}
	return is
}

// request is the request of an administrator, nil for another goal.
func (g *goal) request() map[string]any {
	if g.principal != "" || g.role != "" {
		return nil
	}
	return target{verb: "*", group: "*", resource: "*", namespace: g.namespace}.object()
}

// mayAdminister reports whether a statement may allow a node everything in a namespace, or in
// the cluster.
func (n *node) mayAdminister(namespace string) bool {
	if n.world.sealed && len(n.world.Sessions().Of(statement.UserPrefix+n.identity.User)) > 0 {
		return true // a session may lend it
	}
	if n.admin == nil {
		n.admin = make(map[string]bool)
		everything := n.world.shape(target{verb: "*", group: "*", resource: "*"})
		for _, s := range n.world.held(n.identity) {
			if s.Effect == statement.OutcomeAllow && everything.mayFit(s) {
				n.admin[s.Namespace] = true
			}
		}
	}
	return n.admin[""] || n.admin[namespace]
}

// isAllowed reports whether an identity is allowed a request without facts that are not stated. Where an
// expression or a session may decide, the documents do; if they cannot, statements.
func (w *world) isAllowed(i *Identity, object map[string]any) bool {
	if i.sink {
		return true
	}
	for _, r := range i.checked(merged(w.o.Stated, object)) {
		found, exact := w.decisive(r, principalsOf(r))
		isAllowed := found != nil && found.Effect == statement.OutcomeAllow
		if !exact || w.sealed {
			v, err := w.decide(context.Background(), statement.PointAccess, statement.Encode(r)) // one decision is short
			isAllowed = err == nil && v.Outcome == statement.OutcomeAllow || err != nil && isAllowed
		}
		if !isAllowed {
			return false
		}
	}
	return true
}

// principalsOf returns what a request of an identity holds.
func principalsOf(r map[string]any) []string {
	groups, _ := r["groups"].([]string)
	user, _ := r["user"].(string)
	return statement.Principals(user, groups)
}
