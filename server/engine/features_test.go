package engine

import (
	"reflect"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// A bundle without stated features decides as one that states them, even if the
// previous engine had the same rules and prepared fewer queries.
func TestBundleWithoutFeatures(t *testing.T) {
	const roles = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: u}]
`
	snapshot := source.Snapshot{Files: []source.File{source.NewFile("p.yaml", []byte(roles))}}
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stated, err := Activate(t.Context(), b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if stated.features.Has(tables.FeatureDenyPolicies) || stated.features.Has(tables.FeatureVisibility) {
		t.Fatalf("got %+v, want no features", stated.features)
	}
	older := *b
	older.Features = nil
	for name, last := range map[string]*Engine{"first": nil, "after another": stated} {
		t.Run(name, func(t *testing.T) {
			unstated, err := Activate(t.Context(), &older, Options{Last: last})
			if err != nil {
				t.Fatal(err)
			}
			if !unstated.features.Has(tables.FeatureDenyPolicies) || !unstated.features.Has(tables.FeatureVisibility) {
				t.Errorf("got %+v, want all features", unstated.features)
			}
			for _, user := range []string{"u", "other"} {
				request := &decision.Request{User: user, Verb: "get", Resource: "pods", Namespace: "n"}
				if got, want := unstated.Access(t.Context(), request), stated.Access(t.Context(), request); !reflect.DeepEqual(got, want) {
					t.Errorf("access: got %+v, want %+v", got, want)
				}
				view := &decision.VisibilityRequest{User: user, Cluster: decision.Cluster{Name: "c"}, Type: "volume"}
				got, want := unstated.Visibility(t.Context(), view), stated.Visibility(t.Context(), view)
				if got.Decision != want.Decision || got.Reason != want.Reason || got.EvaluationError != want.EvaluationError {
					t.Errorf("visibility: got %+v, want %+v", got, want)
				}
			}
		})
	}
}

// Generated tests change with each role, and no engine loads them: the rules are compiled again
// only if one of them changed.
func TestOtherTestsKeepTheCompiledRules(t *testing.T) {
	first := activateDocuments(t, ofClusters, Options{})
	result, list := translator.New(translator.Options{Tests: true}).Translate(t.Context(), source.Snapshot{Files: []source.File{source.NewFile("p.yaml", []byte(ofClusters))}})
	if result == nil {
		t.Fatal(list)
	}
	tested, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next, err := Activate(t.Context(), tested, Options{Last: first})
	if err != nil {
		t.Fatal(err)
	}
	if next.queries.later != first.queries.later {
		t.Error("the rules were compiled again, though only tests differ")
	}
	other := activateDocuments(t, ofClusters+"---\n"+denyEverywhere, Options{Last: first})
	if other.queries.later == first.queries.later {
		t.Error("another rule was not compiled")
	}
}
