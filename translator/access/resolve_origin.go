package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
)

// origin resolves the references of Origin documents and checks that the required
// containers exist. References to the master namespace require no container.
func (r *resolver) origin() {
	r.originPolicyBindings()
	r.out.OriginBindings = follow(r.originBindings, r.before.OriginBindings,
		func(b ResolvedOriginBinding) *OriginBinding { return b.Document },
		func(b *OriginBinding) (ResolvedOriginBinding, bool) {
			role := r.originRole(b)
			return ResolvedOriginBinding{b, role}, role != nil
		})
	used := make(map[*OriginRole]bool, len(r.out.OriginRoles))
	for _, b := range r.out.OriginBindings {
		used[b.Role] = true
	}
	for _, role := range r.out.OriginRoles {
		if role.Namespace != r.Master && r.originPolicies[role.Namespace] == nil {
			r.missingContainer(&role.Header, diag.NoPolicy,
				fmt.Sprintf("Role %q needs a Policy in namespace %q, which is not declared", role.Name, role.Namespace),
				fmt.Sprintf("add a writ.dev/v1 Policy to namespace %q, with any name", role.Namespace))
		}
		if !used[role] {
			r.unbound = unused(r.unbound, &role.Header)
		}
	}
}

// originPolicyBindings checks the containers of bindings. A PolicyBinding has the name of
// the namespace whose Policy it refers to.
func (r *resolver) originPolicyBindings() {
	for _, c := range r.originContainers {
		name := syntax.Text{Value: c.Name, At: c.NameAt}
		switch {
		case c.RefNamespace.Value != "" && c.RefNamespace.Value != c.Name:
			d := name.Diagnostic(diag.Error, diag.PolicyBindingName, fmt.Sprintf("name it %q", c.RefNamespace.Value),
				"PolicyBinding %q is for the Policy of namespace %q by its name, but its policyRef names %q", c.Name, c.Name, c.RefNamespace.Value)
			d.Related = []diag.Related{{Position: c.RefNamespace.At, Message: "policyRef is here"}}
			r.List.Add(d)
		case c.Name != c.Namespace && c.Name != r.Master:
			r.List.Add(name.Diagnostic(diag.Error, diag.ForeignReference, fmt.Sprintf("name it %q or %q", c.Namespace, r.Master),
				"PolicyBinding %q in namespace %q points to a namespace that is neither its own nor %q", c.Name, c.Namespace, r.Master))
		case c.Name != r.Master && r.originPolicies[c.Name] == nil:
			r.missingContainer(&c.Header, diag.NoPolicy,
				fmt.Sprintf("PolicyBinding %q needs a Policy in namespace %q, which is not declared", c.Name, c.Namespace),
				fmt.Sprintf("add a writ.dev/v1 Policy to namespace %q, with any name", c.Namespace))
		default:
			r.policyRefName(c)
		}
	}
}

// policyRefName checks that a policyRef has the name of the Policy. The Policy of the
// master namespace may be absent; then any name is valid.
func (r *resolver) policyRefName(c *OriginPolicyBinding) {
	policy := r.originPolicies[c.Name]
	if c.RefName.Value == "" || policy == nil || policy.Name == c.RefName.Value {
		return
	}
	d := c.RefName.Diagnostic(diag.Error, diag.PolicyBindingName, fmt.Sprintf("write name: %s, or leave it out", policy.Name),
		"the Policy of namespace %q is not named %q but %q", c.Name, c.RefName.Value, policy.Name)
	d.Related = []diag.Related{{Position: policy.NameAt, Message: "the Policy is declared here"}}
	r.List.Add(d)
}

// originRole returns the role that a binding names. If the reference cannot be resolved,
// it reports that and returns nil.
func (r *resolver) originRole(b *OriginBinding) *OriginRole {
	id := b.role(r.Master)
	if !r.mayRefer(b, id.Namespace) {
		return nil
	}
	if id.Namespace != r.Master {
		r.needPolicyBinding(b)
	}
	if role, ok := r.Find(id).(*OriginRole); ok {
		return role
	}
	r.danglingOriginRole(b, id)
	return nil
}

// mayRefer reports whether a binding may refer to a role of the namespace: its own
// namespace or the master namespace and, inside a container, only the namespace of the
// container. It reports other namespaces as errors.
func (r *resolver) mayRefer(b *OriginBinding, namespace string) bool {
	d := diag.Diagnostic{
		Position: b.RoleNamespaceAt,
		Code:     diag.ForeignReference,
	}
	switch {
	case namespace != b.Namespace && namespace != r.Master:
		d.Message = fmt.Sprintf("RoleBinding %q in namespace %q points to Role %q of namespace %q, which is neither its own nor %q",
			b.Name, b.Namespace, b.RoleName.Value, namespace, r.Master)
		d.Hint = fmt.Sprintf("declare the role in namespace %q", b.Namespace)
	case b.In != nil && namespace != b.In.Name && (b.In.Name == b.Namespace || b.In.Name == r.Master):
		d.Message = fmt.Sprintf("RoleBinding %q points to Role %q of namespace %q, but the PolicyBinding that holds it is for namespace %q",
			b.Name, b.RoleName.Value, namespace, b.In.Name)
		d.Hint = fmt.Sprintf("move it to the PolicyBinding %q", namespace)
		d.Related = []diag.Related{{Position: b.In.NameAt, Message: "the PolicyBinding is declared here"}}
	default:
		return true
	}
	r.List.Add(d)
	return false
}

