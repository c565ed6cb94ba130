package tables

import (
	"slices"
	"time"
)

// Visibility holds the tables of the visibility point in the form that goes into a
// bundle as data.compiled.visibility_tables. The Rego library and the embedded engine
// read the same tables. Equal documents give equal tables, and so do both forms of
// one policy.
type Visibility struct {
	// Policies are in the order of evaluation: priority, namespace, name. Policies
	// that never apply are included, for listings.
	Policies []VisibilityPolicy `json:"policies"`
	// Allows and Denies hold, by subject, the ascending indexes of the policies that
	// can apply. A subject is "user:NAME" or "group:NAME"; a service account is the
	// user system:serviceaccount:NS:NAME.
	Allows map[string][]int `json:"allows"`
	Denies map[string][]int `json:"denies"`
	// Sources are the MetricSources by namespace and name.
	Sources []MetricSource `json:"sources"`
	// Types holds the index of the MetricSource that defines each custom type.
	Types map[string]int `json:"types"`
}

// VisibilityPolicy is a MonitorAccessPolicy.
type VisibilityPolicy struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"` // file:line of the document
	// Module is the last part of the package of the policy's generated rules, below
	// compiled.visibility.policies, and the name of their file.
	Module   string `json:"module"`
	Priority int    `json:"priority"`
	Deny     bool   `json:"deny,omitempty"`
	// Disabled means enabled: false. Malformed means that a time of an Allow policy
	// is not valid. Either way the policy never applies.
	Disabled  bool `json:"disabled,omitempty"`
	Malformed bool `json:"malformed,omitempty"`
	// Applies reports whether the policy can apply to some cluster or type at all.
	Applies bool `json:"applies,omitempty"`
	// NotBefore and NotAfter bound the time at which the policy holds, both included;
	// nil is unbounded.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	NotAfter  *time.Time `json:"notAfter,omitempty"`
	// NotBeforeText and NotAfterText are as written, malformed ones too.
	NotBeforeText string `json:"notBeforeText,omitempty"`
	NotAfterText  string `json:"notAfterText,omitempty"`
	// Users (service accounts included, as system:serviceaccount:NS:NAME),
	// ServiceAccounts (again, in the same form) and Groups are sorted, each once.
	Users           []string `json:"users"`
	ServiceAccounts []string `json:"serviceAccounts"`
	Groups          []string `json:"groups"`
	// Default is as written: all, allow, deny or none. ByDefault is the rule for
	// clusters that no rule selects, nil if the policy does not apply to them.
	Default   string           `json:"default"`
	ByDefault *VisibilityRule  `json:"byDefault,omitempty"`
	Rules     []VisibilityRule `json:"rules"`
	// Listed holds, for each type, the index of the first rule that applies to it on
	// some cluster. A rule of an Allow policy that hides the type does not.
	Listed map[string]int `json:"listed"`
}

