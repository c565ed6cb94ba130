package engine

import (
	"testing"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// reviewingGateway asks whether a user may get pods, which bob may by a session alone.
const reviewingGateway = `
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: n}, spec: {gatewayClassName: c, listeners: [{name: l, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: n}, spec: {parentRefs: [{name: g}], hostnames: [a.example.com], rules: [{matches: [{path: {type: PathPrefix, value: /}}]}]}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: of-a, namespace: n}, spec: {targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: a}, rules: {authorization: {x: {
  kubernetesSubjectAccessReview: {user: {selector: auth.identity.sub}, resourceAttributes: {verb: {value: get}, resource: {value: pods}, namespace: {value: shop}}}}}}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: root}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: root}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: root}, subjects: [{kind: Group, name: root, apiGroup: rbac.authorization.k8s.io}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: BreakglassSession, metadata: {name: s1, namespace: bg}, spec: {cluster: prod, user: bob, grantedGroup: root}, status: {state: Approved, expiresAt: "2026-03-01T10:00:00Z"}}
`

// A gateway decision that asks the access point ends with a session of its user: it must not answer
// later requests.
func TestGatewayReviewsOfSessionsAreTheirOwn(t *testing.T) {
	end := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	snapshot := source.Snapshot{Cluster: "prod", Files: []source.File{source.NewFile("p.yaml", []byte(reviewingGateway))}}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := end.Add(-time.Second)
	e, err := Activate(t.Context(), b, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	r := &decision.GatewayRequest{Attributes: map[string]any{
		"request": map[string]any{"host": "a.example.com", "method": "GET", "path": "/x"}, "auth": map[string]any{"identity": map[string]any{"sub": "bob"}},
	}}
	before, _ := e.Gateway(t.Context(), r)
	now = end
	after, _ := e.Gateway(t.Context(), r)
	if !before.Allowed || after.Allowed {
		t.Fatalf("got allowed %t with the session and %t after it: %s, %s", before.Allowed, after.Allowed, before.Reason, after.Reason)
	}
	if !before.IsOwn {
		t.Error("a decision by a session may answer other requests")
	}
}
