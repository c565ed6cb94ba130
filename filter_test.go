package writ_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-policy/writ"
)

const filterDocuments = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: shop, annotations: {writ.dev/not-after: "2099-03-01T10:00:00Z"}},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}, subjects: [{kind: User, name: u}]}
---
{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: p},
 spec: {identity: {subjects: {users: [u]}}, access: {effect: Allow},
  scope: {clusters: {rules: [{selector: {matchNames: [c]}, resources: [{type: pods, filters: {names: {allowed: ["a*b*c"]}}}]}]}}}}
`

func filterPolicies(t *testing.T) *writ.Policies {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(filterDocuments), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := writ.Load(t.Context(), dir, writ.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The zero value must never select a row, whatever a caller does with it.
func TestFilterZeroValue(t *testing.T) {
	var f writ.Filter
	if f.Where() != "FALSE" || f.Kind != writ.FilterNever || f.Kind.String() != "never" {
		t.Errorf("got %q, %s", f.Where(), f.Kind)
	}
	if f := (writ.Filter{Kind: writ.FilterAlways, CEL: "true"}); f.Where() != "FALSE" {
		t.Errorf("a filter of CEL is %q in SQL", f.Where())
	}
}

func TestFilterAccess(t *testing.T) {
	p := filterPolicies(t)
	ask := func(user, target string, columns map[string]any) (writ.Filter, error) {
		return p.FilterAccess(t.Context(), &writ.AccessFilterRequest{
			Request: &writ.AccessRequest{User: user, Verb: "get", Resource: "pods"}, Target: target, Columns: columns,
		})
	}
	f, err := ask("u", "sql+postgresql", map[string]any{"namespace": "ns"})
	if want := `("ns" IS NOT NULL AND "ns" COLLATE "C" = $1::text)`; err != nil || f.Where() != want || len(f.Args) != 1 || f.Args[0] != "shop" {
		t.Errorf("got %s %v, %v, want %s", f.Where(), f.Args, err, want)
	}
	if !f.Until.Equal(time.Date(2099, 3, 1, 10, 0, 0, 0, time.UTC)) || f.Revision != p.Revision() || len(f.Matched) != 1 {
		t.Errorf("got until %v, revision %s and %v", f.Until, f.Revision, f.Matched)
	}
	if f, err := ask("x", "sql+sqlite", nil); err != nil || f.Kind != writ.FilterNever || f.Where() != "FALSE" {
		t.Errorf("got %v %s, %v for a user without a binding", f.Kind, f.Where(), err)
	}
	if f, err := ask("u", "ucast+all", nil); err != nil || f.UCAST == nil || f.Where() != "FALSE" {
		t.Errorf("got %v, %v in UCAST", f.UCAST, err)
	}
	if f, err := ask("u", "cel", nil); err != nil || f.CEL == "" || f.SQL != "" {
		t.Errorf("got %q, %q, %v in CEL", f.CEL, f.SQL, err)
	}
	if f, err := ask("u", "kubernetes", nil); err != nil || len(f.Requests) != 1 || f.Requests[0].Namespace != "shop" {
		t.Errorf("got %v, %v for Kubernetes", f.Requests, err)
	}
	var invalid *writ.InvalidRequest
	if _, err := ask("u", "sql", nil); !errors.As(err, &invalid) || invalid.Field != "target" {
		t.Errorf("got %v for an unknown target", err)
	}
	if _, err := ask("u", "cel", map[string]any{"labels": 1}); !errors.As(err, &invalid) || invalid.Field != "columns.labels" {
		t.Errorf("got %v for malformed columns", err)
	}
	_, err = p.FilterAccess(t.Context(), &writ.AccessFilterRequest{Request: &writ.AccessRequest{User: "u", Verb: "get", Resource: "pods", Name: "x"}, Target: "cel"})
	if !errors.As(err, &invalid) || invalid.Field != "request.name" {
		t.Errorf("got %v for a name that is open", err)
	}
}

func TestFilterVisibility(t *testing.T) {
	p := filterPolicies(t)
	request := &writ.VisibilityRequest{User: "u", Type: "pods"}
	request.Cluster.Name = "c"
	f, err := p.FilterVisibility(t.Context(), &writ.VisibilityFilterRequest{Request: request, Target: "sql+sqlite"})
	if err != nil || f.Kind != writ.FilterConditional || len(f.Args) == 0 || f.Args[0] != "a*b*c" {
		t.Errorf("got %v %s %v, %v", f.Kind, f.Where(), f.Args, err)
	}
	var refused *writ.UntranslatableError
	f, err = p.FilterVisibility(t.Context(), &writ.VisibilityFilterRequest{Request: request, Target: "ucast+all"})
	if !errors.As(err, &refused) || len(refused.Constructs) != 1 || refused.Constructs[0].Construct != "glob-middle" || f.Where() != "FALSE" {
		t.Errorf("got %v, %v", f, err)
	}
}
