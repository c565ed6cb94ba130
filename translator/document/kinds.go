package document

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/translator/diag"
)

// Families of documents.
const (
	FamilyKubernetes   = "kubernetes"
	FamilyOrigin       = "origin"
	FamilyExtension    = "extension"
	FamilyDecisionTest = "decisiontest"
)

// Document is one decoded document. The concrete types are KubernetesRole,
// KubernetesBinding, OriginRole, OriginBinding, OriginPolicy,
// OriginPolicyBinding, Extension and DecisionTest, always as pointers.
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
	// Kind is "", "sameMinionRestriction" or the name of an extension.
	Kind   Text
	Params map[string]any // JSON values, numbers as json.Number; nil without an extension
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
