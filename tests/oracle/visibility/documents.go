package visibility

// Version is the API version of the visibility family.
const Version = "clusterpulse.io/v1alpha1"

// World is a policy directory of the visibility family.
type World struct {
	Policies []*Policy
	Sources  []*MetricSource

	seed uint64
}

// Policy is a MonitorAccessPolicy. A nil priority is the default.
type Policy struct {
	Namespace, Name string
	Users, Groups   []string
	// Accounts without a namespace are of the namespace default.
	Accounts            []Account
	Priority            *int
	Deny, Disabled      bool
	NotBefore, NotAfter string // as written, empty for none
	Default             string // as written, empty for none
	DefaultSource       string
	Rules               []*Rule
}

// Account is a service account.
type Account struct{ Namespace, Name string }

// Rule is a rule of a policy's clusters. Whether it grants is what its
// permissions mean, however they are spelt.
type Rule struct {
	Names   []string
	Pattern string
	// Labels are matchLabels; nil is absent, and an empty map matches everything.
	Labels            map[string]string
	View, ViewMetrics bool
	Entries           []*Entry
	Source            string
}

// Entry is what a rule says of one type, in the words of the newer form.
type Entry struct {
	Type         string
	Visibility   string // as written, empty for left out
	Names        Criteria
	Namespaces   Criteria
	Labels       map[string]string
	Fields       map[string]Criteria
	HideMasters  bool
	HideByLabels map[string]string
	// Include and Exclude are those of aggregations.
	Include, Exclude []string
}

// Criteria are two lists of literals and globs, as written.
type Criteria struct{ Allowed, Denied []string }

// MetricSource is a MetricSource, as far as it decides anything.
type MetricSource struct {
	Namespace, Name string
	// Type is the resourceTypeName; empty where no policy can refer to the source.
	Type             string
	Fields, Computed []string
	Filterable       []string
	// NamespaceField and NameField are the identifiers.
	NamespaceField, NameField string
	// KeepTotals is filterAggregations: false.
	KeepTotals   bool
	Aggregations []*Aggregation
}

// Aggregation is an aggregation of a MetricSource.
type Aggregation struct {
	Name, Function, Field string
	Percentile            int
	GroupBy               string
	Filter                *AggregationFilter
}

// AggregationFilter is the filter of an aggregation.
type AggregationFilter struct{ Field, Operator, Value string }