// SubjectKeys returns the subjects of the policy as Visibility.Allows and Denies name
// them, sorted, each once.
func (p *VisibilityPolicy) SubjectKeys() []string {
	var keys []string
	for _, user := range p.Users { // service accounts are among them
		keys = append(keys, User(user))
	}
	for _, group := range p.Groups {
		keys = append(keys, Group(group))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// VisibilityRule is one of scope.clusters.rules, at its index.
type VisibilityRule struct {
	Source string `json:"source"`
	// Names, Pattern and Labels are alternatives. Labels is nil if matchLabels is
	// absent; empty but not nil selects every cluster.
	Names   []string           `json:"names,omitempty"`
	Pattern string             `json:"pattern,omitempty"`
	Labels  *map[string]string `json:"labels,omitempty"`
	// Permissions are those of view and viewMetrics that are granted, sorted.
	Permissions []string `json:"permissions"`
	// Entries are the rule's entries by type.
	Entries map[string]*VisibilityEntry `json:"entries"`
}

// VisibilityEntry is the part of a rule that concerns one type.
type VisibilityEntry struct {
	Custom bool `json:"custom,omitempty"`
	// Visibility is the effective one: all, none or filtered.
	Visibility string `json:"visibility"`
	// Names, Namespaces, Labels and Fields are the criteria; the maps are never nil.
	Names      Criteria            `json:"names"`
	Namespaces Criteria            `json:"namespaces"`
	Labels     map[string]string   `json:"labels"`
	Fields     map[string]Criteria `json:"fields"`
	// HideMasters and HideByLabels are of nodes.
	HideMasters  bool              `json:"hideMasters,omitempty"`
	HideByLabels map[string]string `json:"hideByLabels,omitempty"`
	// Include and Exclude are names of aggregations, in document order; nil for a
	// standard type.
	Include []string `json:"include,omitzero"`
	Exclude []string `json:"exclude,omitzero"`
	// Filter is the entry as decisions show it. It is nil unless the entry restricts
	// what is visible, which makes a decision partial.
	Filter *ShownFilter `json:"filter,omitempty"`
}

// Restricts reports whether the entry hides some items. A nil entry does not.
func (e *VisibilityEntry) Restricts() bool { return e != nil && e.Filter != nil }

// Criteria are the allowed and the denied values of a property.
type Criteria struct {
	Allowed Values `json:"allowed,omitzero"`
	Denied  Values `json:"denied,omitzero"`
}

// Values are literals, each with the value true, and patterns in document order.
// Without either they are the zero value.
type Values struct {
	Literals map[string]bool `json:"literals,omitempty"`
	Patterns []Glob          `json:"patterns,omitempty"`
}

// IsEmpty reports whether there is neither a literal nor a pattern.
func (v *Values) IsEmpty() bool { return len(v.Literals)+len(v.Patterns) == 0 }

// Has reports whether the value is a literal or matches a pattern.
func (v *Values) Has(value string) bool {
	if v.Literals[value] {
		return true
	}
	return slices.ContainsFunc(v.Patterns, func(pattern Glob) bool { return pattern.Match(value) })
}

// ShownFilter is an entry as decisions show it. Its maps are never nil.
type ShownFilter struct {
	Visibility   string                   `json:"visibility"`
	Names        ShownCriteria            `json:"names"`
	Namespaces   ShownCriteria            `json:"namespaces"`
	Labels       map[string]string        `json:"labels"`
	Fields       map[string]ShownCriteria `json:"fields"`
	HideMasters  bool                     `json:"hideMasters,omitempty"`
	HideByLabels map[string]string        `json:"hideByLabels,omitempty"`
}

// ShownCriteria are criteria as decisions show them: literals and patterns as
// written, in document order, each once. Either all lists are nil or all are not nil.
type ShownCriteria struct {
	Include         []string `json:"include,omitzero"`
	IncludePatterns []string `json:"includePatterns,omitzero"`
	Exclude         []string `json:"exclude,omitzero"`
	ExcludePatterns []string `json:"excludePatterns,omitzero"`
}

// MetricSource holds what decisions and listings read of a MetricSource.
type MetricSource struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Source    string `json:"source"`
	// Type is the resourceTypeName, empty if policies cannot refer to the source.
	Type string `json:"type,omitempty"`
	// APIVersion, Kind and Scope describe what the collector reads.
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Scope      string   `json:"scope"`
	Fields     []string `json:"fields"`
	Computed   []string `json:"computed"`
	// NamespaceField and NameField are the fields that identify an item; empty means
	// its own namespace and name.
	NamespaceField     string        `json:"namespaceField,omitempty"`
	NameField          string        `json:"nameField,omitempty"`
	FilterAggregations bool          `json:"filterAggregations"`
	Aggregations       []Aggregation `json:"aggregations"`
}

// Aggregation is one of a MetricSource's aggregations, in document order.
type Aggregation struct {
	Name     string `json:"name"`
	Function string `json:"function"`
	// Field and GroupBy are nil if they are not given.
	Field   *FieldRef `json:"field,omitempty"`
	GroupBy *FieldRef `json:"groupBy,omitempty"`
	// Percentile is from 0 to 100, and 0 for other functions.
	Percentile int                `json:"percentile"`
	Filter     *AggregationFilter `json:"filter,omitempty"`
}

// FieldRef says where an aggregation reads a value: in the field of that name or, if
// Own is true, in the item's own name or namespace.
type FieldRef struct {
	Own  bool   `json:"own,omitempty"`
	Name string `json:"name"`
}

// AggregationFilter selects the items of an aggregation.
type AggregationFilter struct {
	Field    FieldRef `json:"field"`
	Operator string   `json:"operator"`
	Value    string   `json:"value"`
	// List holds the words of Value for the operator in, and is nil for others.
	List []string `json:"list,omitempty"`
}

// WithoutSources returns a copy of the policy without its lines: two policies that differ only
// in their place among the documents are equal then. The copy shares what has no lines.
func (p *VisibilityPolicy) WithoutSources() VisibilityPolicy {
	out := *p
	out.Source = ""
	out.Rules = slices.Clone(p.Rules)
	for i := range out.Rules {
		out.Rules[i].Source = ""
	}
	if p.ByDefault != nil {
		rule := *p.ByDefault
		rule.Source = ""
		out.ByDefault = &rule
	}
	return out
}

// HasPairs reports whether labels have all pairs. An absent label is not an empty one.
func HasPairs(labels, pairs map[string]string) bool {
	for key, want := range pairs {
		if got, ok := labels[key]; !ok || got != want {
			return false
		}
	}
	return true
}
