package resolve

import (
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
)

// AccessResolved is the roles and bindings of a directory with their references
// followed. All lists are in the order of positions. Where the directory has errors,
// it is what could be followed.
type AccessResolved struct {
	Master             string
	Partial            bool // some document could not be read
	KubernetesRoles    []KubernetesRole
	KubernetesBindings []KubernetesBinding
	OriginRoles        []*access.OriginRole
	OriginBindings     []OriginBinding
	// Extensions are the modules that rules may refer to.
	Extensions []*extension.Extension
}

// KubernetesRole is a role with its effective rules.
type KubernetesRole struct {
	Document *access.KubernetesRole
	// Rules are the document's own, or those of the roles it aggregates.
	Rules []access.KubernetesRule
}

// KubernetesBinding is a binding with the role it names.
type KubernetesBinding struct {
	Document *access.KubernetesBinding
	Role     *access.KubernetesRole
}

// Meta is the document's.
func (r KubernetesRole) Meta() *syntax.Header { return r.Document.Meta() }

// Meta is the document's.
func (b KubernetesBinding) Meta() *syntax.Header { return b.Document.Meta() }

// Meta is the document's.
func (b OriginBinding) Meta() *syntax.Header { return b.Document.Meta() }

// OriginBinding is a binding with the role it names.
type OriginBinding struct {
	Document *access.OriginBinding
	Role     *access.OriginRole
}

// AccessResolver follows references time and again, most of which it has followed
// before. What comes out does not depend on that. The zero value has seen nothing. It
// is not safe for concurrent use.
type AccessResolver struct {
	good *AccessResolved // of the last directory, if it had no errors
}

// Resolve follows the references of roles and bindings.
func (s *AccessResolver) Resolve(d *directory) *AccessResolved {
	r := &accessResolver{
		directory: d,
		out: &AccessResolved{
			Master: d.master, Partial: d.partial,
			OriginRoles: documentsOf[*access.OriginRole](d), Extensions: documentsOf[*extension.Extension](d),
		},
		before:             new(AccessResolved),
		kubernetesRoles:    documentsOf[*access.KubernetesRole](d),
		kubernetesBindings: documentsOf[*access.KubernetesBinding](d),
		originBindings:     documentsOf[*access.OriginBinding](d),
		originContainers:   documentsOf[*access.OriginPolicyBinding](d),
		originPolicies:     make(map[string]*access.OriginPolicy),
	}
	if s.good != nil && !slices.ContainsFunc(d.changed, isReferredTo) {
		r.before = s.good
	}
	s.good = nil
	for _, policy := range documentsOf[*access.OriginPolicy](d) {
		r.claimPolicy(policy)
	}
	r.kubernetes()
	r.origin()
	r.extensionReferences()
	if !d.list.HasErrors() {
		s.good = r.out
	}
	return r.out
}

// accessResolver is the state of following the references of one directory.
type accessResolver struct {
	*directory
	out *AccessResolved
	// before is what bindings led to before, as far as they still do.
	before *AccessResolved

	kubernetesRoles    []*access.KubernetesRole
	kubernetesBindings []*access.KubernetesBinding
	originBindings     []*access.OriginBinding
	originContainers   []*access.OriginPolicyBinding
	// originPolicies holds the Policy of each namespace.
	originPolicies map[string]*access.OriginPolicy
}

// isReferredTo reports whether a binding may be followed to the document, or is wrong
// without it.
func isReferredTo(d syntax.Document) bool {
	switch d.(type) {
	case *access.KubernetesRole, *access.OriginRole, *access.OriginPolicy, *access.OriginPolicyBinding:
		return true
	}
	return false
}

// follow follows the references of bindings. Those that were followed before lead
// where they led.
func follow[B interface {
	comparable
	syntax.Document
}, F syntax.Document](bindings []B, before []F, of func(F) B, lead func(B) (F, bool)) []F {
	out := make([]F, 0, len(bindings))
	for _, b := range bindings {
		for len(before) > 0 && of(before[0]) != b && comparePositions(before[0], b) < 0 {
			before = before[1:]
		}
		if len(before) > 0 && of(before[0]) == b {
			out = append(out, before[0])
		} else if followed, ok := lead(b); ok {
			out = append(out, followed)
		}
	}
	return out
}

// claimPolicy takes a namespace for its Policy: the container may have any name,
// but there is one.
func (r *accessResolver) claimPolicy(p *access.OriginPolicy) {
	first, taken := r.originPolicies[p.Namespace]
	if !taken {
		r.originPolicies[p.Namespace] = p
		return
	}
	r.duplicate(&p.Header, &first.Header, fmt.Sprintf(
		"namespace %q already has a Policy %q, so there is no room for %q", p.Namespace, first.Name, p.Name))
}
