// Package footprint computes what documents can tell apart: for each point, the values
// and patterns of each request attribute that a decision can depend on. It reads tables.
// It does not read requests.
//
// # Design
//
// A footprint may name more than the documents tell apart, and never less: a cache takes
// requests that differ in other values for equal. Users and groups of bindings are not
// repeated: they are the keys of data.compiled.access.subjects.
//
// The footprint is a file of the bundle, so that it is hashed and signed with the rules
// that it describes, and tools can read it. The alternative, to compute it at activation,
// would repeat that work in every replica.
package footprint

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// Version is the version of the meaning of a footprint. A reader ignores footprints of
// another version.
const Version = 3

// Path is the path of the footprint in a bundle.
const Path = "compiled/footprint/data.json"

// Key is the name of the footprint below data.compiled.
const Key = "footprint"

// Footprint states what documents can tell apart. It is immutable.
type Footprint struct {
	Version int    `json:"version"`
	Access  Access `json:"access"`
	// Visibility is nil without visibility policies and metric sources.
	Visibility *Visibility `json:"visibility,omitempty"`
	// Gateway is nil if there are neither gateways nor policies on them.
	Gateway *Gateway `json:"gateway,omitempty"`
}

// Attribute holds the values and patterns by which rules compare an attribute, both
// sorted. Two values that are not among Values and match the same Patterns are the same
// to all rules. A rule that fits every value adds nothing.
type Attribute struct {
	Values   []string `json:"values,omitempty"`
	Patterns []string `json:"patterns,omitempty"`
}

// Labels holds, by label, the values that rules compare it with, sorted. The presence of
// each of these labels can be told apart as well.
type Labels map[string][]string

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
