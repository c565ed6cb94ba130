package footprint

import "github.com/writ-policy/writ/translator/tables"

// Access is the footprint of the access point. Attributes that it does not have are read
// by no rule, or by Restrictions only.
type Access struct {
	// Verbs have patterns that end in "*".
	Verbs Attribute `json:"verbs"`
	// APIGroups have no patterns.
	APIGroups Attribute `json:"apiGroups"`
	// Resources are named by roles and deny policies, subresources left out. Rules can
	// match other words for the same kind, in any case. They have no patterns.
	Resources Attribute `json:"resources"`
	// Subresources are compared in any case. Patterns apply to requests for impersonation.
	Subresources Attribute `json:"subresources"`
	Names        Attribute `json:"names"`
	// Paths are nonResourceURLs: the pattern "/api/*" matches what begins with "/api/".
	Paths Attribute `json:"paths"`
	// Namespaces are those that deny policies name; those of bindings are the keys of
	// data.compiled.access.subjects.namespaces.
	Namespaces  Attribute `json:"namespaces"`
	Clusters    Attribute `json:"clusters"`
	Tenants     Attribute `json:"tenants"`
	Sessions    Attribute `json:"sessions"`
	Escalations Attribute `json:"escalations"`
	// Groups are those that escalations name, sorted.
	Groups []string `json:"groups,omitempty"`
	// Labels are those of the object, and NamespaceLabels those of its namespace.
	Labels          Labels `json:"labels,omitempty"`
	NamespaceLabels Labels `json:"namespaceLabels,omitempty"`
	// Selected are the fields that fieldsSelect names.
	Selected Labels `json:"selected,omitempty"`
	// Fields are the paths of fieldsMutatable, sorted.
	Fields []string `json:"fields,omitempty"`
	// Nodes is true if rules compare the nodes of requester and pod.
	Nodes bool `json:"nodes,omitempty"`
	// Pods is true if pod security reads pods.
	Pods bool `json:"pods,omitempty"`
	// Anything is true if an expression or an extension reads requests: rules that have
	// one can tell apart any two requests.
	Anything bool `json:"anything,omitempty"`
}

// Scope returns the attributes of f for tables.ScopeAttributes, in their order.
func (f *Access) Scope() [len(tables.ScopeAttributes)]*Attribute {
	return [...]*Attribute{tables.ScopeCluster: &f.Clusters, tables.ScopeTenant: &f.Tenants, tables.ScopeSession: &f.Sessions, tables.ScopeEscalation: &f.Escalations}
}
