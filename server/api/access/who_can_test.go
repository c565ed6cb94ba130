package access

import (
	"slices"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/source"
)

func activate(t *testing.T, documents string, o engine.Options) decision.Policies {
	t.Helper()
	return activateFor(t, "", documents, o)
}

// activateFor activates documents for a cluster, or for all.
func activateFor(t *testing.T, cluster, documents string, o engine.Options) decision.Policies {
	t.Helper()
	snapshot := source.Snapshot{Cluster: cluster, Files: []source.File{source.NewFile("p.yaml", []byte(documents))}}
	e, list := revisions.Engine(t, snapshot, o)
	if e == nil {
		t.Fatal(list)
	}
	return e
}

// Each subject is tried alone, and a subject whom a rule denies is an exception.
func TestAskWhoCan(t *testing.T) {
	e := activate(t, `{apiVersion: writ.dev/v1, kind: Role, metadata: {name: edit, namespace: master}, rules: [{verbs: ["*"], resourceKinds: ["*"]}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: careful, namespace: master}, rules: [{deny: true, verbs: [delete], resourceKinds: [pods]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: everyone, namespace: master}, roleRef: {name: edit, namespace: master}, userNames: [root]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: editors, namespace: hammer}, roleRef: {name: edit, namespace: master}, userNames: [edgar, "system:serviceaccount:hammer:bot"], groupNames: [dev]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: careful, namespace: hammer}, roleRef: {name: careful, namespace: master}, userNames: [edgar]}
`, engine.Options{})
	got := AskWhoCan(t.Context(), e, &decision.Request{Verb: "delete", Resource: "pods", Namespace: "hammer"})
	if want := []string{"root"}; !slices.Equal(got.Users, want) {
		t.Errorf("got users %q, want %q", got.Users, want)
	}
	if want := []string{"dev"}; !slices.Equal(got.Groups, want) {
		t.Errorf("got groups %q, want %q", got.Groups, want)
	}
	if want := []string{"system:serviceaccount:hammer:bot"}; !slices.Equal(got.ServiceAccounts, want) {
		t.Errorf("got accounts %q, want %q", got.ServiceAccounts, want)
	}
	if want := []Exception{{Kind: "User", Name: "edgar", Step: 5}}; !slices.Equal(got.Except, want) {
		t.Errorf("got exceptions %v, want %v", got.Except, want)
	}
}

// A revision of one cluster lists only those who are allowed there.
func TestAskWhoCanOfAnotherCluster(t *testing.T) {
	e := activateFor(t, "prod", `{apiVersion: writ.dev/v1, kind: Role, metadata: {name: r, namespace: master}, rules: [{verbs: [get], resourceKinds: [services]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: r, namespace: master}, roleRef: {name: r}, userNames: [alice]}
`, engine.Options{})
	for cluster, want := range map[string]int{"prod": 1, "": 1, "test": 0} {
		if got := AskWhoCan(t.Context(), e, &decision.Request{Verb: "get", Resource: "services", Cluster: cluster}); len(got.Users) != want {
			t.Errorf("cluster %q: got %+v, want %d users", cluster, got, want)
		}
	}
}

// Without a revision no principal is listed.
func TestAskWhoCanOfNothing(t *testing.T) {
	got := AskWhoCan(t.Context(), decision.Unavailable("no revision loaded"), &decision.Request{Verb: "get", Resource: "pods"})
	if got.EvaluationError != "no revision loaded" || len(got.Users)+len(got.Groups)+len(got.ServiceAccounts) != 0 || got.Users == nil {
		t.Errorf("got %+v, want an empty list and the evaluation error", got)
	}
}

// Subjects of one role are decided together only if their bindings hold at the same time, and
// all of them at one instant.
func TestAskWhoCanAtAnInstant(t *testing.T) {
	documents := `{apiVersion: writ.dev/v1, kind: Role, metadata: {name: r, namespace: master}, rules: [{verbs: [get], resourceKinds: [pods]}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: no, namespace: master}, rules: [{deny: true, verbs: [get], resourceKinds: [pods]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: early, namespace: shop}, roleRef: {name: r, namespace: master}, userNames: [ann], groupNames: [a], notAfter: 2026-03-01T10:00:00Z}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: late, namespace: shop}, roleRef: {name: r, namespace: master}, userNames: [bob], groupNames: [b], notBefore: 2026-03-01T10:00:00Z}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: always, namespace: shop}, roleRef: {name: r, namespace: master}, userNames: [cat, dan]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: no, namespace: shop}, roleRef: {name: no, namespace: master}, userNames: [dan], notAfter: 2026-03-01T10:00:00Z}
`
	bound := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var now time.Time
	reads := 0
	e := activate(t, documents, engine.Options{Now: func() time.Time {
		reads++
		return now
	}})
	for _, row := range []struct {
		at            time.Time
		users, groups []string
		except        int
	}{
		{bound.Add(-1), []string{"ann", "cat"}, []string{"a"}, 1},
		{bound, []string{"bob", "cat", "dan"}, []string{"b"}, 0},
	} {
		now, reads = row.at, 0
		got := AskWhoCan(t.Context(), e, &decision.Request{Verb: "get", Resource: "pods", Namespace: "shop"})
		if !slices.Equal(got.Users, row.users) || !slices.Equal(got.Groups, row.groups) || len(got.Except) != row.except {
			t.Errorf("at %s: got users %q, groups %q and exceptions %v, want %q, %q and %d", row.at, got.Users, got.Groups, got.Except, row.users, row.groups, row.except)
		}
		if reads != 1 {
			t.Errorf("at %s: the clock was read %d times, want once", row.at, reads)
		}
	}
}
