package decision

import "time"

// Principal is an authenticated caller that asks about itself. A service account
// goes by the user system:serviceaccount:NAMESPACE:NAME.
type Principal struct {
	User   string
	Groups []string
}

// Listing is the common part of all listings. Each is valid for one instant.
type Listing struct {
	// At is the instant of the answer, by the clock of decisions.
	At       time.Time
	Revision string
	// EvaluationError describes why the evaluation failed; empty if it succeeded.
	EvaluationError string
}

// PolicyListing is an answer of Policies.ListPolicies.
type PolicyListing struct {
	Listing
	Policies []PolicySummary
}

// PolicySummary describes a policy to one of its subjects, without the other
// subjects.
type PolicySummary struct {
	Namespace string
	Name      string
	Priority  int
	Deny      bool
	Enabled   bool
	// NotBefore and NotAfter are copied from the document; empty means no bound.
	NotBefore string
	NotAfter  string
	// Default is the effect of the policy on clusters that none of its rules matches.
	Default string
	// CustomTypes are the custom types that its rules list, sorted.
	CustomTypes []string
	// Hash identifies the content of the policy and ignores its position.
	Hash string
	// Source is the first subject that names the principal: "user", "group:" with
	// the group, or "serviceaccount".
	Source string
	State  PolicyState
}

// PolicyState is the state of a policy at an instant.
type PolicyState string

// The states of a policy. An inactive policy is disabled or begins later; a policy in
// state error has an invalid time.
const (
	PolicyActive   PolicyState = "Active"
	PolicyInactive PolicyState = "Inactive"
	PolicyExpired  PolicyState = "Expired"
	PolicyError    PolicyState = "Error"
)

// PermissionListing is an answer of Policies.ListPermissions.
type PermissionListing struct {
	Listing
	// Candidates is the number of clusters that were evaluated.
	Candidates int
	// Accessible are those of them that the principal may view, by name.
	Accessible []ClusterPermissions
}

// ClusterPermissions holds the permissions of a principal on a cluster. Full reports
// whether the principal sees everything there.
type ClusterPermissions struct {
	Cluster     string
	Permissions []string
	Full        bool
}

// TypeListing is an answer of Policies.ListCustomTypes, by type.
type TypeListing struct {
	Listing
	Types []CustomType
}

// CustomType is a type of a metric source.
type CustomType struct {
	Type string
	// Namespace and Name are the metric source's.
	Namespace string
	Name      string
	// APIVersion, Kind and Scope describe the collected resource.
	APIVersion string
	Kind       string
	Scope      string
	Fields     []string
	Computed   []string
	// Aggregations lists those that the principal's policy allows.
	Aggregations []string
}
