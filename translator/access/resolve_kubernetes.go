package access

import (
	"fmt"

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
	used := make(map[*KubernetesRole]bool, len(r.kubernetesRoles))
	for _, b := range r.out.KubernetesBindings {
		used[b.Role] = true
	}
	effective := r.aggregate(used)
	r.out.KubernetesRoles = make([]ResolvedKubernetesRole, 0, len(r.kubernetesRoles))
	for _, role := range r.kubernetesRoles {
		rules := role.Rules
		if role.Aggregated {
			rules = effective[role]
		}
		r.out.KubernetesRoles = append(r.out.KubernetesRoles, ResolvedKubernetesRole{role, rules})
		if !used[role] {
			r.unused(&role.Header)
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
