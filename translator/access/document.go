package access

import (
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// FamilyKubernetes is the family of roles and bindings of Kubernetes.
const FamilyKubernetes = "kubernetes"

// familyOrigin is the family of roles, bindings and containers of writ.dev/v1.
const familyOrigin = "origin"

// KubernetesRole is a Role or ClusterRole of rbac.authorization.k8s.io/v1.
type KubernetesRole struct {
	syntax.Header
	Labels map[string]string
	Rules  []KubernetesRule
	// Aggregation is the aggregationRule; nil without one.
	Aggregation *Aggregation
}

// Aggregation is an aggregationRule with its clusterRoleSelectors.
type Aggregation struct {
	At        diag.Position
	Selectors []syntax.Selector
}

// KubernetesRule is a PolicyRule as written.
type KubernetesRule struct {
	At diag.Position
	*tables.KubernetesLists
}

// KubernetesBinding is a RoleBinding or ClusterRoleBinding of
// rbac.authorization.k8s.io/v1.
type KubernetesBinding struct {
	syntax.Header
	// RoleKind is Role or ClusterRole.
	RoleKind string
	RoleName syntax.Text
	Users    []string // User subjects, and service accounts as system:serviceaccount:NS:NAME
	Groups   []string
	Dates    syntax.Dates
}

// OriginRole is a Role of writ.dev/v1, stand-alone or from a Policy.
type OriginRole struct {
	syntax.Header
	Rules []OriginRule
	in    *originPolicy // the Policy that contains the role, nil for a stand-alone one
}

// OriginRule is a rule as written. Verbs and kinds are in lower case, and entries with a
// leading "-" are in the Not lists without it.
type OriginRule struct {
	At           diag.Position
	Deny         bool
	Verbs        []string
	NotVerbs     []string
	Kinds        []string
	NotKinds     []string
	Restrictions *Restrictions // nil if the rule has none
}

// Restrictions are decoded attributeRestrictions.
type Restrictions struct {
	At     diag.Position
	Fields []string      // full paths from the root of the object; nil: none
	Labels []syntax.Text // entries of labelsContain as written; nil: none
	Select []syntax.Text // entries of fieldsSelect as written; nil: none
	// Kind is "", "sameMinionRestriction", "cel" or the name of an extension.
	Kind syntax.Text
	// Expression is the condition of cel, already checked.
	Expression syntax.Text
	Params     map[string]any // JSON values, numbers as json.Number; nil without an extension
	// ParamsAt is the position of each parameter's key.
	ParamsAt map[string]diag.Position
}

// OriginBinding is a RoleBinding of writ.dev/v1, stand-alone or from a
// PolicyBinding. Both forms of the role reference are decoded to the same fields.
type OriginBinding struct {
	syntax.Header
	// RoleNamespace is the namespace of the role; empty with Global, which means
	// the master namespace whatever it is called (referencesGlobalRole).
	RoleNamespace string
	Global        bool
	RoleName      syntax.Text
	// RoleNamespaceAt is the position of the namespace, of referencesGlobalRole, or
	// else of the role's name.
	RoleNamespaceAt diag.Position
	Users           []string
	Groups          []string
	Dates           syntax.Dates
	// In is the PolicyBinding that contains the binding, nil for a stand-alone one.
	In *OriginPolicyBinding
}

// originPolicy is a Policy, the container of a namespace's roles. Its roles are decoded to
// separate documents.
type originPolicy struct {
	syntax.Header
}

// OriginPolicyBinding is a PolicyBinding. Its bindings are decoded to separate documents.
type OriginPolicyBinding struct {
	syntax.Header
	// RefNamespace and RefName are of policyRef; their Value is empty if absent.
	RefNamespace syntax.Text
	RefName      syntax.Text
}
