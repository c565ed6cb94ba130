package document

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/diag"
)

// FamilyKubernetes is the family of roles and bindings of Kubernetes.
const FamilyKubernetes = "kubernetes"

// FamilyOrigin is the family of roles, bindings and containers of writ.dev/v1.
const FamilyOrigin = "origin"

// FamilyDenyPolicy is the family of deny policies and escalations.
const FamilyDenyPolicy = "denypolicy"

// FamilyVisibility is the family of monitoring policies and metric sources.
const FamilyVisibility = "visibility"

// FamilyGateway is the family of gateways, routes and the policies on them.
const FamilyGateway = "gateway"

// FamilyExtension is the family of Rego modules.
const FamilyExtension = "extension"

// FamilyDecisionTest is the family of decision tests.
const FamilyDecisionTest = "decisiontest"

// versionWrit is the API version of Origin documents and decision tests.
const versionWrit = "writ.dev/v1"

// Document is one decoded document. The concrete types are KubernetesRole,
// KubernetesBinding, OriginRole, OriginBinding, OriginPolicy,
// OriginPolicyBinding, DenyPolicy, BreakglassEscalation, MonitorAccessPolicy,
// MetricSource, Gateway, HTTPRoute, InheritedPolicy, Extension and DecisionTest,
// always as pointers.
type Document interface {
	Meta() *Header
}

// Header is what every document says of itself.
type Header struct {
	Family     string
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	// At is the kind line, where a document as a whole is reported.
	At diag.Position
	// NameAt and NamespaceAt are the values' positions, or At where missing.
	NameAt      diag.Position
	NamespaceAt diag.Position
}

// Meta returns the header itself, so that embedding it makes a Document.
func (h *Header) Meta() *Header { return h }

// Text is a string of a document with its position.
type Text struct {
	Value string
	At    diag.Position
}

// KubernetesRole is a Role or ClusterRole of rbac.authorization.k8s.io/v1.
type KubernetesRole struct {
	Header
	Labels map[string]string
	Rules  []KubernetesRule
	// Selectors are the clusterRoleSelectors; Aggregated says whether there is
	// an aggregationRule at all.
	Aggregated  bool
	Selectors   []Selector
	AggregateAt diag.Position
}

// KubernetesRule is a PolicyRule as written.
type KubernetesRule struct {
	At              diag.Position
	Verbs           []string
	APIGroups       []string
	Resources       []string
	ResourceNames   []string
	NonResourceURLs []string
}

// Selector is a label selector, all of whose requirements must hold.
type Selector struct {
	At           diag.Position
	Requirements []Requirement
}

// Requirement is one condition on a label: In, NotIn, Exists, DoesNotExist.
// matchLabels become In with one value.
type Requirement struct {
	Key      string
	Operator string
	Values   []string
}

// KubernetesBinding is a RoleBinding or ClusterRoleBinding of
// rbac.authorization.k8s.io/v1.
type KubernetesBinding struct {
	Header
	// RoleKind is Role or ClusterRole.
	RoleKind string
	RoleName Text
	Users    []string // User subjects, and service accounts as system:serviceaccount:NS:NAME
	Groups   []string
}

// OriginRole is a Role of writ.dev/v1, stand-alone or from a Policy.
type OriginRole struct {
	Header
	Rules []OriginRule
}

// OriginRule is a rule as written, entries folded: verbs and kinds in lower
// case, the leading "-" moved into Not lists. A restriction is decoded.
type OriginRule struct {
	At           diag.Position
	Deny         bool
	Verbs        []string
	NotVerbs     []string
	Kinds        []string
	NotKinds     []string
	Restrictions *Restrictions // nil where the rule has none
}

// Restrictions are decoded attributeRestrictions.
type Restrictions struct {
	At     diag.Position
	Fields []string // short first segments written out; nil: none
	Labels []Text   // entries as written; nil: none
	// Kind is "", "sameMinionRestriction", "cel" or the name of an extension.
	Kind Text
	// Expression is the condition of cel, which has been checked.
	Expression Text
	Params     map[string]any // JSON values, numbers as json.Number; nil without an extension
	// ParamsAt is the position of each parameter's key.
	ParamsAt map[string]diag.Position
}

