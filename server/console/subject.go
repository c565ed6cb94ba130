package console

// Subject is what the documents bind to a subject.
type Subject struct {
	// Subject is user:NAME or group:NAME, Name the name, and Kind user, group or service
	// account.
	Subject string `json:"subject"`
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	// Groups are those whose bindings the list has too: of a caller who asks about itself,
	// its own; of others, those that Kubernetes gives a user because of its name.
	Groups []string `json:"groups"`
	// Bindings are those of a page: first those that name the subject itself, cluster-wide
	// ones before others, and then by namespace and name.
	Bindings []Held `json:"bindings"`
	// Total is the number of bindings of all pages.
	Total int `json:"total"`
	// After is the after of the next page; empty on the last one.
	After string `json:"after,omitempty"`
	// Policies are the visibility policies that name the subject or one of Groups.
	Policies []NamingPolicy `json:"policies"`
	Revision string         `json:"revision"`
}

// Held is a binding of a subject.
type Held struct {
	BindingOf
	Role HeldRole `json:"role"`
}

// BindingOf is a binding with one subject that it names.
type BindingOf struct {
	// Subject is user:NAME or group:NAME.
	Subject string `json:"subject"`
	// In is the namespace in which the binding holds; empty for the whole cluster.
	In        string `json:"in"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
	// Until is when the binding ends; empty for one without an end.
	Until string `json:"until,omitempty"`
}

// HeldRole is the role of a binding.
type HeldRole struct {
	RoleName
	Source string `json:"source"`
	// Text says what its first rules are about, and Rules is the number of all.
	Text  string `json:"text"`
	Rules int    `json:"rules"`
}

// RoleName names a role.
type RoleName struct {
	// Family is kubernetes or origin.
	Family    string `json:"family"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// NamingPolicy is a visibility policy that names a subject.
type NamingPolicy struct {
	Subject   string `json:"subject"`
	Effect    string `json:"effect"` // Allow or Deny
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
}

// RoleQuery asks for a role.
type RoleQuery struct {
	// Family is kubernetes or origin; empty for the one that has the role, Kubernetes first.
	Family          string
	Namespace, Name string
	// Limit is the most holders; zero means 50. After is Role.After of the page before.
	Limit int
	After string
}

// Role is a role with its rules, and who holds it.
type Role struct {
	RoleName
	Source string     `json:"source"`
	Rules  []RoleRule `json:"rules"`
	// Holders are the subjects of a page, by their names.
	Holders []BindingOf `json:"holders"`
	// Total is the number of holders of all pages.
	Total    int    `json:"total"`
	After    string `json:"after,omitempty"`
	Revision string `json:"revision"`
}

// RoleRule is a rule of a role, with how often it decided and matched. An entry of the lists
// of an Origin rule that begins with "-" is excluded.
type RoleRule struct {
	Rule          int      `json:"rule"`
	Source        string   `json:"source"`
	Effect        string   `json:"effect"` // Allow or Deny
	Verbs         []string `json:"verbs"`
	APIGroups     []string `json:"apiGroups,omitempty"`
	Resources     []string `json:"resources,omitempty"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Paths         []string `json:"nonResourceURLs,omitempty"`
	// Condition is what the rule requires beside its lists; empty for nothing.
	Condition string `json:"condition,omitempty"`
	Decided   uint64 `json:"decided"`
	Matched   uint64 `json:"matched"`
}
