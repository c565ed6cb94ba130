package resolve

import (
	"fmt"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

const (
	kindRole        = "Role"
	kindClusterRole = "ClusterRole"
)

// kubernetes follows the references of Kubernetes documents.
func (r *accessResolver) kubernetes() {
	r.out.KubernetesBindings = follow(r.kubernetesBindings, r.before.KubernetesBindings,
		func(b KubernetesBinding) *access.KubernetesBinding { return b.Document },
		func(b *access.KubernetesBinding) (KubernetesBinding, bool) {
			role := r.kubernetesRole(b)
			return KubernetesBinding{b, role}, role != nil
		})
	used := make(map[*access.KubernetesRole]bool, len(r.kubernetesRoles))
	for _, b := range r.out.KubernetesBindings {
		used[b.Role] = true
	}
	effective := r.aggregate(used)
	r.out.KubernetesRoles = make([]KubernetesRole, 0, len(r.kubernetesRoles))
	for _, role := range r.kubernetesRoles {
		rules := role.Rules
		if role.Aggregated {
			rules = effective[role]
		}
		r.out.KubernetesRoles = append(r.out.KubernetesRoles, KubernetesRole{role, rules})
		if !used[role] {
			r.unused(&role.Header)
		}
	}
}

// kubernetesRole is the role a binding names, nil with a diagnostic where no
// document defines it. A Role is looked for in the binding's namespace.
func (r *accessResolver) kubernetesRole(b *access.KubernetesBinding) *access.KubernetesRole {
	id := identity{access.FamilyKubernetes, b.RoleKind, b.Namespace, b.RoleName.Value}
	if b.RoleKind == kindClusterRole {
		id.namespace = ""
	}
	if role, ok := r.find(id).(*access.KubernetesRole); ok {
		return role
	}
	d := diag.Diagnostic{
		Position: b.RoleName.At,
		Length:   len([]rune(b.RoleName.Value)),
		Code:     diag.DanglingRole,
		Message:  fmt.Sprintf("%s %q is not declared", id.kind, id.name),
		Hint:     "declare it in this directory: a bootstrap role of the cluster counts only where its document is here",
	}
	if id.kind == kindRole {
		d.Message = fmt.Sprintf("Role %q is not declared in namespace %q", id.name, id.namespace)
	}
	if other := r.find(otherKind(id)); other != nil {
		d.Hint = fmt.Sprintf("there is a %s of that name: write kind: %[1]s", other.Meta().Kind)
		d.Related = related(other.Meta())
	} else if close := near(r.directory, id.name, r.kubernetesRoles, func(h *syntax.Header) bool {
		return h.Kind == id.kind && h.Namespace == id.namespace
	}); close != nil {
		d.Hint = fmt.Sprintf("did you mean %q?", close.Name)
		d.Related = related(close)
	}
	r.list.Add(d)
	return nil
}

// otherKind is the ClusterRole of a missing Role's name. A ClusterRoleBinding
// cannot name a Role, so the way back is not offered.
func otherKind(id identity) identity {
	return identity{id.family, kindClusterRole, "", id.name}
}

func related(h *syntax.Header) []diag.Related {
	return []diag.Related{{Position: h.NameAt, Message: fmt.Sprintf("%s is declared here", title(h))}}
}

func (r *accessResolver) unused(h *syntax.Header) {
	if r.partial {
		return
	}
	r.list.Add(diag.Diagnostic{
		Position: h.At,
		Severity: diag.Warning,
		Code:     diag.UnboundRole,
		Message:  title(h) + " is bound by nobody",
		Hint:     "bind it or remove it",
	})
}