// OriginBinding is a RoleBinding of writ.dev/v1, stand-alone or from a
// PolicyBinding. Its role reference is already in one form.
type OriginBinding struct {
	Header
	// RoleNamespace is the namespace of the role; empty with Global, which means
	// the master namespace whatever it is called (referencesGlobalRole).
	RoleNamespace string
	Global        bool
	RoleName      Text
	// RoleNamespaceAt is where the namespace is said: its own value,
	// referencesGlobalRole, or else the role's name.
	RoleNamespaceAt diag.Position
	Users           []string
	Groups          []string
	// In is the PolicyBinding that holds it, nil for a stand-alone one.
	In *OriginPolicyBinding
}

// OriginPolicy is a Policy: the container of a namespace's roles. Its roles are
// documents of their own in the list a file decodes to.
type OriginPolicy struct {
	Header
}

// OriginPolicyBinding is a PolicyBinding. Its bindings are documents of their
// own in the list a file decodes to.
type OriginPolicyBinding struct {
	Header
	// RefNamespace and RefName are of policyRef; empty Value where not written.
	RefNamespace Text
	RefName      Text
}

// DenyPolicy is a DenyPolicy of breakglass.t-caas.telekom.com/v1alpha1. Globs
// are well formed and stand as written; lists that are absent are nil.
type DenyPolicy struct {
	Header                      // without a namespace: names are unique over the directory
	Precedence                  int
	Clusters, Tenants, Sessions []string
	EscalationRefs              []Text
	Rules                       []DenyRule
	Pod                         *PodSecurity // nil without podSecurityRules
}

// DenyRule is one of a DenyPolicy's rules as written.
type DenyRule struct {
	At           diag.Position
	Verbs        []string
	APIGroups    []string
	Resources    []string
	Subresources []string
	// Namespaces is nil where it is absent or empty.
	Namespaces    *NamespaceFilter
	ResourceNames []string
}

// NamespaceFilter is either spelling of a namespace filter. It has a pattern or
// a term.
type NamespaceFilter struct {
	Patterns []string
	Terms    []Selector
}

// PodSecurity is podSecurityRules. Factors are spelt as in blockFactors,
// capabilities normalised: "hostPID", "capability:NET_ADMIN".
type PodSecurity struct {
	At           diag.Position
	Subresources []string // empty: the default
	Weights      map[string]int
	Thresholds   []Threshold
	BlockFactors []string
	// ExemptNamespaces is nil where it is absent or empty.
	ExemptNamespaces *NamespaceFilter
	ExemptLabels     map[string]string
	FailOpen         bool
}

// Threshold is one of thresholds.
type Threshold struct {
	At       diag.Position
	MaxScore int
	Action   string // allow, warn or deny
	// Reason is the template taken apart; nil where there is none or it is empty.
	Reason []TemplatePart
}

// TemplatePart is a piece of text or, where Variable is set, one of score,
// factors, pod and namespace.
type TemplatePart struct {
	Text     string
	Variable string
}

// BreakglassEscalation is a BreakglassEscalation of
// breakglass.t-caas.telekom.com/v1alpha1, as far as it takes part in decisions.
type BreakglassEscalation struct {
	Header // without a namespace: requests name an escalation by its name alone
	// Clusters are the globs of allowed.clusters and clusterConfigRefs.
	Clusters       []string
	Groups         []string
	DenyPolicyRefs []Text
	Override       *PodOverride // nil without podSecurityOverrides
}

// PodOverride is podSecurityOverrides.
type PodOverride struct {
	Enabled         bool
	RequireApproval bool
	MaxAllowedScore *int // nil where absent
	ExemptFactors   []string
	NamespaceScope  *NamespaceFilter // nil: every namespace
}

// Extension is a *.rego file whose package is below writ.extensions.
type Extension struct {
	Header // Kind "Extension", Name the path below writ.extensions
	Module *ast.Module
	// Source is the text of the file without a byte order mark.
	Source []byte
	File   string
	// ReadsClock says that it calls time.now_ns, the engine's evaluation time: a
	// decision by it holds for no longer than that instant.
	ReadsClock bool
}

// DecisionTest is a writ.dev/v1 DecisionTest.
type DecisionTest struct {
	Header
	Point string
	Now   string // RFC 3339, empty: the engine's clock
	Cases []DecisionCase
}

// DecisionCase is one request and the decision it must get.
type DecisionCase struct {
	At   diag.Position
	Name string
	// Request and Expect are JSON.
	Request []byte
	Expect  []byte
}
