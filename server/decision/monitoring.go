package decision

import "time"

// Principal is an authenticated caller that asks about itself. A service account
// goes by the user system:serviceaccount:NAMESPACE:NAME.
type Principal struct {
	User   string
	Groups []string
}

// Listing is what all listings have in common. Each is of one instant.
type Listing struct {
	// At is the instant of the answer, by the clock of decisions.
	At       time.Time
	Revision string
	// EvaluationError is why there is no answer, empty if there is one.
	EvaluationError string
}

// PolicyListing is an answer of Policies.ListPolicies.
type PolicyListing struct {
	Listing
	Policies []PolicySummary
}

// PolicySummary is a policy as those it names may see it: without its other
// subjects.
type PolicySummary struct {
	Namespace string
	Name      string
	Priority  int
	Deny      bool
	Enabled   bool
	// NotBefore and NotAfter are as written; empty: no bound.
	NotBefore string
	NotAfter  string
	// Default is what the policy says of clusters that none of its rules matches.
	Default string
	// CustomTypes are the custom types that its rules list, sorted.
	CustomTypes []string
	// Hash is equal for equal policies, wherever they stand.
	Hash string
	// Source is the first subject that names the principal: "user", "group:" with
	// the group, or "serviceaccount".
	Source string
	State  PolicyState
}

// PolicyState is whether a policy holds.
type PolicyState string

// The states of a policy. An inactive one is disabled or begins later, and one in
// error has an invalid time.
const (
	PolicyActive   PolicyState = "Active"
	PolicyInactive PolicyState = "Inactive"
	PolicyExpired  PolicyState = "Expired"
	PolicyError    PolicyState = "Error"
)

// PermissionListing is an answer of Policies.ListPermissions.
type PermissionListing struct {
	Listing
	// Candidates is how many clusters were looked at.
	Candidates int
	// Accessible are those of them that the principal may view, by name.
	Accessible []ClusterPermissions
}

// ClusterPermissions are what a principal has on a cluster. Full says that nothing
// there is kept from it.
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
	// APIVersion, Kind and Scope are of what is collected.
	APIVersion string
	Kind       string
	Scope      string
	Fields     []string
	Computed   []string
	// Aggregations are those that the principal's policy lets through.
	Aggregations []string
}
