package decision

import (
	"context"
	"time"
)

// Principal is whom a Monitor is asked about: somebody the server authenticated.
// A service account goes by the user system:serviceaccount:NAMESPACE:NAME.
type Principal struct {
	User   string
	Groups []string
}

// Monitor tells principals what documents say of them at the visibility point.
// Each answer is of one revision and one instant. Implementations are safe for
// concurrent use.
type Monitor interface {
	// Policies are those whose subjects name the principal, whether they hold or
	// not: denying ones first, each in the order of evaluation.
	Policies(ctx context.Context, p Principal) PolicyListing
	// Permissions are the principal's on clusters; without any, nil, on all that
	// documents name. Labels says what labels a cluster has.
	Permissions(ctx context.Context, p Principal, clusters []string, labels func(cluster string) map[string]string) PermissionListing
	// CustomTypes are the types of metric sources that the principal can discover.
	CustomTypes(ctx context.Context, p Principal) TypeListing
}

// Listing is what the answers of a Monitor have in common.
type Listing struct {
	// At is the instant of the answer, by the clock of decisions.
	At       time.Time
	Revision string
	// Trouble is why there is no answer, empty where there is one.
	Trouble string
}

// PolicyListing is an answer of Monitor.Policies.
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
// error has a time that is none.
const (
	PolicyActive   PolicyState = "Active"
	PolicyInactive PolicyState = "Inactive"
	PolicyExpired  PolicyState = "Expired"
	PolicyError    PolicyState = "Error"
)

// PermissionListing is an answer of Monitor.Permissions.
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

// TypeListing is an answer of Monitor.CustomTypes, by type.
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

// NoMonitor has no answer, and its text is the trouble.
type NoMonitor string

var _ Monitor = NoMonitor("")

func (m NoMonitor) listing() Listing { return Listing{Trouble: string(m)} }

// Policies is trouble.
func (m NoMonitor) Policies(context.Context, Principal) PolicyListing {
	return PolicyListing{Listing: m.listing()}
}

// Permissions is trouble.
func (m NoMonitor) Permissions(context.Context, Principal, []string, func(string) map[string]string) PermissionListing {
	return PermissionListing{Listing: m.listing()}
}

// CustomTypes is trouble.
func (m NoMonitor) CustomTypes(context.Context, Principal) TypeListing {
	return TypeListing{Listing: m.listing()}
}
