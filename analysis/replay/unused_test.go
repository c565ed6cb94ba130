package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/replay"
	"github.com/writ-policy/writ/tests/revisions"
)

// usedBy returns what requests for pods, each with a verb, do not use of documents.
func usedBy(t *testing.T, documents []string, verbs ...string) *replay.Unused {
	t.Helper()
	side := revisions.Of(t, documents)
	var log strings.Builder
	for _, verb := range verbs {
		fmt.Fprintf(&log, `{"request":{"user":"u","verb":%q,"resource":"pods","namespace":"shop"},"decision":{"allowed":true}}`+"\n", verb)
	}
	return run(t, log.String(), replay.Options{Decide: deciderOf(side), Used: side.World}).Unused
}

// Kubernetes compares words as they are written: a word in another case is not needed, and what
// covers the request is.
func TestEntriesInAnotherCaseAreNotNeeded(t *testing.T) {
	for verbs, want := range map[string]string{
		"GET, get": "[GET]", "Get, '*'": "[Get]", "'*', get": "[*]",
	} {
		unused := usedBy(t, []string{
			fmt.Sprintf("{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [%s], apiGroups: [''], resources: [pods]}]}", verbs),
			"{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: u}]}",
		}, "get")
		if len(unused.Entries) != 1 || fmt.Sprint(unused.Entries[0].Verbs) != want {
			t.Errorf("verbs [%s]: got unused entries %+v, want %s", verbs, unused.Entries, want)
		}
	}
}

// Roles of Kubernetes and of Origin may have one name. The use of one is not that of the other.
func TestRolesOfOneNameAreTwo(t *testing.T) {
	unused := usedBy(t, []string{
		"{kind: Policy, apiVersion: writ.dev/v1, metadata: {name: p, namespace: shop}}",
		"{kind: PolicyBinding, apiVersion: writ.dev/v1, metadata: {name: shop, namespace: shop}}",
		"{kind: Role, apiVersion: writ.dev/v1, metadata: {name: r, namespace: shop}, rules: [{verbs: [get, list], resourceKinds: [pods]}]}",
		"{kind: RoleBinding, apiVersion: writ.dev/v1, metadata: {name: b, namespace: shop}, roleRef: {name: r}, userNames: [u]}",
		"{kind: Role, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r, namespace: shop}, rules: [{verbs: [delete], apiGroups: [''], resources: [secrets]}]}",
		"{kind: RoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: c, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: User, name: u}]}",
	}, "get")
	isRule := func(source string) func(replay.UnusedRule) bool {
		return func(r replay.UnusedRule) bool { return r.Source == source }
	}
	if len(unused.Rules) != 1 || !slices.ContainsFunc(unused.Rules, isRule("all.yaml:9")) {
		t.Errorf("got unused rules %+v, want that of line 9", unused.Rules)
	}
	if len(unused.Entries) != 1 || unused.Entries[0].Source != "all.yaml:5" || fmt.Sprint(unused.Entries[0].Verbs, unused.Entries[0].Resources) != "[list] []" {
		t.Errorf("got unused entries %+v, want the verb list of line 5", unused.Entries)
	}
}
