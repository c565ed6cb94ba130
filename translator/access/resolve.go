package access

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
)

// Resolved holds the roles and bindings of a directory with their references resolved.
// All lists are in the order of positions. If the directory has errors, documents whose
// references cannot be resolved are missing.
type Resolved struct {
	Master, Cluster    string
	ImpliedGroups      string
	Partial            bool // some document could not be read
	KubernetesRoles    []ResolvedKubernetesRole
	KubernetesBindings []ResolvedKubernetesBinding
	OriginRoles        []*OriginRole
	OriginBindings     []ResolvedOriginBinding
	// Extensions are the modules that rules may refer to.
	Extensions []*extension.Extension
}

// ResolvedKubernetesRole is a role with its effective rules.
type ResolvedKubernetesRole struct {
	Document *KubernetesRole
	// Rules are those of the document, or of the roles that it aggregates.
	Rules []KubernetesRule
}

// ResolvedKubernetesBinding is a binding with the role it names.
type ResolvedKubernetesBinding struct {
	Document *KubernetesBinding
	Role     *KubernetesRole
}

// Meta returns the header of the document.
func (r ResolvedKubernetesRole) Meta() *syntax.Header { return r.Document.Meta() }

// Meta returns the header of the document.
func (b ResolvedKubernetesBinding) Meta() *syntax.Header { return b.Document.Meta() }

// Meta returns the header of the document.
func (b ResolvedOriginBinding) Meta() *syntax.Header { return b.Document.Meta() }

// ResolvedOriginBinding is a binding with the role it names.
type ResolvedOriginBinding struct {
	Document *OriginBinding
	Role     *OriginRole
}

// references resolves references and reuses the results of the last directory. The
// result does not depend on earlier directories. The zero value has resolved nothing. It
// is not safe for concurrent use.
type references struct {
	good *Resolved      // of the last directory, if it had no errors
	kept keptKubernetes // of good
}

// resolve resolves the references of roles and bindings.
func (s *references) resolve(d *directory.Directory) *Resolved {
	r := &resolver{
		Directory: d,
		out: &Resolved{
			Master: d.Master, Cluster: d.Cluster, ImpliedGroups: d.ImpliedGroups, Partial: d.Partial,
			OriginRoles: directory.DocumentsOf[*OriginRole](d), Extensions: directory.DocumentsOf[*extension.Extension](d),
		},
		before:             new(Resolved),
		kubernetesRoles:    directory.DocumentsOf[*KubernetesRole](d),
		kubernetesBindings: directory.DocumentsOf[*KubernetesBinding](d),
		originBindings:     directory.DocumentsOf[*OriginBinding](d),
		originContainers:   directory.DocumentsOf[*OriginPolicyBinding](d),
		originPolicies:     make(map[string]*originPolicy),
	}
	if s.good != nil && s.good.Partial == d.Partial && !slices.ContainsFunc(d.Changed, isReferredTo) {
		r.before, r.kept = s.good, s.kept
	}
	s.good, s.kept = nil, keptKubernetes{}
	for _, policy := range directory.DocumentsOf[*originPolicy](d) {
		r.claimPolicy(policy)
	}
	r.kubernetes()
	r.origin()
	r.extensionReferences()
	r.reportUnused()
	if !d.List.HasErrors() {
		s.good, s.kept = r.out, r.kept
	}
	return r.out
}

// isRead reports whether the access family reads the document.
func isRead(d syntax.Document) bool {
	switch d.(type) {
	case *KubernetesBinding, *OriginBinding, *extension.Extension:
		return true
	}
	return isReferredTo(d)
}

// resolver resolves the references of one directory.
type resolver struct {
	*directory.Directory
	out *Resolved
	// before holds the resolved bindings of the last directory that are still valid, and kept
	// what belongs to them.
	before *Resolved
	kept   keptKubernetes

	kubernetesRoles    []*KubernetesRole
	kubernetesBindings []*KubernetesBinding
	originBindings     []*OriginBinding
	originContainers   []*OriginPolicyBinding
	// originPolicies holds the Policy of each namespace.
	originPolicies map[string]*originPolicy
	// unbound are the roles without a binding, those that every API server makes left out.
	unbound []*syntax.Header
}

// isReferredTo reports whether a binding can refer to the document or require it.
func isReferredTo(d syntax.Document) bool {
	switch d.(type) {
	case *KubernetesRole, *OriginRole, *originPolicy, *OriginPolicyBinding:
		return true
	}
	return false
}

// follow resolves the references of bindings with lead. Bindings that are in before keep
// their earlier result. Both lists are in the order of positions.
func follow[B interface {
	comparable
	syntax.Document
}, F syntax.Document](bindings []B, before []F, of func(F) B, lead func(B) (F, bool)) []F {
	out := make([]F, 0, len(bindings))
	for _, b := range bindings {
		for len(before) > 0 && of(before[0]) != b && directory.ComparePositions(before[0], b) < 0 {
			before = before[1:]
		}
		if len(before) > 0 && of(before[0]) == b {
			out, before = append(out, before[0]), before[1:]
		} else if followed, ok := lead(b); ok {
			out = append(out, followed)
		}
	}
	return out
}

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
	// A ClusterRoleBinding cannot refer to a Role: the reverse is not suggested.
	clusterRole := directory.Identity{Family: id.Family, Kind: kindClusterRole, Name: id.Name}
	if other := r.Find(clusterRole); other != nil {
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

// role identifies the role that the binding names. A Role must be in its namespace.
func (b *KubernetesBinding) role() directory.Identity {
	id := directory.Identity{Family: FamilyKubernetes, Kind: b.RoleKind, Namespace: b.Namespace, Name: b.RoleName.Value}
	if b.RoleKind == kindClusterRole {
		id.Namespace = ""
	}
	return id
}

// claimPolicy records the Policy of a namespace and reports a second one. A Policy may
// have any name.
func (r *resolver) claimPolicy(p *originPolicy) {
	first, taken := r.originPolicies[p.Namespace]
	if !taken {
		r.originPolicies[p.Namespace] = p
		return
	}
	r.Duplicate(&p.Header, &first.Header, fmt.Sprintf(
		"namespace %q already has a Policy %q, so %q is a second one", p.Namespace, first.Name, p.Name))
}
