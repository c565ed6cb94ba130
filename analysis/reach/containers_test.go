package reach_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
	"github.com/writ-policy/writ/tests/revisions"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/syntax"
)

// contained is a namespace whose Origin roles and bindings are in containers, one of which
// denies u what another grants it.
const contained = `
{apiVersion: writ.dev/v1, kind: Policy, metadata: {name: own, namespace: shop}, roles: {
  reader: {rules: [{verbs: [get], resourceKinds: [pods]}]},
  no-pods: {rules: [{deny: true, verbs: [create], resourceKinds: [pods]}]}}}
---
{apiVersion: writ.dev/v1, kind: PolicyBinding, metadata: {name: shop, namespace: shop}, policyRef: {namespace: shop}, roleBindings: {
  readers: {roleRef: {namespace: shop, name: reader}, userNames: [u]},
  denied: {roleRef: {namespace: shop, name: no-pods}, userNames: [u]}}}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: everything, namespace: master}, rules: [{verbs: ["*"], resourceKinds: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: robot, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: own-u}, subjects: [{kind: ServiceAccount, name: robot, namespace: shop}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: bank, namespace: bank}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: own-u}, subjects: [{kind: ServiceAccount, name: clerk, namespace: bank}]}
---
`

// Paths through changed containers of Origin documents.
func TestPathsThroughContainers(t *testing.T) {
	const pods = allowPods
	for _, row := range []struct{ note, scope, rules, to, want string }{
		{"a Policy that is there", "shop", allow("patch", "writ.dev", "policies", "own"), "namespace-admin:shop", "certain edit-documents: patch policies own in shop: writes Policy shop/own"},
		{"a Policy of another name", "shop", allow("patch", "writ.dev", "policies", "other"), "namespace-admin:shop", ""},
		{"a second Policy", "shop", allow("create", "writ.dev", "policies"), "namespace-admin:shop", ""},
		{"a Policy is not the cluster", "shop", allow("patch", "writ.dev", "policies", "own"), "cluster-admin", ""},
		{"a role in a Policy is not a document", "shop", allow("update", "writ.dev", "roles"), "namespace-admin:shop", ""},
		{"a PolicyBinding to the master namespace", "bank", allow("create", "writ.dev", "policybindings"), "namespace-admin:bank", "certain edit-documents: create policybindings in bank: writes PolicyBinding bank/master"},
		{"a PolicyBinding that is there", "shop", allow("update", "writ.dev", "policybindings", "shop") + ", " + pods, account("shop", "robot"), "certain edit-documents: update policybindings shop in shop: writes PolicyBinding shop/shop; certain pod-create: create pods in shop: becomes service account shop/robot"},
		{"a PolicyBinding that is gone", "shop", allow("delete", "writ.dev", "policybindings", "shop") + ", " + pods, account("shop", "robot"), "certain edit-documents: delete policybindings shop in shop: removes PolicyBinding shop/shop; certain pod-create: create pods in shop: becomes service account shop/robot"},
		{"a binding in a PolicyBinding is not a document", "shop", allow("delete", "writ.dev", "rolebindings") + ", " + pods, account("shop", "robot"), ""},
		{"denied", "shop", pods, account("shop", "robot"), ""},
		{"a PolicyBinding of the master namespace", "", allow("create", "writ.dev", "policybindings"), "cluster-admin", "certain edit-documents: create policybindings in master: writes PolicyBinding master/master"},
		{"a Policy of the master namespace, and a binding", "", allow("create", "writ.dev", "policies, rolebindings"), "cluster-admin", "certain edit-documents: create rolebindings in master: writes RoleBinding master/reach"},
	} {
		t.Run(row.note, func(t *testing.T) {
			documents := grantedTo(t, contained, "u", row.scope, "["+row.rules+"]")
			o := options(t, documents, revisions.Of(t, texts(t, documents)))
			o.From, o.To, o.MaxChanges, o.Containers = []string{"user:u"}, []string{row.to}, 3, containersOf(documents)
			report, err := reach.Find(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range report.Paths {
				for _, h := range p.Hops {
					got = append(got, h.Class.String()+" "+h.Edge+": "+h.Text)
				}
			}
			if text := strings.Join(got, "; "); text != row.want {
				t.Errorf("got %q\nwant %q", text, row.want)
			}
		})
	}
}

const allowPods = `{verbs: [create], apiGroups: [""], resources: [pods]}`

// containersOf returns the containers among documents.
func containersOf(documents []object) (out []access.Container) {
	for _, d := range documents {
		kind, _ := d["kind"].(string)
		key := map[string]string{"Policy": "roles", "PolicyBinding": "roleBindings"}[kind]
		if key == "" {
			continue
		}
		of, _ := d[key].(object)
		meta, _ := d["metadata"].(object)
		out = append(out, access.Container{Header: &syntax.Header{Kind: kind, Namespace: meta["namespace"].(string), Name: meta["name"].(string)}, Members: slices.Sorted(maps.Keys(of))})
	}
	return out
}
