package revisions

import (
	"fmt"
	"maps"
	"slices"
)

// riskySubjects are principals as subjects of bindings.
var riskySubjects = map[string]string{
	"user:u": "{kind: User, apiGroup: rbac.authorization.k8s.io, name: u}", "group:g": "{kind: Group, apiGroup: rbac.authorization.k8s.io, name: g}",
	"user:system:serviceaccount:ci:a": "{kind: ServiceAccount, namespace: ci, name: a}",
	"group:system:authenticated":      "{kind: Group, apiGroup: rbac.authorization.k8s.io, name: system:authenticated}",
}

// RiskyPrincipals are those of the documents that Risky returns, sorted.
func RiskyPrincipals() []string { return slices.Sorted(maps.Keys(riskySubjects)) }

// Risky returns bindings of roles with dangerous powers, and sometimes a denial of some of them.
func (random Random) Risky() []string {
	var out []string
	for i := range 3 {
		names, where, kind := "", "", "ClusterRoleBinding"
		if random.IntN(4) == 0 {
			names = ", resourceNames: [x]"
		}
		if random.IntN(2) == 0 {
			where, kind = "namespace: "+random.Pick("shop", "kube-system")+", ", "RoleBinding"
		}
		out = append(out,
			fmt.Sprintf(`{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: k%d}, rules: [{verbs: %s, apiGroups: %s, resources: %s%s}]}`, i,
				random.some("get", "watch", "create", "patch", "update", "delete", "impersonate", "bind", "escalate", "*"), random.some("", "apps", "rbac.authorization.k8s.io", "*"),
				random.some("secrets", "pods", "pods/exec", "*/exec", "deployments", "serviceaccounts/token", "users", "clusterroles", "rolebindings", "nodes/proxy", "configmaps", "*"), names),
			fmt.Sprintf(`{kind: %s, apiVersion: rbac.authorization.k8s.io/v1, metadata: {%sname: k%d}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: k%d}, subjects: [%s]}`,
				kind, where, i, i, riskySubjects[random.Pick(RiskyPrincipals()...)]))
	}
	if random.IntN(2) == 0 {
		out = append(out, fmt.Sprintf(`{kind: DenyPolicy, apiVersion: breakglass.t-caas.telekom.com/v1alpha1, metadata: {name: d}, spec: {rules: [{verbs: %s, apiGroups: [""], resources: %s, namespaces: {patterns: %s}}]}}`,
			random.some("get", "create", "delete"), random.some("secrets", "pods", "pods/exec"), random.some("shop", "kube-*", "*")))
	}
	return out
}
