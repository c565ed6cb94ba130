package origin_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/api/origin"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

const documents = `{apiVersion: writ.dev/v1, kind: Role, metadata: {name: r, namespace: master}, rules: [{verbs: [get], resourceKinds: [pods]}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: no, namespace: master}, rules: [{deny: true, verbs: [get], resourceKinds: [pods]}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: ours, namespace: master}, rules: [
 {verbs: [update], resourceKinds: [pods], attributeRestrictions: {labelsContain: ["a=b"]}},
 {deny: true, verbs: [update], resourceKinds: [secrets], attributeRestrictions: {labelsContain: ["a=b"]}}]}
---
{apiVersion: writ.dev/v1, kind: Role, metadata: {name: shell, namespace: master}, rules: [{verbs: [exec], resourceKinds: [pods]}, {verbs: [update], resourceKinds: [secrets, configmaps]}]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: early, namespace: shop}, roleRef: {name: r, namespace: master}, userNames: [ann], groupNames: [a], notAfter: 2026-03-01T10:00:00Z}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: late, namespace: shop}, roleRef: {name: r, namespace: master}, userNames: [bob], groupNames: [b], notBefore: 2026-03-01T10:00:00Z}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: always, namespace: shop}, roleRef: {name: r, namespace: master}, userNames: [cat, dan, "system:serviceaccount:shop:bot"]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: no, namespace: shop}, roleRef: {name: no, namespace: master}, userNames: [dan], notAfter: 2026-03-01T10:00:00Z}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: ours, namespace: shop}, roleRef: {name: ours, namespace: master}, userNames: [eve]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: shell, namespace: shop}, roleRef: {name: shell, namespace: master}, groupNames: [dev]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: shell, namespace: master}, roleRef: {name: shell, namespace: master}, userNames: [eve], groupNames: [sre]}
---
{apiVersion: writ.dev/v1, kind: RoleBinding, metadata: {name: fixers, namespace: shop}, roleRef: {name: shell, namespace: master}, userNames: [ola, pat]}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: emergency}
spec:
  rules: [{verbs: [update], apiGroups: [""], resources: [configmaps]}]
  podSecurityRules: {riskFactors: {privilegedContainer: 30}, thresholds: [{maxScore: 10, action: allow}, {maxScore: 50, action: deny}]}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassEscalation
metadata: {name: fix, namespace: bg}
spec:
  {escalatedGroup: idle, allowed: {clusters: ["*"], groups: [sre]}, approvers: {groups: [leads]}, podSecurityOverrides: {enabled: true, maxAllowedScore: 50}, denyPolicyRefs: [emergency]}
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: BreakglassSession
metadata: {name: s, namespace: bg, ownerReferences: [{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassEscalation, name: fix, uid: u}]}
spec: {cluster: c1, user: pat, grantedGroup: idle}
status: {state: Approved, approvedAt: "2026-03-01T00:00:00Z", expiresAt: "2026-03-02T00:00:00Z"}
`

func TestWhoCan(t *testing.T) {
	snapshot := source.Snapshot{Files: []source.File{{Path: "p.yaml", Content: []byte(documents)}}}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatalf("%+v", list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bound := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	privileged := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "securityContext": map[string]any{"privileged": true}}}}}
	for _, row := range []struct {
		name    string
		at      time.Time
		request decision.Request
		want    string // users, groups, exceptions, warnings, failure
	}{
		{"before a bound", bound.Add(-1), decision.Request{Verb: "get", Resource: "pods"},
			`["ann" "cat" "system:serviceaccount:shop:bot"] ["a"] ["User dan"] [] ""`},
		{"after it", bound, decision.Request{Verb: "get", Resource: "pods"},
			`["bob" "cat" "dan" "system:serviceaccount:shop:bot"] ["b"] [] [] ""`},
		{"what no rule allows", bound, decision.Request{Verb: "delete", Resource: "pods"}, `[] [] [] [] ""`},
		{"labels that are unknown", bound, decision.Request{Verb: "update", Resource: "pods"},
			`[] [] [] ["RoleBinding shop/ours rule 0: labelsContain undecidable: which labels the object has is not known"] ""`},
		{"labels", bound, decision.Request{Verb: "update", Resource: "pods", Labels: map[string]string{"a": "b"}}, `["eve"] [] [] [] ""`},
		{"a denial that is overridden", bound, decision.Request{Verb: "update", Resource: "secrets"},
			`["eve" "ola" "pat"] ["dev" "sre"] ["User eve"] ["RoleBinding shop/ours rule 1: labelsContain undecidable: which labels the object has is not known"] ""`},
		{"a deny policy", bound, decision.Request{Verb: "update", Resource: "configmaps"}, `[] [] [] ["denied by DenyPolicy emergency, rule 0"] ""`},
		{"without a pod", bound, decision.Request{Verb: "create", Resource: "pods", Subresource: "exec"},
			`["eve" "ola" "pat"] ["dev" "sre"] [] ["pod security is left out: the question names no pod"] ""`},
		{"a pod that a session lets pass", bound, decision.Request{Verb: "create", Resource: "pods", Subresource: "exec", Cluster: "c1", Pod: privileged}, `["pat"] [] [] [] ""`},
	} {
		t.Run(row.name, func(t *testing.T) {
			reads := 0
			e, err := engine.Activate(t.Context(), b, engine.Options{Now: func() time.Time {
				reads++
				return row.at
			}})
			if err != nil {
				t.Fatal(err)
			}
			row.request.Namespace = "shop"
			p := e.AtNow()
			got := origin.WhoCan(t.Context(), p, row.request, func(r *decision.Request) decision.Decision { return p.Access(t.Context(), r) })
			if text := fmt.Sprintf("%q %q %q %q %q", got.Users, got.Groups, got.Except, got.Warnings, got.Failure); text != row.want {
				t.Errorf("got %s, want %s", text, row.want)
			}
			if reads != 1 {
				t.Errorf("the clock was read %d times, want once", reads)
			}
		})
	}
}
