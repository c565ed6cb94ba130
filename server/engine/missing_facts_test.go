package engine

import (
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// labelled denies the deletion of what is protected, lets kim change what is open and lets
// nodes change their own pods.
const labelled = `kind: Role
apiVersion: writ.dev/v1
metadata: {name: labelled, namespace: master}
rules:
- {deny: true, verbs: [delete], resourceKinds: [secrets], attributeRestrictions: {labelsContain: [protected]}}
- {verbs: [get, update, create, list], resourceKinds: [secrets, pods/log], attributeRestrictions: {labelsContain: [open]}}
- {verbs: [patch], resourceKinds: [pods], attributeRestrictions: {kind: sameMinionRestriction}}
- {verbs: [get], resourceKinds: [services], attributeRestrictions: {kind: cel, expression: 'request.labels.open == "yes"'}}
---
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: labelled, namespace: master}
roleRef: {name: labelled}
userNames: [kim]
`

func TestUnknownFacts(t *testing.T) {
	e := activateDocuments(t, labelled, Options{})
	labels, node := decision.Facts{Labels: true}, decision.Facts{Node: true}
	for _, row := range []struct {
		what string
		r    decision.Request
		want decision.Facts
	}{
		{"a denial by labels", decision.Request{Verb: "delete", Resource: "secrets", Name: "s"}, labels},
		{"its labels are known", decision.Request{Verb: "delete", Resource: "secrets", Name: "s", Labels: map[string]string{}}, decision.Facts{}},
		{"an allowance by labels", decision.Request{Verb: "get", Resource: "secrets", Name: "s"}, labels},
		{"another spelling", decision.Request{Verb: "Update", Resource: "secrets", Name: "s"}, labels},
		{"a subresource", decision.Request{Verb: "get", Resource: "pods", Subresource: "log", Name: "p"}, labels},
		{"no rule reads labels", decision.Request{Verb: "patch", Resource: "configmaps", Name: "s"}, decision.Facts{}},
		{"an object that does not exist", decision.Request{Verb: "create", Resource: "secrets", Name: "s"}, decision.Facts{}},
		{"many objects", decision.Request{Verb: "list", Resource: "secrets", Name: "s"}, decision.Facts{}},
		{"no name", decision.Request{Verb: "get", Resource: "secrets"}, decision.Facts{}},
		{"a pod's node", decision.Request{Verb: "patch", Resource: "pods", Name: "p"}, node},
		{"a node that is known", decision.Request{Verb: "patch", Resource: "pods", Name: "p", Attributes: map[string]any{"podMinion": "n"}}, decision.Facts{}},
		{"a pod that is known", decision.Request{Verb: "patch", Resource: "pods", Name: "p", Pod: map[string]any{}}, decision.Facts{}},
		{"an expression says nothing of what it reads", decision.Request{Verb: "get", Resource: "services", Name: "s"}, decision.Facts{}},
	} {
		row.r.User, row.r.Namespace = "kim", "shop"
		if got := e.Access(t.Context(), &row.r); got.Unknown != row.want {
			t.Errorf("%s: got %+v, want %+v (%s)", row.what, got.Unknown, row.want, got.Reason)
		}
	}
}
