package tables

// In is the subjects of a namespace, or with none those that are bound everywhere.
func (s *Subjects) In(namespace string) Map[[]string] {
	if namespace == "" {
		return s.Cluster
	}
	return s.Namespaces.At(namespace)
}

// Access is what the access point decides by: roles, bindings and who is bound,
// in the compact form that goes into a bundle as data.compiled.access. Equal
// documents give equal tables, whatever the order of their files.
//
// Keys are natural so that one changed document changes one row:
// RoleKey and BindingKey say how they are made.
type Access struct {
	// Master is the name of the Origin master namespace.
	Master   string       `json:"master"`
	Roles    Map[Role]    `json:"roles"`
	Bindings Map[Binding] `json:"bindings"`
	Subjects Subjects     `json:"subjects"`
	// Extensions are the names of the extensions that rules refer to, sorted.
	Extensions []string `json:"extensions"`
	// Expressions are the conditions in CEL that rules have, sorted. They become
	// Rego, and each rule says its own.
	Expressions []string `json:"-"`
	// ReadsClock says that the answer of some extension may depend on the time:
	// what it decides holds for no longer than the moment.
	ReadsClock bool `json:"readsClock,omitempty"`
}

// Subjects lists, for each subject, the keys of the bindings that name it,
// sorted. A subject is spelt "user:NAME" or "group:NAME"; a service account is
// the user "user:system:serviceaccount:NS:NAME".
type Subjects struct {
	// Cluster holds the bindings that reach every namespace, cluster-scoped
	// requests and (for Kubernetes) paths: ClusterRoleBindings, and Origin
	// bindings in the master namespace.
	Cluster Map[[]string] `json:"cluster"`
	// Namespaces holds the others, by the namespace the binding is in.
	Namespaces Map[Map[[]string]] `json:"namespaces"`
}

// Families of roles and bindings, as the tables spell them.
const (
	FamilyKubernetes = "kubernetes"
	FamilyOrigin     = "origin"
)

// RoleKey is the key of a role: "kubernetes:NS/NAME", "kubernetes:/NAME" for a
// ClusterRole, "origin:NS/NAME". No name or namespace holds a slash.
func RoleKey(family, namespace, name string) string {
	return family + ":" + namespace + "/" + name
}

// BindingKey is the key of a binding, made like RoleKey; a ClusterRoleBinding
// has no namespace.
func BindingKey(family, namespace, name string) string {
	return family + ":" + namespace + "/" + name
}

// Role is one role with its effective rules. Exactly one of Kubernetes and
// Origin may be non-empty, as Family says.
type Role struct {
	Family     string           `json:"family"`
	Kind       string           `json:"kind"`
	Namespace  string           `json:"namespace"`
	Name       string           `json:"name"`
	Kubernetes []KubernetesRule `json:"kubernetes,omitempty"`
	Origin     []OriginRule     `json:"origin,omitempty"`
	// Source is the file:line of the role document.
	Source string `json:"source"`
}

// KubernetesRule is a PolicyRule. Either Paths is set, or Groups and Resources.
type KubernetesRule struct {
	// Rule is the index in the role's effective list, from 0.
	Rule      int      `json:"rule"`
	Source    string   `json:"source"`
	Verbs     []string `json:"verbs"`
	Groups    []string `json:"groups,omitempty"`
	Resources []string `json:"resources,omitempty"`
	// Names are the resourceNames; empty means any.
	Names []string `json:"names,omitempty"`
	// Paths are the nonResourceURLs as written.
	Paths []string `json:"paths,omitempty"`
}

// OriginRule is a writ.dev rule. Verbs are lower case; kinds are lower case in
// the number they were written in, as "kind", "kind/sub", "*/sub" or "*".
// Entries are sorted and each once. A rule that can match nothing (no positive
// entry, or "-*") is kept with what it says: its index counts.
type OriginRule struct {
	Rule   int    `json:"rule"`
	Source string `json:"source"`
	// Deny makes it a deny rule.
	Deny     bool     `json:"deny,omitempty"`
	Verbs    []string `json:"verbs"`
	NotVerbs []string `json:"notVerbs,omitempty"`
	Kinds    []string `json:"kinds"`
	NotKinds []string `json:"notKinds,omitempty"`
	// Restrictions is nil where the rule has none.
	Restrictions *Restrictions `json:"restrictions,omitempty"`
}

// Restrictions are a rule's attributeRestrictions; all that are set must hold.
type Restrictions struct {
	// Fields are the paths of fieldsMutatable with their short first segments
	// written out (labels is metadata.labels). Nil: not restricted.
	Fields []string `json:"fields,omitempty"`
	// Labels are the entries of labelsContain. Nil: not restricted.
	Labels []LabelEntry `json:"labels,omitempty"`
	// SameMinion is sameMinionRestriction.
	SameMinion bool `json:"sameMinion,omitempty"`
	// Expression is a condition in CEL.
	Expression string `json:"expression,omitempty"`
	// Extension names an extension; Params are its parameters.
	Extension string         `json:"extension,omitempty"`
	Params    map[string]any `json:"params,omitempty"`
}

// LabelEntry is one entry of labelsContain.
type LabelEntry struct {
	Key string `json:"key"`
	// Value must be equal to the label's; nil allows any value.
	Value *string `json:"value,omitempty"`
}

// Binding says which role a binding names and how far it reaches.
type Binding struct {
	Family     string `json:"family"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Role is the key of the role.
	Role string `json:"role"`
	// Cluster is true where the binding reaches everything of the cluster
	// (ClusterRoleBinding, Origin binding in the master namespace).
	Cluster bool `json:"cluster,omitempty"`
	// Source is the file:line of the binding document.
	Source string `json:"source"`
}
