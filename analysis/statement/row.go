package statement

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// Row is a rule as documents write it: of a role, a deny policy or a DebugSession. A member that
// is nil is not part of it.
type Row struct {
	APIGroups             []string         `json:"apiGroups,omitzero"`
	AttributeRestrictions map[string]any   `json:"attributeRestrictions,omitempty"`
	Deny                  bool             `json:"deny,omitempty"`
	Impersonation         *Impersonation   `json:"impersonation,omitempty"`
	Namespaces            *Namespaces      `json:"namespaces,omitempty"`
	NonResourceURLs       []string         `json:"nonResourceURLs,omitzero"`
	PodSecurity           *PodScores       `json:"podSecurity,omitempty"`
	Pods                  []tables.PodName `json:"pods,omitzero"`
	ResourceKinds         []string         `json:"resourceKinds,omitzero"`
	ResourceNames         []string         `json:"resourceNames,omitempty"`
	Resources             []string         `json:"resources,omitzero"`
	Subresources          []string         `json:"subresources,omitzero"`
	Verbs                 []string         `json:"verbs,omitzero"`

	// restrictions are AttributeRestrictions as they were read.
	restrictions *tables.Restrictions
}

// Impersonation is an entry of impersonationRules.
type Impersonation struct {
	ActionVerbs       []string    `json:"actionVerbs,omitempty"`
	ExtraKeys         []string    `json:"extraKeys,omitempty"`
	Identities        []string    `json:"identities,omitempty"`
	IdentityResources []string    `json:"identityResources,omitempty"`
	Modes             []string    `json:"modes,omitempty"`
	Namespaces        *Namespaces `json:"namespaces,omitempty"`
	TargetAPIGroups   []string    `json:"targetAPIGroups,omitempty"`
	TargetResources   []string    `json:"targetResources,omitempty"`
}

// Namespaces selects namespaces by patterns of their names, or by their labels.
type Namespaces struct {
	Patterns      []string `json:"patterns,omitempty"`
	SelectorTerms []Term   `json:"selectorTerms,omitempty"`
}

// Term is a selector of labels: all of its expressions must hold.
type Term struct {
	MatchExpressions []Expression `json:"matchExpressions"`
}

// Expression is what a label must have.
type Expression struct {
	Key      string          `json:"key"`
	Operator tables.Operator `json:"operator"`
	Values   []string        `json:"values,omitempty"`
}

// PodScores is the pod security of a deny policy.
type PodScores struct {
	BlockFactors []string    `json:"blockFactors,omitempty"`
	Exemptions   *Exemptions `json:"exemptions,omitempty"`
	FailMode     string      `json:"failMode,omitempty"`
	// RiskFactors has the weight of each factor, and below "capabilities" those of capabilities.
	RiskFactors  map[string]any `json:"riskFactors"`
	Subresources []string       `json:"subresources"`
	Thresholds   []Threshold    `json:"thresholds"`
}

// Exemptions are the pods whose score does not count.
type Exemptions struct {
	Namespaces *Namespaces       `json:"namespaces,omitempty"`
	PodLabels  map[string]string `json:"podLabels,omitempty"`
}

// Threshold is what is done with a pod of at most a score.
type Threshold struct {
	Action   string `json:"action"`
	MaxScore int    `json:"maxScore"`
}

// Row returns the rule of a statement, an empty one at the point visibility. It must not be
// modified.
func (s *JSON) Row() *Row {
	if row, ok := s.Rule.(*Row); ok {
		return row
	}
	return new(Row)
}

// Phrase returns what a statement is about, for a title: verbs and what they act on. Lists
// have at most so many entries, or All.
func (s *JSON) Phrase(most int) string {
	if s.Family == familyVisibility {
		return s.Clusters.phrase(most)
	}
	return s.Row().Phrase(most)
}

// Phrase is Phrase of a statement with the rule.
func (r *Row) Phrase(most int) string {
	switch {
	case r.PodSecurity != nil:
		return joinTo(r.PodSecurity.Subresources, most) + " into pods by their score"
	case r.Impersonation != nil:
		return r.Impersonation.phrase(most)
	case r.Pods != nil:
		return joinTo(r.Subresources, most) + " into pods before every denial"
	}
	text := words(r.Verbs, "any verb", most)
	if slices.Contains(r.Verbs, "*") {
		text += " on"
	}
	resources := withSubresources(r.Resources, r.Subresources)
	if len(resources) > 0 {
		text += " " + words(resources, "all resources", most)
	}
	if slices.Contains(resources, "*") && len(r.APIGroups) > 0 && !slices.Contains(r.APIGroups, "*") {
		text += " of " + joinTo(groupNames(r.APIGroups), most)
	}
	for _, list := range [][]string{r.ResourceKinds, r.NonResourceURLs} {
		if len(list) > 0 {
			text += " " + words(list, "all resources", most)
		}
	}
	return text
}

