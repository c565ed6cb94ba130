package tables

import "time"

// Visibility is what the visibility point decides by, in the form that goes into
// a bundle as data.compiled.views. Equal documents give equal tables, and so
// do both spellings of one policy.
type Visibility struct {
	// Policies are in the order of evaluation: priority, namespace, name. Those
	// that never hold are among them, for people to see.
	Policies []VisibilityPolicy `json:"policies"`
	// Sources are the MetricSources by namespace and name.
	Sources []MetricSource `json:"sources"`
}

// VisibilityPolicy is a MonitorAccessPolicy.
type VisibilityPolicy struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"` // file:line of the document
	Priority  int    `json:"priority"`
	Deny      bool   `json:"deny,omitempty"`
	// Disabled says enabled: false; Malformed that a time of an Allow policy is
	// none. Either never holds.
	Disabled  bool `json:"disabled,omitempty"`
	Malformed bool `json:"malformed,omitempty"`
	// NotBefore and NotAfter bound when it holds, both included; nil is no bound.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	NotAfter  *time.Time `json:"notAfter,omitempty"`
	// NotBeforeText and NotAfterText are as written, malformed ones too.
	NotBeforeText string `json:"notBeforeText,omitempty"`
	NotAfterText  string `json:"notAfterText,omitempty"`
	// Default is as written: all, allow, deny or none. DefaultSource is its line,
	// or that of the clusters it is left out of.
	Default       string `json:"default"`
	DefaultSource string `json:"defaultSource"`
	// Users (service accounts among them, as system:serviceaccount:NS:NAME),
	// ServiceAccounts (those again, spelt alike) and Groups are sorted, each once.
	Users           []string         `json:"users"`
	ServiceAccounts []string         `json:"serviceAccounts"`
	Groups          []string         `json:"groups"`
	Rules           []VisibilityRule `json:"rules"`
}

// VisibilityRule is one of scope.clusters.rules.
type VisibilityRule struct {
	Rule   int    `json:"rule"`
	Source string `json:"source"`
	// Names, Pattern and Labels are alternatives. Labels is nil where matchLabels
	// is not given; empty and not nil fits every cluster.
	Names   []string           `json:"names,omitempty"`
	Pattern string             `json:"pattern,omitempty"`
	Labels  *map[string]string `json:"labels,omitempty"`
	// Permissions are those of view and viewMetrics that are given, sorted.
	Permissions []string `json:"permissions"`
	// Entries are sorted by type, one a type.
	Entries []VisibilityEntry `json:"entries"`
}

// VisibilityEntry is what a rule says of one type.
type VisibilityEntry struct {
	Type   string `json:"type"`
	Custom bool   `json:"custom,omitempty"`
	// Visibility is the effective one: all, none or filtered.
	Visibility string `json:"visibility"`
	// Restricts says that the entry makes a decision partial.
	Restricts  bool                `json:"restricts,omitempty"`
	Names      Criteria            `json:"names"`
	Namespaces Criteria            `json:"namespaces"`
	Labels     map[string]string   `json:"labels,omitempty"`
	Fields     map[string]Criteria `json:"fields,omitempty"`
	// HideMasters and HideByLabels are of nodes.
	HideMasters  bool              `json:"hideMasters,omitempty"`
	HideByLabels map[string]string `json:"hideByLabels,omitempty"`
	// Include and Exclude are names of aggregations, in document order.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// Criteria are allowed and denied values, literals and globs apart, in document
// order, each once.
type Criteria struct {
	Include         []string `json:"include,omitempty"`
	IncludePatterns []string `json:"includePatterns,omitempty"`
	Exclude         []string `json:"exclude,omitempty"`
	ExcludePatterns []string `json:"excludePatterns,omitempty"`
}

// MetricSource is a MetricSource as far as decisions and their listings read it.
type MetricSource struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
	// Type is the resourceTypeName, empty where policies cannot refer to it.
	Type string `json:"type,omitempty"`
	// APIVersion, Kind and Scope are of what the collector reads.
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Scope      string   `json:"scope"`
	Fields     []string `json:"fields"`
	Computed   []string `json:"computed"`
	// NamespaceField and NameField name the fields that identify an item; empty:
	// its own namespace and name.
	NamespaceField     string        `json:"namespaceField,omitempty"`
	NameField          string        `json:"nameField,omitempty"`
	FilterAggregations bool          `json:"filterAggregations"`
	Aggregations       []Aggregation `json:"aggregations"`
}

// Aggregation is one of a MetricSource's aggregations, in document order.
type Aggregation struct {
	Name       string             `json:"name"`
	Function   string             `json:"function"`
	Field      string             `json:"field,omitempty"`
	GroupBy    string             `json:"groupBy,omitempty"`
	Percentile int                `json:"percentile,omitempty"`
	Filter     *AggregationFilter `json:"filter,omitempty"`
}

// AggregationFilter says which items an aggregation is over.
type AggregationFilter struct {
	Field    string `json:"field"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
}