// needPolicyBinding checks that the PolicyBinding exists that a binding to a role of its
// own namespace requires.
func (r *resolver) needPolicyBinding(b *OriginBinding) {
	if r.Find(directory.Identity{Family: familyOrigin, Kind: "PolicyBinding", Namespace: b.Namespace, Name: b.Namespace}) != nil {
		return
	}
	r.missingContainer(&b.Header, diag.NoPolicyBinding,
		fmt.Sprintf("RoleBinding %q needs a PolicyBinding %q in namespace %[2]q, which is not declared", b.Name, b.Namespace),
		fmt.Sprintf("add a writ.dev/v1 PolicyBinding named %q to namespace %[1]q", b.Namespace))
}

func (r *resolver) danglingOriginRole(b *OriginBinding, id directory.Identity) {
	if r.IsUndecoded(b.RoleName.At, id.Kind, id.Name) {
		return
	}
	hint := "declare it in this directory"
	if id.Namespace == r.Master {
		hint += "; --bootstrap-roles origin adds view, edit, admin and cluster-admin"
	}
	d := b.RoleName.Diagnostic(diag.Error, diag.DanglingRole, hint,
		"Role %q is not declared in namespace %q", id.Name, id.Namespace)
	global := directory.Identity{Family: id.Family, Kind: id.Kind, Namespace: r.Master, Name: id.Name}
	if other := r.Find(global); other != nil && b.In == nil {
		d.Hint = fmt.Sprintf("there is one in namespace %q: write namespace: %[1]s in roleRef", r.Master)
		d.Related = directory.Related(other.Meta())
	} else if close := directory.Near(r.Directory, id.Name, r.out.OriginRoles, func(h *syntax.Header) bool {
		return h.Namespace == id.Namespace
	}); close != nil {
		d.Hint = fmt.Sprintf("did you mean %q?", close.Name)
		d.Related = directory.Related(close)
	}
	r.List.Add(d)
}

func (r *resolver) missingContainer(h *syntax.Header, code diag.Code, message, hint string) {
	r.List.Add(diag.Diagnostic{Position: h.At, Code: code, Message: message, Hint: hint})
}

// role identifies the role that the binding names.
func (b *OriginBinding) role(master string) directory.Identity {
	id := directory.Identity{Family: familyOrigin, Kind: kindRole, Namespace: b.RoleNamespace, Name: b.RoleName.Value}
	if b.Global {
		id.Namespace = master
	}
	return id
}

// extensionReferences checks that each kind of restriction that is not built in is an
// extension with a function holds.
func (r *resolver) extensionReferences() {
	declared := make(map[string]bool) // by name: whether holds takes two arguments
	for _, e := range r.out.Extensions {
		if strings.Contains(e.Name, ".") || strings.HasSuffix(e.Name, "_test") {
			continue // rules cannot refer to libraries and tests
		}
		declared[e.Name] = declared[e.Name] || definesHolds(e.Module)
	}
	for _, role := range r.out.OriginRoles {
		for i := range role.Rules {
			restrictions := role.Rules[i].Restrictions
			// Params is nil for built-in kinds and for kinds that decoding rejected.
			if restrictions != nil && restrictions.Params != nil {
				r.extensionReference(restrictions.Kind, declared)
			}
		}
	}
}

func (r *resolver) extensionReference(kind syntax.Text, declared map[string]bool) {
	holds, ok := declared[kind.Value]
	if holds {
		return
	}
	d := kind.Diagnostic(diag.Error, diag.UnknownRestriction, fmt.Sprintf("add a *.rego file with package writ.extensions.%s", kind.Value),
		"restriction %q is neither built in nor an extension of this directory", kind.Value)
	if ok {
		d.Message = fmt.Sprintf("package writ.extensions.%s has no function holds of two arguments", kind.Value)
		d.Hint = "define holds(request, params)"
	} else if r.MaySuggest() {
		d.Hint = diag.Meant(kind.Value, append(slices.Sorted(maps.Keys(declared)), extension.SameMinion), d.Hint)
	}
	r.List.Add(d)
}

// definesHolds reports whether a module defines holds(request, params).
func definesHolds(m *ast.Module) bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.Rules, func(rule *ast.Rule) bool {
		return len(rule.Head.Args) == 2 && rule.Head.Ref().Equal(ast.Ref{ast.VarTerm("holds")})
	})
}
