package reach_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
)

// holding returns how certain it is that a subject holds a role to begin with, and what the report
// states about it: both are empty for a role that is not held.
func holding(t *testing.T, documents []object, from, role string) (class, why string) {
	t.Helper()
	o := options(t, documents, revisions.Of(t, texts(t, documents)))
	o.From, o.To, o.GitOnly = []string{from}, []string{"ROLE:" + role}, true
	report, err := reach.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Paths) == 0 {
		return "", ""
	}
	p := &report.Paths[0]
	if len(p.Hops) > 0 {
		t.Errorf("%s: got %d hops, want none", from, len(p.Hops))
	}
	why = strings.Join(p.Why, ", ")
	if why != "" && !strings.Contains(strings.Join(strings.Fields(report.Text()), " "), "whether it has all of "+p.To+" depends on: "+why) {
		t.Errorf("%s: %q is missing in\n%s", from, why, report.Text())
	}
	return p.Class.String(), why
}

// A role that grants nothing is not a target: everybody would have all of it.
func TestRolesThatGrantNothingAreNotTargets(t *testing.T) {
	documents := parse(t, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: empty}, rules: []}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: empty}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: empty}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: u}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: denies, namespace: master}, rules: [{deny: true, verbs: [delete], resourceKinds: [pods]}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: never, namespace: master}, rules: [{verbs: [delete], resourceKinds: [pods], attributeRestrictions: {fieldsMutatable: [labels]}}, {verbs: [get], resourceKinds: [pods], attributeRestrictions: {fieldsSelect: [spec.nodeName=n]}}]}
`)
	side := revisions.Of(t, texts(t, documents))
	for role, line := range map[string]int{"empty": 1, "master/denies": 5, "master/never": 7} {
		o := options(t, documents, side)
		o.To = []string{"ROLE:" + role}
		_, err := reach.Find(t.Context(), o)
		want := fmt.Sprintf("role %q grants nothing (all.yaml:%d)", role, line)
		if invalid := new(reach.InputError); !errors.As(err, &invalid) || invalid.Field != "to" || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// bound are documents of a role with one rule, which user u has in a namespace, and of another one
// which is user other's.
func bound(t *testing.T, rule, other string, more ...string) []object {
	t.Helper()
	return parse(t, strings.Join(append([]string{`
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: r, namespace: master}, rules: [` + rule + `]}`, `
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: r, namespace: shop}, roleRef: {namespace: master, name: r}, userNames: [u, "system:node:n1"]}`, `
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: o, namespace: master}, rules: [` + other + `]}`, `
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: o, namespace: shop}, roleRef: {namespace: master, name: o}, userNames: [other]}`}, more...), "\n---"))
}

const anyPod = `{verbs: ["*"], resourceKinds: [pods]}`

// Who has a role with an expression has it where the expression holds; of who has another rule with
// an expression this is open, and the report states it.
func TestRolesWithExpressionsAreHeld(t *testing.T) {
	const team = `{verbs: [update], resourceKinds: [pods], attributeRestrictions: {kind: cel, expression: "request.labels.team == 'a'"}}`
	const deny = `
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: d, namespace: shop}, roleRef: {namespace: master, name: d}, userNames: [u]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: d, namespace: master}, rules: [{deny: true, verbs: [update], resourceKinds: [pods]%s}]}`
	for _, row := range []struct {
		note, other string
		more        string
		from        string
		class, why  string
	}{
		{"the role itself", anyPod, "", "user:u", "certain", ""},
		{"without the condition", anyPod, "", "user:other", "certain", ""},
		{"less", `{verbs: [get], resourceKinds: [pods]}`, "", "user:other", "", ""},
		{"the same condition", team, "", "user:other", "certain", ""},
		{"another condition", strings.ReplaceAll(team, "'a'", "'b'"), "", "user:other", "possible", "cel (all.yaml:1)"},
		{"denied", anyPod, fmt.Sprintf(deny, ""), "user:u", "", ""},
		{"denied where it holds", anyPod, fmt.Sprintf(deny, `, attributeRestrictions: {kind: cel, expression: "request.labels.team == 'a'"}`), "user:u", "", ""},
		{"denied on another condition", anyPod, fmt.Sprintf(deny, `, attributeRestrictions: {kind: cel, expression: "request.name == 'x'"}`), "user:u", "possible", "cel (all.yaml:1)"},
		{"a stranger", anyPod, "", "user:stranger", "", ""},
	} {
		more := []string{}
		if row.more != "" {
			more = append(more, row.more)
		}
		if class, why := holding(t, bound(t, team, row.other, more...), row.from, "master/r"); class != row.class || why != row.why {
			t.Errorf("%s: got %q, depending on %q; want %q, %q", row.note, class, why, row.class, row.why)
		}
	}
}

// Who has a role whose rules some requests alone meet has it, and so has who may do more.
func TestRolesOfSomeRequestsAreHeld(t *testing.T) {
	for _, row := range []struct{ rule, less string }{
		{`{verbs: [list, get], resourceKinds: [pods], attributeRestrictions: {fieldsSelect: [spec.nodeName=n1]}}`, `{verbs: [list], resourceKinds: [pods], attributeRestrictions: {fieldsSelect: [spec.nodeName=n2]}}`},
		{`{verbs: ["*"], resourceKinds: ["*"], attributeRestrictions: {fieldsSelect: [spec.nodeName=n1]}}`, `{verbs: [list], resourceKinds: ["*"]}`},
		{`{verbs: ["*"], resourceKinds: [pods], attributeRestrictions: {fieldsSelect: [metadata.namespace=shop, metadata.name=web]}}`, `{verbs: ["*"], resourceKinds: [pods], attributeRestrictions: {fieldsSelect: [metadata.name=web2]}}`},
		{`{verbs: ["*"], resourceKinds: ["*"], attributeRestrictions: {kind: sameMinionRestriction}}`, `{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: sameMinionRestriction}}`},
	} {
		for from, want := range map[string]string{"user:u": "certain", "user:system:node:n1": "certain", "user:other": ""} {
			if class, why := holding(t, bound(t, row.rule, row.less), from, "master/r"); class != want || why != "" {
				t.Errorf("%s: %s: got %q, depending on %q; want %q", row.rule, from, class, why, want)
			}
		}
	}
}

// A role with paths that is bound in a namespace grants no path there.
func TestRolesAreHeldWithoutPathsInANamespace(t *testing.T) {
	documents := parse(t, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}, {verbs: ["*"], nonResourceURLs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: all, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: u}]}
`)
	for from, want := range map[string]string{"user:u": "certain", "user:other": ""} {
		if class, _ := holding(t, documents, from, "all"); class != want {
			t.Errorf("%s: got %q, want %q", from, class, want)
		}
	}
}
