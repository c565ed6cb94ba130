package agreement

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
)

// documentsOfReview ask at the gateway whether a user may get pods, by a role whose rule
// reads the cluster: as an expression, and as an extension.
var documentsOfReview = map[string]string{
	"gateway.yaml": `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: net}
spec: {gatewayClassName: x, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: net}
spec: {parentRefs: [{name: web}], hostnames: [shop.example], rules: [{matches: [{path: {value: /}}]}]}
---
apiVersion: kuadrant.io/v1
kind: AuthPolicy
metadata: {name: shop, namespace: net}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}
  rules:
    authentication: {all: {anonymous: {}}}
    authorization:
      review:
        kubernetesSubjectAccessReview:
          user: {selector: auth.identity.sub}
          resourceAttributes: {verb: {value: get}, resource: {value: pods}, namespace: {value: shop}}
`,
	"roles.yaml": `
kind: Role
apiVersion: writ.dev/v1
metadata: {name: cel, namespace: master}
rules: [{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: cel, expression: 'request.cluster != "prod"'}}]
---
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: cel, namespace: master}
roleRef: {namespace: master, name: cel}
userNames: [cel]
---
kind: Role
apiVersion: writ.dev/v1
metadata: {name: rego, namespace: master}
rules: [{verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: elsewhere}}]
---
kind: RoleBinding
apiVersion: writ.dev/v1
metadata: {name: rego, namespace: master}
roleRef: {namespace: master, name: rego}
userNames: [rego]
`,
	"elsewhere.rego": "package writ.extensions.elsewhere\n\nholds(request, _) := request.cluster != \"prod\"\n",
}

// A review of a gateway rule in the bundle of one cluster is about that cluster, as any
// other request that names none: the engine and a stock OPA deny what depends on another.
func TestGatewayReviewsInABundleOfAClusterHaveItsCluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cluster string
		status  string
	}{{"prod", "403"}, {"dev", "200"}} {
		bundle, e := ofCluster(t, snapshotOf(documentsOfReview), test.cluster, engine.Options{Now: func() time.Time { return time.Unix(0, 0) }})
		stock := stockPoint(t, bundle, "gateway")
		for _, user := range []string{"cel", "rego"} {
			text := `{"request":{"host":"shop.example","method":"GET","path":"/","headers":{},"scheme":"http"},"auth":{"identity":{"sub":"` + user + `"}}}`
			got, of := guarded(t, e, text), guardedByStock(t, stock, text)
			if !reflect.DeepEqual(got, of) {
				t.Errorf("cluster %s, %s: the engine decides %v, OPA %v", test.cluster, user, got, of)
			}
			if status := fmt.Sprint(got.(map[string]any)["status"]); status != test.status {
				t.Errorf("cluster %s, %s: got status %s, want %s: %v", test.cluster, user, status, test.status, got)
			}
			asked, err := decision.Decode[decision.Request]([]byte(`{"user":"` + user + `","verb":"get","resource":"pods","namespace":"shop"}`))
			if err != nil {
				t.Fatal(err)
			}
			if d := e.Access(context.Background(), asked); d.Allowed != (test.status == "200") {
				t.Errorf("cluster %s, %s: at the point access: %+v", test.cluster, user, d)
			}
		}
	}
}
