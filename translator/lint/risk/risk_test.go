package risk_test

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/lint/risk"
)

const (
	role    = `{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]}`
	binding = `{kind: ClusterRoleBinding, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [SUBJECT]}`
	account = "{kind: ServiceAccount, namespace: ci, name: a}"
	group   = "{kind: Group, name: g}"
	deny    = `{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: [get], apiGroups: [""], resources: [secrets]RULE}]}}`
)

// The severity of reading Secrets follows from who holds it and from what denials leave.
func TestSeverity(t *testing.T) {
	for _, row := range []struct{ name, subject, rule, want string }{
		{"an account", account, "", "high"},
		{"a group", group, "", "medium"},
		{"everybody", "{kind: Group, name: system:authenticated}", "", "critical"},
		{"a default account", "{kind: ServiceAccount, namespace: ci, name: default}", "", "critical"},
		{"denied", account, "}", ""},
		{"denied in kube-system", account, `, namespaces: {patterns: [kube-system]}}`, "high"},
		{"denied but in some namespaces", account, `, namespaces: {patterns: [kube-system, "w*"]}}`, "medium"},
		{"another name is denied", account, `, resourceNames: [x]}`, "high"},
	} {
		t.Run(row.name, func(t *testing.T) {
			documents := []string{role, strings.Replace(binding, "SUBJECT", row.subject, 1)}
			if row.rule != "" {
				documents = append(documents, strings.Replace(deny, "RULE}", row.rule, 1))
			}
			side := revisions.Of(t, documents)
			findings, err := risk.Of(t.Context(), side.World)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range findings {
				if f.Code != "risk-read-secrets" {
					continue
				}
				got = f.Severity
				if outcome := revisions.Outcome(t, side, f.Example); outcome != "allow" {
					t.Errorf("the example %v is decided %s", f.Example, outcome)
				}
			}
			if got != row.want {
				t.Errorf("got %q, want %q: %+v", got, row.want, findings)
			}
		})
	}
}
