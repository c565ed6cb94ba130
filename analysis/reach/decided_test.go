package reach_test

import (
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
)

// Who is an administrator is decided by the documents: an expression may deny what a rule allows.
func TestAdministratorsAreDecided(t *testing.T) {
	const all = `{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": {"name": "all", "namespace": "master"}, "rules": [{"verbs": ["*"], "resourceKinds": ["*"]}]}
---
{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": {"name": "all", "namespace": "master"}, "roleRef": {"name": "all"}, "groupNames": ["dev"]}
---
{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": {"name": "no", "namespace": "master"}, "roleRef": {"name": "no"}, "groupNames": ["dev"]}
---
{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": {"name": "no", "namespace": "master"}, "rules": [{"deny": true, "verbs": ["*"], "resourceKinds": ["*"],
 "attributeRestrictions": {"kind": "cel", "expression": "request.verb `
	for denial, want := range map[string]int{`!= ''"}}]}`: 0, `== ''"}}]}`: 1} {
		documents := parse(t, all+denial)
		side := revisions.Of(t, texts(t, documents))
		o := options(t, documents, side)
		o.From, o.To, o.GitOnly, o.Class = []string{"group:dev"}, []string{reach.ClusterAdmin}, true, reach.Certain
		report, err := reach.Find(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Paths) != want {
			t.Errorf("%s: got paths %+v, want %d", denial, report.Paths, want)
		}
	}
}

// An escalation relaxes pod security for the groups that it allows, and for no other one.
func TestEscalationsAreThoseOfAGroup(t *testing.T) {
	documents := parse(t, `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods/exec"]}]}
---
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "r", "namespace": "shop"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
 "subjects": [{"kind": "Group", "name": "dev"}, {"kind": "Group", "name": "sre"}]}
---
{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": {"name": "p"}, "spec": {"podSecurityRules": {"riskFactors": {}, "thresholds": []}}}
---
{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "BreakglassEscalation", "metadata": {"name": "fix", "namespace": "ops"}, "spec": {"escalatedGroup": "adm", "allowed": {"clusters": ["*"], "groups": ["sre"]},
 "approvers": {"users": ["boss"]}, "podSecurityOverrides": {"enabled": true, "maxAllowedScore": 80}}}`)
	side := revisions.Of(t, texts(t, documents))
	for from, want := range map[string]int{"group:dev": 0, "group:sre": 1} {
		o := options(t, documents, side)
		o.From, o.To, o.GitOnly = []string{"group:dev", "group:sre"}, []string{"user:system:serviceaccount:shop:default"}, true
		report, err := reach.Find(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, p := range report.Paths {
			if p.Subject == from {
				found++
			}
		}
		if found != want {
			t.Errorf("%s: got %d paths, want %d: %+v", from, found, want, report.Paths)
		}
	}
}

// Where any name will do, one is asked for that no denial is about, or that a rule is about.
func TestNamesAreChosen(t *testing.T) {
	const bound = `{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": {"name": "r", "namespace": "shop"}, "roleRef": {"namespace": "master", "name": "r"}, "userNames": ["u"]}
---
{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": {"name": "r", "namespace": "master"}, "rules": [{"verbs": ["exec", "update"], "resourceKinds": ["Pod"]`
	const denial = `}]}
---
{"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1", "kind": "DenyPolicy", "metadata": {"name": "d"}, "spec": {"rules": [{"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["o*", "unlisted"]}]}}`
	for name, text := range map[string]string{
		"a pattern of a denial": bound + denial,
		"a name of a rule":      bound + `, "attributeRestrictions": {"fieldsSelect": ["metadata.name=web"]}}]}`,
	} {
		documents := parse(t, text)
		o := options(t, documents, revisions.Of(t, texts(t, documents)))
		o.From, o.To, o.GitOnly = []string{"user:u"}, []string{"user:system:serviceaccount:shop:default"}, true
		report, err := reach.Find(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Paths) != 1 || report.Paths[0].Class != reach.Assumed {
			t.Errorf("%s: got paths %+v, want one that is assumed", name, report.Paths)
		}
	}
}

// Who is bound to a role holds it, whatever the role negates.
func TestRolesWithNegationsAreHeld(t *testing.T) {
	documents := parse(t, `{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": {"name": "edit", "namespace": "master"}, "rules": [{"verbs": ["*", "-delete"], "resourceKinds": ["*", "-Role"]}, {"verbs": ["get", "list", "-list"], "resourceKinds": ["Role"]}]}
---
{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": {"name": "e", "namespace": "shop"}, "roleRef": {"namespace": "master", "name": "edit"}, "groupNames": ["dev"]}
---
{"apiVersion": "writ.dev/v1", "kind": "Role", "metadata": {"name": "view", "namespace": "master"}, "rules": [{"verbs": ["get"], "resourceKinds": ["*", "-Role"]}]}
---
{"apiVersion": "writ.dev/v1", "kind": "RoleBinding", "metadata": {"name": "v", "namespace": "shop"}, "roleRef": {"namespace": "master", "name": "view"}, "groupNames": ["ops"]}`)
	side := revisions.Of(t, texts(t, documents))
	for from, want := range map[string]bool{"group:dev": true, "group:ops": false} {
		o := options(t, documents, side)
		o.From, o.To, o.GitOnly, o.Class = []string{from}, []string{"ROLE:master/edit"}, true, reach.Certain
		report, err := reach.Find(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if held := len(report.Paths) == 1 && len(report.Paths[0].Hops) == 0; held != want {
			t.Errorf("%s: got paths %+v, want one without hops: %t", from, report.Paths, want)
		}
	}
}
