package access

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// clusterRole returns a ClusterRole with one rule for a resource of its own name. With
// selectors it is aggregated, and its own rule is ignored.
func clusterRole(name string, labels map[string]string, selectors ...syntax.Selector) *KubernetesRole {
	role := &KubernetesRole{
		Header: syntax.Header{Family: FamilyKubernetes, Kind: kindClusterRole, Name: name, At: diag.Position{File: name, Line: 1}},
		Labels: labels,
		Rules:  []KubernetesRule{{KubernetesLists: &tables.KubernetesLists{Verbs: []string{"get"}, Groups: []string{""}, Resources: []string{name}}}},
	}
	if len(selectors) > 0 {
		role.Aggregation = &Aggregation{Selectors: selectors}
	}
	return role
}

func in(key string, values ...string) syntax.Selector {
	return syntax.Selector{Requirements: []syntax.Requirement{{Key: key, Operator: "In", Values: values}}}
}

// resources lists the resource of each effective rule, by role.
func resources(r *Resolved) map[string][]string {
	out := make(map[string][]string)
	for _, role := range r.KubernetesRoles {
		out[role.Document.Name] = []string{}
		for _, rule := range role.Rules {
			out[role.Document.Name] = append(out[role.Document.Name], rule.Resources[0])
		}
	}
	return out
}

// The effective rules of a role are those of the fixed point over its selectors, for
// cycles and chains of any form.
func TestAggregationIsTheLeastFixedPoint(t *testing.T) {
	values := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		var documents []syntax.Document
		var roles []*KubernetesRole
		for i := range 8 {
			var selectors []syntax.Selector
			for range rapid.IntRange(0, 2).Draw(t, "selectors") {
				selectors = append(selectors, in("to", rapid.SampledFrom(values).Draw(t, "value")))
			}
			labels := map[string]string{"to": rapid.SampledFrom(values).Draw(t, "label")}
			role := clusterRole(fmt.Sprintf("r%d", i), labels, selectors...)
			roles, documents = append(roles, role), append(documents, role)
		}
		resolved, _ := resolveDocuments(documents)
		got := resources(resolved)
		for name, want := range fixedPoint(roles) {
			slices.Sort(got[name])
			if !slices.Equal(got[name], want) {
				t.Errorf("%s: got %v, want %v", name, got[name], want)
			}
		}
	})
}

// fixedPoint is a naive implementation: sets that grow until none changes.
func fixedPoint(roles []*KubernetesRole) map[string][]string {
	sets := make(map[string][]string)
	for _, role := range roles {
		sets[role.Name] = []string{}
		if role.Aggregation == nil {
			sets[role.Name] = []string{role.Name}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, role := range roles {
			if role.Aggregation == nil {
				continue
			}
			for _, s := range role.Aggregation.Selectors {
				for _, other := range roles {
					if other == role || other.Labels["to"] != s.Requirements[0].Values[0] {
						continue
					}
					for _, resource := range sets[other.Name] {
						if !slices.Contains(sets[role.Name], resource) {
							sets[role.Name] = append(sets[role.Name], resource)
							changed = true
						}
					}
				}
			}
		}
	}
	for _, set := range sets {
		slices.Sort(set)
	}
	return sets
}

// Roles that all select each other are reported and do not exhaust memory.
func TestAggregationIsBounded(t *testing.T) {
	var documents []syntax.Document
	for i := range 3000 {
		documents = append(documents, clusterRole(fmt.Sprintf("plain-%d", i), nil), clusterRole(fmt.Sprintf("agg-%d", i), nil, syntax.Selector{}))
	}
	_, list := resolveDocuments(documents)
	if got := countOf(list, diag.AggregationLimit); got != 1 {
		t.Errorf("got %d diagnostics %s, want 1", got, diag.AggregationLimit)
	}
}

// A selector that an API server rejects is an error even if decoding accepts it,
// because its meaning is not defined.
func TestBadSelectorIsRefused(t *testing.T) {
	for _, s := range []syntax.Selector{
		{Requirements: []syntax.Requirement{{Key: "to", Operator: "Near", Values: []string{"a"}}}},
		{Requirements: []syntax.Requirement{{Key: "to", Operator: "In"}}},
		{Requirements: []syntax.Requirement{{Key: "not a key", Operator: "Exists"}}},
	} {
		resolved, list := resolveDocuments([]syntax.Document{clusterRole("r", nil, s), clusterRole("other", nil)})
		if got := countOf(list, diag.BadValue); got != 1 || !list.HasErrors() {
			t.Errorf("%v: got %d diagnostics %s, want 1", s, got, diag.BadValue)
		}
		if got := resources(resolved)["r"]; len(got) > 0 {
			t.Errorf("%v: got rules of %v, want none", s, got)
		}
	}
}

func countOf(list diag.List, code diag.Code) int {
	n := 0
	for _, d := range list {
		if d.Code == code {
			n++
		}
	}
	return n
}
