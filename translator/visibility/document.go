package visibility

import (
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// FamilyVisibility is the family of monitoring policies and metric sources.
const FamilyVisibility = "visibility"

// MonitorAccessPolicy is a MonitorAccessPolicy of clusterpulse.io/v1alpha1. Its
// namespace may be empty.
type MonitorAccessPolicy struct {
	syntax.Header
	Users, Groups   []syntax.Text
	ServiceAccounts []ServiceAccount
	Priority        int
	PriorityAt      diag.Position // of identity if priority is absent
	Deny            bool
	Disabled        bool
	// Default is all, allow, deny or none. DefaultAt is its position, or that of
	// clusters if it is absent.
	Default   string
	DefaultAt diag.Position
	Rules     []ClusterRule
	// NotBefore and NotAfter are nil if absent or empty.
	NotBefore, NotAfter *Moment
}

// ServiceAccount is one of serviceAccounts, with its default namespace filled in.
type ServiceAccount struct {
	Namespace, Name string
	At              diag.Position
}

// User returns the user name of a service account.
func (a *ServiceAccount) User() string {
	return tables.Account(a.Namespace, a.Name)
}

// Moment is a time of a document. Time is in UTC and has a four-digit year; it is nil if
// Text is not a time of RFC 3339.
type Moment struct {
	syntax.Text
	Time *time.Time
}

// ClusterRule is one of scope.clusters.rules.
type ClusterRule struct {
	At      diag.Position
	Names   []string
	Pattern string // empty: none
	// Labels is nil if matchLabels is absent; empty selects every cluster.
	Labels *map[string]string
	// View and ViewMetrics are the permissions; only View is set if the document has
	// none.
	View, ViewMetrics bool
	Entries           []VisibilityEntry
}

// VisibilityEntry is the entry of a rule for one type, from the newer or the older form.
// Lists and maps without entries are nil.
type VisibilityEntry struct {
	Type syntax.Text
	// Visibility is all, none or filtered, or empty if it is absent.
	Visibility        string
	Names, Namespaces ValueFilter
	Labels            map[string]string
	Fields            []FieldFilter
	HideMasters       bool
	HideByLabels      map[string]string
	Include, Exclude  []syntax.Text // names of aggregations
}

// ValueFilter holds allowed and denied values.
type ValueFilter struct {
	Allowed, Denied Values
}

// IsEmpty reports whether a filter has neither allowed nor denied values.
func (f *ValueFilter) IsEmpty() bool { return f.Allowed.IsEmpty() && f.Denied.IsEmpty() }

// Values holds literals and patterns, in document order.
type Values struct {
	Literals []string
	Patterns []ValuePattern
}

// IsEmpty reports whether v has no values.
func (v *Values) IsEmpty() bool { return len(v.Literals)+len(v.Patterns) == 0 }

// ValuePattern is a pattern as written and parsed.
type ValuePattern struct {
	Text string
	Glob tables.Glob
}

// FieldFilter is the filter of one field.
type FieldFilter struct {
	Field syntax.Text
	ValueFilter
}

// MetricSource is a MetricSource of clusterpulse.io/v1alpha1, with the fields that affect
// decisions.
type MetricSource struct {
	syntax.Header
	// Of is the resource that the collector reads.
	Of               Collected
	Fields, Computed []string
	Aggregations     []Aggregation
	// Type is the resourceTypeName, with an empty Value where rbac is left out.
	Type syntax.Text
	// NamespaceField and NameField are of identifiers, empty where left out.
	NamespaceField, NameField string
	Filterable                []string
	FilterAggregations        bool
}

// Collected identifies the resource that a MetricSource collects.
type Collected struct {
	APIVersion, Kind string
	Scope            string // Namespaced or Cluster
}

// Aggregation is one of a MetricSource's aggregations.
type Aggregation struct {
	Name       string
	Function   string
	Field      string
	GroupBy    string
	Percentile int
	Filter     *AggregationFilter // nil without one
}

// AggregationFilter selects the items of an aggregation.
type AggregationFilter struct {
	Field, Operator, Value string
}
