package access

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
)

const (
	kindRole        = "Role"
	kindClusterRole = "ClusterRole"
)

// kubernetes resolves the references of Kubernetes documents.
func (r *resolver) kubernetes() {
	r.out.KubernetesBindings = follow(r.kubernetesBindings, r.before.KubernetesBindings,
		func(b ResolvedKubernetesBinding) *KubernetesBinding { return b.Document },
		func(b *KubernetesBinding) (ResolvedKubernetesBinding, bool) {
			role := r.kubernetesRole(b)
			return ResolvedKubernetesBinding{b, role}, role != nil
		})
	r.effectiveRoles()
	r.countBound()
	r.unbound = slices.Clone(r.kept.unbound)
}

// keptKubernetes is what one directory keeps of its roles for the next, which has the same roles.
// Without roles it is nothing.
type keptKubernetes struct {
	roles []ResolvedKubernetesRole
	// aggregated are the roles that selectors match, and added what was said about selectors.
	aggregated map[*KubernetesRole]bool
	added      directory.Added
	// bound is how many bindings name each role. Directories change it one after another.
	bound map[*KubernetesRole]int
	// unbound are the roles that neither a binding names nor a selector matches.
	unbound []*syntax.Header
}

// effectiveRoles resolves the rules of roles, unless they are those of the last directory.
func (r *resolver) effectiveRoles() {
	if r.kept.roles != nil {
		r.out.KubernetesRoles = r.kept.roles
		r.AddAgain(r.kept.added)
		return
	}
	before := r.Mark()
	r.kept.aggregated = make(map[*KubernetesRole]bool)
	effective := r.aggregate(r.kept.aggregated)
	r.kept.added = r.AddedSince(before)
	r.kept.roles = make([]ResolvedKubernetesRole, 0, len(r.kubernetesRoles))
	for _, role := range r.kubernetesRoles {
		rules := role.Rules
		if role.Aggregation != nil {
			rules = effective[role]
		}
		r.kept.roles = append(r.kept.roles, ResolvedKubernetesRole{role, rules})
	}
	r.out.KubernetesRoles = r.kept.roles
}

// countBound counts the bindings of each role, and finds the roles without one if there are
// others than in the last directory.
func (r *resolver) countBound() {
	isKept := r.kept.bound != nil
	if !isKept {
		r.kept.bound = make(map[*KubernetesRole]int, len(r.kubernetesRoles))
	}
	gone, come := directory.Changes(r.before.KubernetesBindings, r.out.KubernetesBindings,
		func(a, b ResolvedKubernetesBinding) bool { return a == b })
	touched := make(map[*KubernetesRole]int) // roles, with their bindings before
	for i, b := range slices.Concat(gone, come) {
		if _, found := touched[b.Role]; !found {
			touched[b.Role] = r.kept.bound[b.Role]
		}
		if r.kept.bound[b.Role]--; i >= len(gone) {
			r.kept.bound[b.Role] += 2
		}
	}
	for role, before := range touched {
		isKept = isKept && (before > 0) == (r.kept.bound[role] > 0)
	}
	if isKept {
		return
	}
	r.kept.unbound = nil
	for _, role := range r.kubernetesRoles {
		if r.kept.bound[role] == 0 && !r.kept.aggregated[role] {
			r.kept.unbound = unused(r.kept.unbound, &role.Header)
		}
	}
}

// kubernetesRole returns the role that a binding names. If no document defines it, it
// reports that and returns nil.
func (r *resolver) kubernetesRole(b *KubernetesBinding) *KubernetesRole {
	id := b.role()
	if role, ok := r.Find(id).(*KubernetesRole); ok {
		return role
	}
	if r.IsUndecoded(b.RoleName.At, id.Kind, id.Name) {
		return nil
	}
	const hint = "declare it in this directory; --bootstrap-roles kubernetes adds the roles that every API server has, " +
		"--cluster-export ignores the binding, as a cluster does"
	d := b.RoleName.Diagnostic(b.DanglingSeverity(), diag.DanglingRole, hint, "%s %q is not declared", id.Kind, id.Name)
	if id.Kind == kindRole {
		d.Message = fmt.Sprintf("Role %q is not declared in namespace %q", id.Name, id.Namespace)
	}
	if other := r.Find(otherKind(id)); other != nil {
		d.Hint = fmt.Sprintf("there is a %s of that name: write kind: %[1]s", other.Meta().Kind)
		d.Related = directory.Related(other.Meta())
	} else if close := directory.Near(r.Directory, id.Name, r.kubernetesRoles, func(h *syntax.Header) bool {
		return h.Kind == id.Kind && h.Namespace == id.Namespace
	}); close != nil {
		d.Hint = fmt.Sprintf("did you mean %q?", close.Name)
		d.Related = directory.Related(close)
	}
	r.List.Add(d)
	return nil
}

// otherKind returns the identity of the ClusterRole with the name of a missing Role. The
// reverse is not suggested, because a ClusterRoleBinding cannot refer to a Role.
func otherKind(id directory.Identity) directory.Identity {
	return directory.Identity{Family: id.Family, Kind: kindClusterRole, Namespace: "", Name: id.Name}
}

// role identifies the role that the binding names. A Role must be in its namespace.
func (b *KubernetesBinding) role() directory.Identity {
	id := directory.Identity{Family: FamilyKubernetes, Kind: b.RoleKind, Namespace: b.Namespace, Name: b.RoleName.Value}
	if b.RoleKind == kindClusterRole {
		id.Namespace = ""
	}
	return id
}
