package reach_test

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
)

// The edges that graphs of scanners have, by their names there: each is reported, and where a
// denial cuts it, the denial is named with its line.
func TestEdgesOfScanners(t *testing.T) {
	const rbacAPI = "rbac.authorization.k8s.io"
	const guarded = `{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: guard}, spec: {rules: [{verbs: ["*"], apiGroups: ["*"], resources: [%RESOURCE%], subresources: ["*"]}]}}`
	for _, row := range []struct{ name, scope, rules, to, edge, guard string }{
		{"POD_CREATE", "shop", allow("create", "", "pods"), robot, "certain pod-create", "pods"},
		{"POD_PATCH", "shop", allow("patch", "", "pods"), robot, "assumed pod-edit", "pods"},
		{"POD_EXEC", "shop", allow("create", "", "pods/exec"), robot, "assumed exec", "pods"},
		{"POD_ATTACH", "shop", allow("create", "", "pods/attach"), robot, "assumed attach", "pods"},
		{"TOKEN_LIST", "shop", allow("list", "", "secrets"), robot, "assumed secret-read", "secrets"},
		{"TOKEN_BRUTEFORCE", "shop", allow("get", "", "secrets"), robot, "assumed secret-read", "secrets"},
		{"token request", "shop", allow("create", "", "serviceaccounts/token"), robot, "certain token", "serviceaccounts"},
		{"IDENTITY_IMPERSONATE", "", allow("impersonate", "", "users"), "user:alice", "certain impersonate", "users"},
		{"ROLE_BIND", "", allow("create, bind", rbacAPI, "clusterroles, clusterrolebindings"), "cluster-admin", "certain bind", "clusterrolebindings"},
		{"workload creation", "shop", allow("create", "apps", "deployments"), robot, "certain workload-create", "deployments"},
		{"escalate", "", allow("patch, escalate", rbacAPI, "clusterroles"), "cluster-admin", "certain escalate", "clusterroles"},
		{"nodes/proxy", "", allow("get", "", "nodes/proxy"), robot, "assumed nodes-proxy", "nodes"},
		{"mutating webhooks", "", allow("create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations"), "cluster-admin", "assumed admission", "mutatingwebhookconfigurations"},
		{"certificates", "", allow("create, patch, approve", "certificates.k8s.io", "certificatesigningrequests, certificatesigningrequests/approval, signers"), "user:alice", "certain csr", "signers"},
	} {
		t.Run(row.name, func(t *testing.T) {
			documents := grantedTo(t, places, "u", row.scope, "["+row.rules+"]")
			if got := edgeTo(t, documents, row.to); got != row.edge {
				t.Errorf("got %q, want %q", got, row.edge)
			}
			documents = append(documents, parse(t, strings.Replace(guarded, "%RESOURCE%", row.guard, 1))...)
			if got, want := edgeTo(t, documents, row.to), row.edge+" denied by DenyPolicy guard, rule 0"; !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// What graphs of scanners report and what is not a path: nothing denies it, but its scope, its
// foothold or a check of the API server refutes it.
func TestPathsOfScannersThatAreRefuted(t *testing.T) {
	const rbacAPI = "rbac.authorization.k8s.io"
	for _, row := range []struct{ name, scope, rules, to string }{
		{"a RoleBinding to cluster-admin is not the cluster", "shop", allow(`"*"`, "*", `"*"`), "cluster-admin"},
		{"writing bindings in a namespace is not the cluster", "shop", allow("create, bind", rbacAPI, "rolebindings, clusterroles"), "cluster-admin"},
		{"exec by get", "shop", allow("get", "", "pods/exec"), robot},
		{"bindings without bind", "", allow("create, update, patch", rbacAPI, "clusterrolebindings"), "cluster-admin"},
		{"roles without escalate", "", allow("create, update, patch", rbacAPI, "clusterroles"), "cluster-admin"},
		{"bind without a binding", "", allow("bind", rbacAPI, "clusterroles"), "cluster-admin"},
		{"nodes/proxy in a namespace", "shop", allow("get", "", "nodes/proxy"), robot},
		{"a group without a user", "", allow("impersonate", "", "groups"), "cluster-admin"},
		{"approval without a signer", "", allow("patch", "certificates.k8s.io", "certificatesigningrequests/approval"), "user:alice"},
		{"validating webhooks", "", allow("create", "admissionregistration.k8s.io", "validatingwebhookconfigurations"), "cluster-admin"},
		{"who acts cannot impersonate again", "", allow("impersonate", "", "users", "middle"), "user:alice"},
	} {
		t.Run(row.name, func(t *testing.T) {
			documents := append(grantedTo(t, places, "u", row.scope, "["+row.rules+"]"), parse(t, middle)...)
			if got := edgeTo(t, documents, row.to); got != "" {
				t.Errorf("got %q, want no path", got)
			}
		})
	}
}

// middle may impersonate alice.
const middle = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: middle}, rules: [{verbs: [impersonate], apiGroups: [""], resources: [users], resourceNames: [alice]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: middle}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: middle}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: middle}]}
`

// edgeTo returns the class and the edge of the first hop of u to a target, and what denies it;
// empty without a path.
func edgeTo(t *testing.T, documents []object, to string) string {
	t.Helper()
	o := options(t, documents, revisions.Of(t, texts(t, documents)))
	o.From, o.To, o.MaxChanges, o.GitOnly = []string{"user:u"}, []string{to}, 3, true
	report, err := reach.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Paths) > 0 {
		return report.Paths[0].Class.String() + " " + report.Paths[0].Hops[0].Edge
	}
	denied, err := reach.Denied(t.Context(), o, report)
	if err != nil {
		t.Fatal(err)
	}
	if len(denied) == 0 {
		return ""
	}
	hop := &denied[0].Hops[0]
	if len(hop.Denies) == 0 {
		t.Fatalf("nothing denies the first hop of %v", denied[0])
	}
	return denied[0].Class.String() + " " + hop.Edge + " denied by " + hop.Denies[0].String()
}