// phrase states what the entry is about.
func (i *Impersonation) phrase(most int) string {
	list := func(list []string, all string) string {
		if len(list) == 0 {
			return all
		}
		return words(withName(list, "paths"), all, most) // a path has no resource
	}
	if len(i.ActionVerbs) > 0 {
		return list(i.ActionVerbs, "any verb on") + " " + list(i.TargetResources, "all resources") + " while impersonating"
	}
	text := rule.Impersonate + " " + list(i.IdentityResources, "all identities")
	if len(i.Identities) > 0 {
		text += " with name " + list(i.Identities, "*")
	}
	return text
}

// withSubresources returns resources with the subresources of a deny policy's rule.
func withSubresources(resources, subresources []string) []string {
	if len(subresources) == 0 {
		return resources
	}
	var out []string
	for _, resource := range resources {
		if strings.Contains(resource, "/") { // it has its own
			out = append(out, resource)
			continue
		}
		for _, sub := range subresources {
			out = append(out, strings.TrimSuffix(resource+"/"+sub, "/"))
		}
	}
	return out
}

// words returns a list in words: "*" is all, and "-x" beside it is but x.
func words(list []string, all string, most int) string {
	if !slices.Contains(list, "*") {
		return joinTo(list, most)
	}
	var but []string
	for _, entry := range list {
		if name, ok := strings.CutPrefix(entry, "-"); ok {
			but = append(but, name)
		}
	}
	if len(but) > 0 {
		all += " but " + joinTo(but, most)
	}
	return all
}

// groupNames returns API groups with a name for the core group.
func groupNames(groups []string) []string { return withName(groups, "core") }

// withName returns a list with a name for its empty entry.
func withName(list []string, name string) []string {
	out := slices.Clone(list)
	if i := slices.Index(out, ""); i >= 0 {
		out[i] = name
	}
	return out
}

// TypeEntry is an entry of a rule at the point visibility in the newer form, without what restricts
// nothing.
type TypeEntry struct {
	Aggregations *Aggregations       `json:"aggregations,omitempty"`
	Filters      *tables.ShownFilter `json:"filters,omitempty"`
	Visibility   string              `json:"visibility"`
}

// Aggregations are the aggregations that are shown.
type Aggregations struct {
	Exclude []string `json:"exclude"`
	Include []string `json:"include"`
}

func entryOf(e *tables.VisibilityEntry) TypeEntry {
	out := TypeEntry{Filters: e.Filter, Visibility: e.Visibility}
	if e.Include != nil || e.Exclude != nil {
		out.Aggregations = &Aggregations{e.Exclude, e.Include}
	}
	return out
}

// Clusters are the clusters of a statement of the point visibility.
type Clusters struct {
	// Default is "all" for what no rule selects.
	Default  string     `json:"default,omitempty"`
	Not      []Selector `json:"not,omitempty"`
	Selector *Selector  `json:"selector,omitempty"`
}

// Selector selects clusters: it must have one of the names, the pattern or the labels.
type Selector struct {
	MatchLabels  *map[string]string `json:"matchLabels,omitempty"`
	MatchNames   []string           `json:"matchNames,omitempty"`
	MatchPattern string             `json:"matchPattern,omitempty"`
}

func selectorOf(r *tables.VisibilityRule) *Selector {
	return &Selector{r.Labels, r.Names, r.Pattern}
}

// phrase states which clusters are selected.
func (c *Clusters) phrase(most int) string {
	s := c.Selector
	if s == nil {
		return "clusters that no rule selects"
	}
	var parts []string
	if len(s.MatchNames) > 0 {
		if parts = append(parts, joinTo(s.MatchNames, most)); len(s.MatchNames) == 1 && s.MatchPattern == "" && s.MatchLabels == nil {
			return "cluster " + s.MatchNames[0]
		}
	}
	if s.MatchPattern != "" && s.MatchPattern != ".*" {
		parts = append(parts, "like "+s.MatchPattern)
	}
	if s.MatchLabels != nil {
		var list []string
		for _, key := range slices.Sorted(maps.Keys(*s.MatchLabels)) {
			list = append(list, key+"="+(*s.MatchLabels)[key])
		}
		parts = append(parts, "with label "+joinTo(list, most))
	}
	if len(parts) == 0 {
		return "all clusters"
	}
	return "clusters " + strings.Join(parts, " or ")
}
