package access

import (
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/deny"
)

// The API versions of the families that grant.
const (
	OriginVersion     = "writ.dev/v1"
	KubernetesVersion = "rbac.authorization.k8s.io/v1"
)

// World is everything that all documents of a directory say.
type World struct {
	// Master is the name of the master namespace.
	Master             string
	OriginRoles        []*OriginRole
	OriginBindings     []*OriginBinding
	KubernetesRoles    []*KubernetesRole
	KubernetesBindings []*KubernetesBinding
	deny.Denials
	// Prefixes are put before the groups of sessions.
	Prefixes []string
	// Extensions are the restrictions that are written in Rego, in Go. The
	// result is true, false, nil (undefined) or anything else.
	Extensions map[string]func(r oracle.Request, params map[string]any) any

	Seed uint64
	// lists makes every request one that selectors may decide.
	lists bool
}

// OriginRole is a Role of writ.dev/v1, wherever it was written.
type OriginRole struct {
	Namespace, Name string
	Rules           []*OriginRule
}

// OriginRule is one rule, its entries as written.
type OriginRule struct {
	Deny         bool
	Verbs        []string
	Kinds        []string
	Restrictions *Restrictions
	Source       string
}

// Restrictions are attributeRestrictions; nil lists and an empty Kind say nothing.
type Restrictions struct {
	// Select are the entries of fieldsSelect.
	Select []string
	Fields []string
	Labels []string
	Kind   string
	Params map[string]any
}

// OriginBinding is a RoleBinding of writ.dev/v1, wherever it was written.
type OriginBinding struct {
	Namespace, Name         string
	RoleNamespace, RoleName string
	Users, Groups           []string
	Dates                   oracle.Dates
	Source                  string
}

// KubernetesRole is a Role (with a namespace) or a ClusterRole (without).
type KubernetesRole struct {
	Namespace, Name string
	Labels          map[string]string
	Rules           []*KubernetesRule
	// Selectors make the role an aggregated one where they are not nil.
	Selectors []oracle.Selector
}

// KubernetesRule is a PolicyRule.
type KubernetesRule struct {
	Verbs, APIGroups, Resources, ResourceNames, NonResourceURLs []string
	Source                                                      string
}

// KubernetesBinding is a RoleBinding (with a namespace) or a ClusterRoleBinding.
type KubernetesBinding struct {
	Namespace, Name string
	RoleKind        string
	RoleName        string
	Subjects        []Subject
	Dates           oracle.Dates
	Source          string
}

// Subject is a subject of a Kubernetes binding: User, Group or ServiceAccount.
type Subject struct {
	Kind, Namespace, Name string
}

// account is the user name of a service account subject of a binding.
func (s Subject) account(binding *KubernetesBinding) string {
	namespace := s.Namespace
	if namespace == "" {
		namespace = binding.Namespace
	}
	return "system:serviceaccount:" + namespace + ":" + s.Name
}

// isAccount reports whether a user name is spelt like a service account's.
func isAccount(user string) bool {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return false
	}
	namespace, name, ok := strings.Cut(rest, ":")
	return ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}
