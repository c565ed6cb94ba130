package deny

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// escalationTests writes, for each escalation with an override, one file: for which requests
// the override is in force.
func escalationTests(deny *tables.Deny, files map[string][]byte) {
	named := make(map[string]*tables.Escalation)
	for i := range deny.Escalations {
		named[deny.Escalations[i].Name] = &deny.Escalations[i]
	}
	for i := range deny.Owned[:min(len(deny.Owned), emit.TestedRoles)] {
		owned := &deny.Owned[i]
		name := emit.FileName(owned.Name)
		files["compiled/tests/escalations/"+name+"_test.rego"] = escalationTest(name, named[owned.Name], owned)
	}
}

func escalationTest(name string, named, owned *tables.Escalation) []byte {
	of := cmp.Or(named, owned)
	base := request{"escalation": of.Name, "cluster": "", "groups": []string{}, "namespace": ""}
	place(base, of.NamespaceScope)
	v := variations{base: base}
	if of.NamespaceScope != nil {
		v.namespaces(of.NamespaceScope)
	}
	if named != nil {
		if len(named.Clusters) > 0 {
			base["cluster"] = named.Clusters[0].Sample()
		}
		if len(named.Groups) > 0 {
			base["groups"] = []string{named.Groups[0]}
		}
		v.globs("cluster", named.Clusters)
		for _, group := range append([]string{"writ-other"}, named.Groups...) {
			v.add("group "+group, "groups", []string{group})
		}
		v.add("another escalation", "escalation", "writ-other")
	}
	rows := make(map[string]any)
	add := func(note string, with map[string]any, r request) {
		scope := of.NamespaceScope == nil || rule.InNamespaces(of.NamespaceScope).Match(r.asWords()) == rule.Yes
		groups, _ := r["groups"].([]string)
		isOnCluster := func(g tables.PathGlob) bool { return g.Match(r.text("cluster")) }
		isNamed := named != nil && scope && r.text("escalation") == of.Name &&
			slices.ContainsFunc(named.Clusters, isOnCluster) && len(groups) > 0 && slices.Contains(named.Groups, groups[0])
		rows[note] = map[string]any{"with": with, "want": []bool{scope, isNamed}}
	}
	add("as it is", map[string]any{}, base)
	for _, variation := range v.list {
		add(variation.note, map[string]any{variation.key: variation.value}, base.with(variation.key, variation.value))
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `# METADATA
# description: |
#   When the override of one escalation is in force. Generated from it; its source: %[1]s
package compiled.tests.escalations%[2]s

_override := %[3]s

_base := %[4]s

_is_owned(row) if {
	request := object.union(_base, row.with)
	data.compiled.escalations.owned%[5]s == _override with input as request
} else := false

_is_named(row) if {
	request := object.union(_base, row.with)
	_override in data.compiled.escalations.overrides with input as request
} else := false
`, regotext.Comment(of.Source), regotext.Key(name+"_test"), regotext.Constant(override(of)), regotext.Constant(base), regotext.Key(of.Name))
	writeRows(&out, "test_override", "[_is_owned(row), _is_named(row)] == row.want", rows)
	return out.Bytes()
}
