package reach_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/tests/revisions"
)

// negated are a role of the cluster with all but some verbs and kinds, one that denies, and
// bindings. What they may change leads to thousands of worlds.
const negated = `
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: most, namespace: master}, rules: [{verbs: ["*", "-delete"], resourceKinds: ["*", "-secrets", "-pods/exec"]}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: binder, namespace: master}, rules: [{verbs: [create, update], resourceKinds: [rolebindings, pods]}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: no, namespace: master}, rules: [{deny: true, verbs: [update, create], resourceKinds: ["*", "-pods", "-roles"]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: most, namespace: master}, roleRef: {name: most}, userNames: [ann], groupNames: [ops]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: binder, namespace: master}, roleRef: {name: binder}, userNames: [bob], groupNames: [dev]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: no, namespace: master}, roleRef: {name: "no"}, userNames: [ann, bob]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: local, namespace: shop}, roleRef: {namespace: master, name: binder}, userNames: [carl, "system:serviceaccount:shop:robot"]}
`

// A question is asked once for all worlds in which the same decides it, and not in worlds that lead
// to no better path.
func TestQuestionsAreFew(t *testing.T) {
	documents := parse(t, negated)
	for changes, most := range map[int]int{1: 400, 3: 400} {
		o := options(t, documents, revisions.Of(t, texts(t, documents)))
		o.MaxChanges = changes
		report, asked, err := reach.FindAsking(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if asked > most {
			t.Errorf("%d changes: asked %d questions, want at most %d", changes, asked, most)
		}
		if len(report.Paths) < 9 {
			t.Errorf("%d changes: got %d paths, want at least 9", changes, len(report.Paths))
		}
	}
}

// Leaving out subjects whose paths are known changes no path.
func TestPathsAreThoseOfAWholeSearch(t *testing.T) {
	hops := 0
	for n := range 4 * *pairs {
		m := maker{rand.New(rand.NewPCG(*seed+uint64(n), 11))}
		documents := m.documents()
		side := revisions.Of(t, texts(t, documents))
		found := make([]string, 2)
		for i, isWhole := range []bool{false, true} {
			o := options(t, documents, side)
			o.MaxChanges = 1 + n%2
			report, err := reach.FindThrough(t.Context(), o, isWhole)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", *seed+uint64(n), err, strings.Join(texts(t, documents), "\n"))
			}
			for _, p := range report.Paths {
				hops += len(p.Hops)
			}
			found[i] = statement.JSONText(report)
		}
		if found[0] != found[1] {
			t.Fatalf("seed %d: got\n%s\nwant\n%s\n%s", *seed+uint64(n), found[0], found[1], strings.Join(texts(t, documents), "\n"))
		}
	}
	if hops == 0 {
		t.Error("no path was compared")
	}
}

// A role of a namespace cannot have paths: one that a hop writes must be valid.
func TestRolesOfANamespaceHaveNoPaths(t *testing.T) {
	const rbacAPI = "rbac.authorization.k8s.io"
	rules := "[" + allow("create, escalate, bind", rbacAPI, "roles, rolebindings") + "]"
	documents := grantedTo(t, places, "u", "shop", rules)
	o := options(t, documents, revisions.Of(t, texts(t, documents)))
	o.From, o.To, o.MaxChanges = []string{"user:u"}, []string{"namespace-admin:shop"}, 3
	report, err := reach.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Paths) != 1 || len(report.Paths[0].Hops) != 2 {
		t.Errorf("got %s, want a path of two hops", statement.JSONText(report.Paths))
	}
}
