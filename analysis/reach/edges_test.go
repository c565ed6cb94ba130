package reach_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
)

// places are two namespaces with an account each, in one of which pods are denied, and subjects
// to become. alice is a cluster administrator.
const places = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: everything}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: nothing}, rules: [{verbs: [get], apiGroups: [nothing.invalid], resources: [nothing]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: alice}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: alice}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: robot, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nothing}, subjects: [{kind: ServiceAccount, name: robot, namespace: shop}, {kind: ServiceAccount, name: second, namespace: shop}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: clerk, namespace: bank}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nothing}, subjects: [{kind: ServiceAccount, name: clerk, namespace: bank}, {kind: Group, apiGroup: rbac.authorization.k8s.io, name: ops}, {kind: User, apiGroup: rbac.authorization.k8s.io, name: "system:node:n1"}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: local, namespace: shop}, rules: [{verbs: [get], apiGroups: [nothing.invalid], resources: [nothing]}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: no-pods}, spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods], namespaces: [bank]}]}}
---
`

const (
	robot = "user:system:serviceaccount:shop:robot"
	clerk = "user:system:serviceaccount:bank:clerk"
)

// allow returns a rule as documents write it.
func allow(verbs, group, resources string, names ...string) string {
	rule := "{verbs: [" + verbs + "], apiGroups: [\"" + group + "\"], resources: [" + resources + "]"
	if len(names) > 0 {
		rule += ", resourceNames: [\"" + strings.Join(names, `", "`) + "\"]"
	}
	return rule + "}"
}

// TestEdges has a row for each edge: the requests of its hop, whom they lead to and how
// certainly; and rows for what resembles an edge and is not one.
func TestEdges(t *testing.T) {
	const (
		rbacAPI      = "rbac.authorization.k8s.io"
		certificates = "certificates.k8s.io"
		authn        = "authentication.k8s.io"
		admission    = "admissionregistration.k8s.io"
		clientSigner = "kubernetes.io/kube-apiserver-client"
		nodeSigner   = "kubernetes.io/kube-apiserver-client-kubelet"
	)
	csr := func(signer string) string {
		return allow("create", certificates, "certificatesigningrequests") + ", " + allow("patch", certificates, "certificatesigningrequests/approval") + ", " + allow("approve", certificates, "signers", signer)
	}
	type row struct{ note, scope, rules, to, want string }
	rows := []row{
		{"pods", "shop", allow("create", "", "pods"), robot, "certain pod-create: create pods in shop"},
		{"pods of another namespace", "shop", allow("create", "", "pods"), clerk, ""},
		{"pods that are denied", "bank", allow("create", "", "pods"), clerk, ""},
		{"a pod's image", "bank", allow("patch", "", "pods"), clerk, "assumed pod-edit: patch pods in bank"},
		{"exec", "shop", allow("create", "", "pods/exec"), robot, "assumed exec: create pods/exec in shop"},
		{"exec by get alone", "shop", allow("get", "", "pods/exec"), robot, ""},
		{"attach", "shop", allow("create", "", "pods/attach"), robot, "assumed attach: create pods/attach in shop"},
		{"attach by get alone", "shop", allow("get", "", "pods/attach"), robot, ""},
		{"ephemeral containers", "shop", allow("update", "", "pods/ephemeralcontainers"), robot, "assumed ephemeral: update pods/ephemeralcontainers in shop"},
		{"a port", "shop", allow("create", "", "pods/portforward"), robot, "possible portforward: create pods/portforward in shop"},
		{"a token", "shop", allow("create", "", "serviceaccounts/token", "robot"), robot, "certain token: create serviceaccounts/token robot in shop"},
		{"a token of another account", "shop", allow("create", "", "serviceaccounts/token", "second"), robot, ""},
		{"reading a Secret", "shop", allow("get", "", "secrets"), robot, "assumed secret-read: get secrets in shop"},
		{"listing Secrets", "shop", allow("list", "", "secrets"), robot, "assumed secret-read: list secrets in shop"},
		{"watching Secrets", "shop", allow("watch", "", "secrets"), robot, "assumed secret-read: watch secrets in shop"},
		{"a new Secret", "shop", allow("create, get", "", "secrets"), robot, "certain secret-mint: create secrets in shop, get secrets in shop"},
		{"a new Secret that cannot be read", "shop", allow("create", "", "secrets"), robot, ""},
		{"a user", "", allow("impersonate", "", "users", "alice"), "user:alice", "certain impersonate: impersonate users alice"},
		{"an account", "shop", allow("impersonate", "", "serviceaccounts", "robot"), robot, "certain impersonate: impersonate serviceaccounts robot in shop"},
		{"a user by a grant in a namespace", "shop", allow("impersonate", "", "users", "alice"), "user:alice", ""},
		{"a group with a user", "", allow("impersonate", "", "users, groups", "alice", "ops"), "group:ops", "certain impersonate: impersonate users alice, impersonate groups ops"},
		{"a group without a user", "", allow("impersonate", "", "groups", "ops"), "group:ops", ""},
		{"system:masters", "", allow("impersonate", "", "users, groups", "someone", "system:masters"), "cluster-admin", "certain impersonate: impersonate users someone, impersonate groups system:masters"},
		{"a user, constrained", "", allow("impersonate:user-info", authn, "users", "alice"), "user:alice", "certain impersonate: impersonate:user-info users alice"},
		{"a user in the core group, constrained", "", allow("impersonate:user-info", "", "users", "alice"), "user:alice", ""},
		{"system:masters, constrained", "", allow("impersonate:user-info", authn, "users, groups", "someone", "system:masters"), "group:system:masters", ""},
		{"an account, constrained", "shop", allow("impersonate:serviceaccount", authn, "serviceaccounts", "robot"), robot, "certain impersonate: impersonate:serviceaccount serviceaccounts robot in shop"},
		{"a node, constrained", "", allow("impersonate:arbitrary-node", authn, "nodes", "n1"), "user:system:node:n1", "certain impersonate: impersonate:arbitrary-node nodes n1"},
		{"acting, constrained, without the action", "", allow("impersonate:user-info", authn, "users", "alice"), "cluster-admin", ""},
		{"acting, constrained, with the action", "", allow("impersonate:user-info", authn, "users", "alice") + ", " + allow(`"impersonate-on:user-info:*"`, "*", `"*"`), "cluster-admin", "certain impersonate: impersonate:user-info users alice"},
		{"a user that only a rule names", "", allow("impersonate", "", "users", "sleeper"), "user:sleeper", "certain impersonate: impersonate users sleeper"},
		{"a node that no binding names", "", allow("impersonate:arbitrary-node", authn, "nodes", "n9"), "group:system:nodes", "certain impersonate: impersonate:arbitrary-node nodes n9"},
		{"a token of an account that no binding names", "shop", allow("create", "", "serviceaccounts/token", "third"), "group:system:serviceaccounts:shop", "certain token: create serviceaccounts/token third in shop"},
		{"an account that no binding names", "shop", allow("impersonate", "", "serviceaccounts", "fourth"), "group:system:serviceaccounts:shop", "certain impersonate: impersonate serviceaccounts fourth in shop"},
		{"a certificate of a user", "", csr(clientSigner), "user:alice", "certain csr: create certificatesigningrequests, patch certificatesigningrequests/approval, approve signers " + clientSigner},
		{"a certificate of system:masters", "", csr(clientSigner), "group:system:masters", ""},
		{"a certificate without approval", "", allow("create", certificates, "certificatesigningrequests") + ", " + allow("approve", certificates, "signers"), "user:alice", ""},
		{"a certificate of a node", "", csr(nodeSigner), "user:system:node:n1", "certain csr: create certificatesigningrequests, patch certificatesigningrequests/approval, approve signers " + nodeSigner},
		{"a certificate of a node is not that of a user", "", csr(nodeSigner), "user:alice", ""},
		{"bind", "shop", allow("create", rbacAPI, "rolebindings") + ", " + allow("bind", rbacAPI, "clusterroles", "everything"), "namespace-admin:shop", "certain bind: create rolebindings in shop, bind clusterroles everything in shop"},
		{"a mutating webhook", "", allow("patch", admission, "mutatingwebhookconfigurations"), "cluster-admin", "assumed admission: patch mutatingwebhookconfigurations"},
		{"a validating webhook", "", allow("patch", admission, "validatingwebhookconfigurations"), "cluster-admin", ""},
		{"a mutating policy and its binding", "", allow("create", admission, "mutatingadmissionpolicies, mutatingadmissionpolicybindings"), "cluster-admin", "assumed admission: create mutatingadmissionpolicies, create mutatingadmissionpolicybindings"},
		{"a mutating policy without a binding", "", allow("create", admission, "mutatingadmissionpolicies"), "cluster-admin", ""},
		{"the kubelet, by get", "", allow("get", "", "nodes/proxy"), clerk, "assumed nodes-proxy: get nodes/proxy"},
		{"the kubelet, by create", "", allow("create", "", "nodes/proxy"), robot, "assumed nodes-proxy: create nodes/proxy"},
		{"the kubelet, by a grant in a namespace", "shop", allow("get", "", "nodes/proxy"), robot, ""},
		{"a privileged pod without the flag", "shop", allow("create", "", "pods"), "user:system:node:n1", ""},
		{"--node-escape, a privileged pod", "shop", allow("create", "", "pods"), "user:system:node:n1", "possible node-escape: create pods in shop"},
	}
	for group, resources := range map[string][]string{"apps": {"deployments", "daemonsets", "replicasets", "statefulsets"}, "batch": {"jobs", "cronjobs"}, "": {"replicationcontrollers"}} {
		for _, resource := range resources {
			rows = append(rows,
				row{"new " + resource + ", where pods are denied", "bank", allow("create", group, resource), clerk, "certain workload-create: create " + resource + " in bank"},
				row{resource, "shop", allow("update", group, resource), robot, "assumed workload-edit: update " + resource + " in shop"})
		}
	}
	documents, from, to := parse(t, places), []string{}, make(map[string]bool)
	for i, row := range rows {
		user := fmt.Sprintf("u%d", i)
		documents = append(documents, grantedTo(t, "", user, row.scope, "["+row.rules+"]")...)
		from = append(from, "user:"+user)
		to[row.to] = true
	}
	side := revisions.Of(t, texts(t, documents))
	find := func(from []string, nodeEscape bool) []reach.Path {
		o := options(t, documents, side)
		o.From, o.To, o.MaxChanges, o.MaxHops, o.NodeEscape = from, slices.Sorted(maps.Keys(to)), 1, 1, nodeEscape
		report, err := reach.Find(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return report.Paths
	}
	paths := find(from, false)
	for i, row := range rows {
		t.Run(row.note, func(t *testing.T) {
			paths := paths
			if strings.HasPrefix(row.note, "--node-escape") {
				paths = find(from[i:i+1], true)
			}
			got := ""
			for _, p := range paths {
				if p.Subject == from[i] && p.To == row.to {
					made, _, _ := strings.Cut(p.Hops[0].Text, ": writes ")
					made, _, _ = strings.Cut(made, ": becomes ")
					got = p.Class.String() + " " + p.Hops[0].Edge + ": " + made
				}
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// extras name a session and an escalation, and a user with a way to another one.
const extras = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: makers}, rules: [{verbs: [create], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: makers, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: makers}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: helper}, {kind: ServiceAccount, name: robot, namespace: shop}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: strict}, spec: {appliesTo: {sessions: [s1]}, rules: [{verbs: [delete], apiGroups: ["*"], resources: ["*"]}]}}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: fix, namespace: bg}, spec: {escalatedGroup: fixers, allowed: {clusters: ["*"], groups: [none]}, approvers: {groups: [leads]}}}
---
`

