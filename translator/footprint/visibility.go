package footprint

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// Visibility is the footprint of the visibility point, for authorizations. The names of
// the principal, the action, the type and the cluster are always read.
type Visibility struct {
	// Groups are those that policies name, sorted.
	Groups []string `json:"groups,omitempty"`
	// Clusters are the names that rules select. Their patterns are RE2 expressions.
	Clusters Attribute `json:"clusters"`
	// ClusterLabels are the labels by which rules select clusters.
	ClusterLabels Labels `json:"clusterLabels,omitempty"`
}

// visibilityOf returns the footprint of a table, nil for one that decides nothing.
func visibilityOf(v *tables.Visibility) *Visibility {
	if v == nil || v.IsEmpty() {
		return nil
	}
	f := &Visibility{ClusterLabels: make(Labels)}
	for i := range v.Policies {
		f.Groups = append(f.Groups, v.Policies[i].Groups...)
		for j := range v.Policies[i].Rules {
			f.addRule(&v.Policies[i].Rules[j])
		}
	}
	f.Groups = entries(f.Groups)
	f.Clusters = Attribute{Values: entries(f.Clusters.Values), Patterns: entries(f.Clusters.Patterns)}
	for _, label := range slices.Collect(maps.Keys(f.ClusterLabels)) {
		f.ClusterLabels[label] = tables.Entries(f.ClusterLabels[label])
	}
	return f
}

func (f *Visibility) addRule(r *tables.VisibilityRule) {
	f.Clusters.Values = append(f.Clusters.Values, r.Names...)
	if r.Pattern != "" {
		f.Clusters.Patterns = append(f.Clusters.Patterns, r.Pattern)
	}
	if r.Labels != nil {
		for label, value := range *r.Labels {
			f.ClusterLabels[label] = append(f.ClusterLabels[label], value)
		}
	}
}
