package engine

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

const ofClusters = `apiVersion: writ.dev/v1
kind: Role
metadata: {name: in-prod, namespace: master}
rules:
- {verbs: [get], resourceKinds: [pods], attributeRestrictions: {kind: cel, expression: 'request.cluster == "prod"'}}
- {verbs: [get], resourceKinds: [services]}
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: in-prod, namespace: master}
roleRef: {name: in-prod}
userNames: [alice]
---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: everything, namespace: monitoring}
spec:
  identity: {priority: 1, subjects: {users: [alice]}}
  access: {effect: Allow, enabled: true}
  scope: {clusters: {default: deny, rules: [{selector: {matchNames: [prod, test]}, permissions: {view: true}}]}}
`

// activateCluster activates the bundle of a cluster, from tables that share what they can
// with those of last.
func activateCluster(t *testing.T, from *translator.Translator, cluster string, last *Engine) *Engine {
	t.Helper()
	return activateTenants(t, from, cluster, ofClusters, last)
}

func activateTenants(t *testing.T, from *translator.Translator, cluster, documents string, last *Engine) *Engine {
	t.Helper()
	snapshot := source.Snapshot{Cluster: cluster, Files: []source.File{source.NewFile("p.yaml", []byte(documents))}}
	result, list := from.Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Activate(t.Context(), b, Options{Last: last})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExpressionsReadTheClusterOfTheBundle(t *testing.T) {
	for cluster, want := range map[string]bool{"prod": true, "test": false} {
		r := &decision.Request{User: "alice", Verb: "get", Resource: "pods"}
		if d := activateCluster(t, translator.New(translator.Options{}), cluster, nil).Access(t.Context(), r); d.Allowed != want || d.EvaluationError != "" {
			t.Errorf("cluster %s: %+v", cluster, d)
		}
		if r.Cluster != "" {
			t.Error("the request of the caller was changed")
		}
	}
}

// of returns a decision of a revision.
func of(e *Engine) *decision.Decision { return &decision.Decision{Revision: e.Loaded().Revision} }

// A decision of the bundle of all clusters, or of another one, is not kept.
func TestKeepsNoDecisionOfOtherClusters(t *testing.T) {
	r := &decision.Request{User: "alice", Verb: "get", Resource: "services", Cluster: "test"}
	v := &decision.VisibilityRequest{User: "alice", Cluster: decision.Cluster{Name: "test"}}
	for _, first := range []string{"", "test"} {
		from := translator.New(translator.Options{})
		before := activateCluster(t, from, first, nil)
		if !before.Access(t.Context(), r).Allowed || before.Visibility(t.Context(), v).Decision != decision.VisibleAll {
			t.Fatalf("cluster %q: the request must be allowed", first)
		}
		same, other := activateCluster(t, from, first, before), activateCluster(t, from, "prod", before)
		key := before.AccessKey(nil, r)
		if !same.Keeps(r, of(before), key) || keyOf(same, v) != keyOf(before, v) {
			t.Errorf("cluster %q: the same documents do not keep the decision", first)
		}
		if other.Keeps(r, of(before), key) || keyOf(other, v) == keyOf(before, v) {
			t.Errorf("cluster %q: prod keeps the decision about test", first)
		}
		everyCluster := other.Lists().ListPermissions(t.Context(), decision.Principal{User: "alice"}, nil, func(string) map[string]string { return nil })
		if len(everyCluster.Accessible) != 1 || everyCluster.Accessible[0].Cluster != "prod" || everyCluster.EvaluationError != "" {
			t.Errorf("prod lists %+v", everyCluster)
		}
	}
}

const ofTenants = `apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: bank}
spec:
  appliesTo: {tenants: [bank]}
  rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: ClusterConfig
metadata: {name: prod}
spec: {tenant: TENANT}
`

// The tenant of a request is that of its cluster: for the decision, for the key of the
// cache, and for decisions that are kept.
func TestTenantIsThatOfTheCluster(t *testing.T) {
	for cluster, named := range map[string]string{"": "prod", "prod": ""} {
		r := &decision.Request{User: "alice", Verb: "get", Resource: "pods", Cluster: named}
		from := translator.New(translator.Options{})
		shop := activateTenants(t, from, cluster, strings.Replace(ofTenants, "TENANT", "shop", 1), nil)
		bank := activateTenants(t, from, cluster, strings.Replace(ofTenants, "TENANT", "bank", 1), shop)
		if shop.Access(t.Context(), r).Denied || !bank.Access(t.Context(), r).Denied {
			t.Errorf("cluster %q: want a denial for the tenant bank alone", cluster)
		}
		key := shop.AccessKey(nil, r)
		if bank.Keeps(r, of(shop), key) {
			t.Errorf("cluster %q: a decision for the tenant shop is kept", cluster)
		}
		own := *r
		own.Tenant = "shop"
		if bank.Access(t.Context(), &own).Denied || string(bank.AccessKey(nil, &own)) == string(bank.AccessKey(nil, r)) {
			t.Errorf("cluster %q: the request's own tenant does not win", cluster)
		}
		if !bank.Keeps(&own, of(shop), shop.AccessKey(nil, &own)) {
			t.Errorf("cluster %q: the decision for the request's own tenant is not kept", cluster)
		}
	}
}

func keyOf(e *Engine, q decision.Question) string {
	key, _ := e.Key(nil, q)
	return string(key)
}