// TestExtras has rows for the extra values of a user that impersonation may state, each with
// the identities that the first hop of some path leads to.
func TestExtras(t *testing.T) {
	const authn = "authentication.k8s.io"
	const escalation, session = "userextras/writ.dev/escalation", "userextras/writ.dev/session"
	for _, row := range []struct{ note, rules, want string }{
		{"none", allow("impersonate", "", "users", "helper"), "impersonate users helper"},
		{"an escalation", allow("impersonate", "", "users", "helper") + ", " + allow("impersonate", authn, escalation, "fix"),
			"impersonate users helper, impersonate userextras/writ.dev/escalation fix as fix; impersonate users helper"},
		{"a session", allow("impersonate", "", "users", "helper") + ", " + allow("impersonate", authn, session, "s1"),
			"impersonate users helper, impersonate userextras/writ.dev/session s1 in s1; impersonate users helper"},
		{"an account with a session", allow("impersonate", "", "serviceaccounts", "robot") + ", " + allow("impersonate", authn, session, "s1"),
			"impersonate serviceaccounts robot in shop, impersonate userextras/writ.dev/session s1 in s1; impersonate serviceaccounts robot in shop"},
		{"both", allow("impersonate", "", "users", "helper") + ", " + allow("impersonate", authn, session, "s1") + ", " + allow("impersonate", authn, escalation, "fix"),
			"impersonate users helper, impersonate userextras/writ.dev/escalation fix as fix; impersonate users helper, impersonate userextras/writ.dev/session s1 in s1; " +
				"impersonate users helper, impersonate userextras/writ.dev/session s1, impersonate userextras/writ.dev/escalation fix in s1 as fix; impersonate users helper"},
		{"constrained", allow(`"impersonate:user-info"`, authn, "users", "helper") + ", " + allow(`"impersonate:user-info"`, authn, session, "s1") + `, {verbs: ["impersonate-on:user-info:create"], apiGroups: [""], resources: [pods]}`,
			"impersonate:user-info users helper, impersonate:user-info userextras/writ.dev/session s1 in s1; impersonate:user-info users helper"},
		{"of the core group", allow("impersonate", "", "users", "helper") + ", " + allow("impersonate", "", session, "s1"), "impersonate users helper"},
		{"of another verb", allow(`"impersonate:user-info"`, authn, session, "s1") + ", " + allow("impersonate", "", "users", "helper"), "impersonate users helper"},
		{"of a value that documents do not have", allow("impersonate", "", "users", "helper") + ", " + allow("create", authn, session, "s9"), "impersonate users helper"},
		{"without a user", allow("impersonate", authn, session, "s1"), ""},
	} {
		t.Run(row.note, func(t *testing.T) {
			documents := grantedTo(t, extras, "u", "", "["+row.rules+"]")
			o := options(t, documents, revisions.Of(t, texts(t, documents)))
			o.From, o.To, o.Paths = []string{"user:u"}, []string{robot}, 10
			report, err := reach.Find(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range report.Paths {
				text, _, _ := strings.Cut(p.Hops[0].Text, ": becomes ")
				to := p.Hops[0].Becomes
				if to.Session != "" {
					text += " in " + to.Session
				}
				if to.Escalation != "" {
					text += " as " + to.Escalation
				}
				got = append(got, text)
			}
			slices.Sort(got)
			want := strings.Split(row.want, "; ")
			slices.Sort(want)
			if got := strings.Join(slices.Compact(got), "; "); got != strings.Join(want, "; ") {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}
