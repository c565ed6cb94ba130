package reach_test

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
)

// shop has an account that may do everything in its namespace and one role that grants
// everything, in each family.
const shop = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: everything}, rules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: robot, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}, subjects: [{kind: ServiceAccount, name: robot, namespace: shop}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: everything, namespace: master}, rules: [{verbs: ["*"], resourceKinds: ["*"]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: owner, namespace: master}, roleRef: {name: everything}, userNames: [owner]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: emergency}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: everything}, subjects: [{kind: Group, name: emergency}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, metadata: {name: fix, namespace: bg}, spec: {escalatedGroup: nothing, allowed: {clusters: ["*"], groups: [sre]}, approvers: {groups: [leads]}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: robots}, rules: [{verbs: [create], apiGroups: [""], resources: [pods]}, {verbs: [create], apiGroups: [writ.dev], resources: [rolebindings]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: makers}, rules: [{verbs: [create], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: bg, namespace: bg}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: own-u}, subjects: [{kind: User, name: other}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: no-pods}, spec: {rules: [{verbs: [create], apiGroups: [""], resources: [pods], namespaces: [shop]}]}}
---
`

// makePods are rules by which a user creates pods once it has changed two documents.
const makePods = `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings]}, {verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [makers]}, {verbs: [delete], apiGroups: [breakglass.t-caas.telekom.com], resources: [denypolicies]}]`

// Paths through changed documents, each hop of which the engine allows as the hops before it
// leave the documents: Find checks that itself.
func TestPathsThroughChanges(t *testing.T) {
	for _, row := range []struct {
		note, scope, rules string // of user u, in the namespace or in the cluster
		to, want           string
	}{
		{"bind in the cluster", "", `[{verbs: [create, bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings, clusterroles]}]`, "cluster-admin", "certain bind"},
		{"bind in a namespace", "shop", `[{verbs: [create, bind], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings, clusterroles]}]`, "namespace-admin:shop", "certain bind"},
		{"bind in a namespace is not the cluster", "shop", `[{verbs: [create, bind], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings, clusterroles, clusterrolebindings]}]`, "cluster-admin", ""},
		{"binding without bind", "", `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings]}]`, "cluster-admin", ""},
		{"bind another role", "", `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings]}, {verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [own-u]}]`, "cluster-admin", ""},
		{"escalate the own role", "", `[{verbs: [update, escalate], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [own-u]}]`, "cluster-admin", "certain escalate"},
		{"escalate without update", "", `[{verbs: [escalate], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}]`, "cluster-admin", ""},
		{"a new role, bound", "", `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings]}, {verbs: [escalate], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}, {verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [reach]}]`, "cluster-admin", "certain escalate bind"},
		{"a new role of the name that may be bound", "", `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings]}, {verbs: [escalate], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}, {verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [mine]}]`, "cluster-admin", "certain escalate bind"},
		{"a role without a binding, bound", "", `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings]}, {verbs: [patch, escalate, bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [makers]}]`, "cluster-admin", "certain bind escalate"},
		{"a role without a binding, not bound", "", `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings]}, {verbs: [patch, escalate], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [makers]}]`, "cluster-admin", ""},
		{"a role without a binding, bound in a namespace", "", `[{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings]}, {verbs: [patch, escalate, bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [makers]}]`, "namespace-admin:shop", "certain escalate bind"},
		{"of two bindings, one has the role", "", `[{verbs: [update], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings], resourceNames: [own-u, emergency]}, {verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [everything]}]`, "cluster-admin", "certain bind"},
		{"of all bindings, one has the role", "", `[{verbs: [update, bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings, clusterroles]}]`, "cluster-admin", "certain bind"},
		{"a binding that no document names", "bg", `[{verbs: [patch, bind], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings, clusterroles]}]`, "namespace-admin:bg", "assumed bind"},
		{"the role of a binding stays", "", `[{verbs: [update], apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings], resourceNames: [own-u]}, {verbs: [bind], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [everything]}]`, "cluster-admin", ""},
		{"delete the denial", "", `[{verbs: [delete], apiGroups: [breakglass.t-caas.telekom.com], resources: [denypolicies]}, {verbs: [create], apiGroups: [""], resources: [pods]}]`, "namespace-admin:shop", "certain edit-documents pod-create"},
		{"empty the denial", "", `[{verbs: [patch], apiGroups: [breakglass.t-caas.telekom.com], resources: [denypolicies], resourceNames: [no-pods]}, {verbs: [create], apiGroups: [""], resources: [pods]}]`, "user:system:serviceaccount:shop:robot", "certain edit-documents pod-create"},
		{"a new escalation in a namespace is not the cluster", "shop", `[{verbs: [create], apiGroups: [breakglass.t-caas.telekom.com], resources: [breakglassescalations]}]`, "cluster-admin", ""},
		{"a new escalation", "", `[{verbs: [create], apiGroups: [breakglass.t-caas.telekom.com], resources: [breakglassescalations]}]`, "cluster-admin", "certain edit-documents session"},
		{"an escalation that is there", "", `[{verbs: [update], apiGroups: [breakglass.t-caas.telekom.com], resources: [breakglassescalations], resourceNames: [fix]}]`, "cluster-admin", "certain edit-documents session"},
		{"an escalation that is not there", "", `[{verbs: [update], apiGroups: [breakglass.t-caas.telekom.com], resources: [breakglassescalations], resourceNames: [none]}]`, "cluster-admin", ""},
		{"the denial stays", "", `[{verbs: [create], apiGroups: [""], resources: [pods]}]`, "namespace-admin:shop", ""},
		{"an Origin binding", "", `[{verbs: [create], apiGroups: [writ.dev], resources: [rolebindings]}]`, "cluster-admin", "certain edit-documents"},
		{"an Origin binding in a namespace", "shop", `[{verbs: [create], apiGroups: [writ.dev], resources: [rolebindings]}]`, "namespace-admin:shop", "certain edit-documents"},
		{"an Origin binding that is there, edited", "", `[{verbs: [update], apiGroups: [writ.dev], resources: [rolebindings]}]`, "cluster-admin", "certain edit-documents"},
		{"an Origin binding that no document has, edited", "shop", `[{verbs: [update], apiGroups: [writ.dev], resources: [rolebindings]}]`, "namespace-admin:shop", "assumed edit-documents"},
		{"an Origin binding by a name that no document has, edited", "", `[{verbs: [update], apiGroups: [writ.dev], resources: [rolebindings], resourceNames: [absent]}]`, "cluster-admin", "assumed edit-documents"},
		{"an Origin binding in a namespace is not the cluster", "shop", `[{verbs: [create], apiGroups: [writ.dev], resources: [rolebindings]}]`, "cluster-admin", ""},
		{"an Origin binding by a binding in the master namespace", "", `[{verbs: [create, bind], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings, clusterroles], resourceNames: [robots]}, {verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [rolebindings]}]`, "cluster-admin", "certain bind edit-documents"},
		{"a binding in a namespace, then pods there", "", makePods, "user:system:serviceaccount:shop:robot", "certain edit-documents bind pod-create"},
	} {
		t.Run(row.note, func(t *testing.T) {
			documents := grantedTo(t, shop, "u", row.scope, row.rules)
			o := options(t, documents, revisions.Of(t, texts(t, documents)))
			o.From, o.To, o.MaxChanges = []string{"user:u"}, []string{row.to}, 3
			report, err := reach.Find(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range report.Paths {
				got = append(got, p.Class.String())
				for _, h := range p.Hops {
					got = append(got, h.Edge)
				}
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("got %q, want %q", text, row.want)
			}
		})
	}
}

// A path changes no more documents than it may, and a binding that its user no longer has counts.
func TestPathsHaveNoMoreChangesThanTheyMay(t *testing.T) {
	documents := grantedTo(t, shop, "u", "", makePods)
	for changes, want := range []int{0, 0, 1} {
		o := options(t, documents, revisions.Of(t, texts(t, documents)))
		o.From, o.To, o.MaxChanges = []string{"user:u"}, []string{account("shop", "robot")}, changes
		report, err := reach.Find(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Paths) != want {
			t.Errorf("with %d changes: got %d paths, want %d", changes, len(report.Paths), want)
		}
	}
}

// grantedTo returns documents in which a user has rules as well, in a namespace or in the
// cluster.
func grantedTo(t *testing.T, world, user, scope, rules string) []object {
	t.Helper()
	kind, namespace := "ClusterRoleBinding", ""
	if scope != "" {
		kind, namespace = "RoleBinding", ", namespace: "+scope
	}
	return parse(t, fmt.Sprintf(`%[1]s
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: own-%[2]s}, rules: %[3]s}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: %[4]s, metadata: {name: own-%[2]s%[5]s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: own-%[2]s}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[2]s}]}
`, world, user, rules, kind, namespace))
}

func parse(t *testing.T, text string) (out []object) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var one object
		if err := decoder.Decode(&one); err != nil {
			return out
		}
		out = append(out, one)
	}
}
