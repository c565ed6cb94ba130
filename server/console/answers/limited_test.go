package answers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/tests/gate"
)

// ownDocuments are what concerns eve of group dev. The first policy has a boundary of hers.
const ownDocuments = `== own-access.yaml
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
  - {apiGroups: [""], resources: [pods, services], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: eve, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: eve}]
---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: customers}
spec:
  precedence: 10
  rules:
    - verbs: [create]
      apiGroups: [""]
      resources: [configmaps]
      namespaces: {selectorTerms: [{matchLabels: {customer: acme-secret}}]}
== own-visibility.yaml
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: own-night, namespace: ops}
spec:
  identity: {subjects: {groups: [dev]}, priority: 50}
  access: {effect: Allow, enabled: true}
  scope: {clusters: {default: none, rules: [{selector: {matchNames: [east]}, permissions: {view: true}}]}}
  lifecycle: {validity: {notBefore: "2026-11-23T18:00:00Z"}}
`

// foreignDocuments returns random documents and clusters that do not concern eve.
func foreignDocuments(r *rand.Rand) (documents string, clusters []string) {
	var text strings.Builder
	text.WriteString("== other.yaml\n")
	for i := range 1 + r.IntN(6) {
		name := fmt.Sprintf("secret-%d", i)
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&text, `---
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: %s, namespace: ops}
spec:
  identity: {subjects: {users: [mallory, bob]}, priority: %d}
  access: {effect: %s, enabled: %t}
  scope: {clusters: {default: none, rules: [{selector: {matchLabels: {customer: %s}}, permissions: {view: true}}]}}
  lifecycle: {validity: {notBefore: "2026-11-22T%02d:00:00Z"}}
`, name, r.IntN(100), []string{"Allow", "Deny"}[r.IntN(2)], r.IntN(4) > 0, name, r.IntN(24))
		case 1:
			fmt.Fprintf(&text, `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %s, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: mallorys}]
`, name)
		case 2:
			fmt.Fprintf(&text, `---
apiVersion: breakglass.t-caas.telekom.com/v1alpha1
kind: DenyPolicy
metadata: {name: %s}
spec:
  precedence: %d
  rules: [{verbs: [create], apiGroups: [%s.example], resources: [things]}]
`, name, 20+i, name)
		}
		clusters = append(clusters, name)
	}
	return text.String(), clusters
}

var eve = console.Caller{User: "eve", Groups: []string{"dev"}}

// limitedRequests are what eve asks about herself.
var limitedRequests = []struct{ point, request string }{
	{decision.Access, `{"verb":"get","resource":"pods","namespace":"shop"}`},
	{decision.Access, `{"verb":"delete","resource":"pods","namespace":"shop"}`},
	{decision.Access, `{"verb":"get","resource":"pods","namespace":"other","cluster":"east"}`},
	{decision.Access, `{"verb":"create","resource":"configmaps","namespace":"shop"}`},
	{decision.Visibility, `{"cluster":{"name":"east","labels":{"a":"b"}},"type":""}`},
	{decision.Visibility, `{"cluster":{"name":"none"},"type":"pods","items":[{"name":"web","namespace":"shop"}]}`},
}

// limitedExplanations returns what eve is answered in a world, without the revision and the
// time that a decision took: each decision has the revision, of all documents, in a header.
func limitedExplanations(t *testing.T, documents string, clusters []string) []string {
	t.Helper()
	s := newSite(t, documents)
	s.explorer.o.Clusters = func() []string { return clusters }
	s.explorer.o.ClusterLabels = func(name string) map[string]string { return map[string]string{"customer": name} }
	var out []string
	for _, ask := range limitedRequests {
		e, err := s.explorer.Now().Explain(t.Context(), eve, ask.point, []byte(ask.request), time.Time{})
		if err != nil {
			t.Fatalf("%s: %v", ask.request, err)
		}
		e.Revision, e.Microseconds, e.Cached = "", 0, false
		out = append(out, text(t, e))
	}
	return out
}

// The explanations for a caller who may ask about itself alone do not depend on documents about others
// or on clusters: two worlds that differ in them alone give the same bytes.
func TestExplanationsDoNotDependOnOthers(t *testing.T) {
	alone := limitedExplanations(t, ownDocuments, nil)
	if got := strings.Join(alone, "\n"); !strings.Contains(got, "own-night begins") || !strings.Contains(got, "(fail-closed)") {
		t.Errorf("the requests do not show a boundary of her own and a closed denial: %s", got)
	}
	for seed := range uint64(gate.Worlds(12)) {
		documents, clusters := foreignDocuments(rand.New(rand.NewPCG(seed, 1)))
		for i, got := range limitedExplanations(t, ownDocuments+documents, clusters) {
			if got != alone[i] {
				t.Errorf("seed %d: %s:\n got %s\nwant %s", seed, limitedRequests[i].request, got, alone[i])
			}
		}
	}
	for i, got := range alone {
		if strings.Contains(got, "acme-secret") {
			t.Errorf("%s: the explanation has a label that a deny policy requires: %s", limitedRequests[i].request, got)
		}
	}
}
