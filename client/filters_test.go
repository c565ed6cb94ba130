package client_test

import (
	"errors"
	"testing"

	"github.com/writ-policy/writ"
	"github.com/writ-policy/writ/client"
)

// A client returns the filters of package writ by the same documents, in every language.
func TestFiltersAreThoseOfPackageWrit(t *testing.T) {
	c := patient(t, exampleServer().URL)
	own, err := writ.Load(t.Context(), examples, writ.Options{})
	if err != nil {
		t.Fatal(err)
	}
	view := &writ.VisibilityRequest{User: "Hubert", Groups: []string{"hammer"}, Type: "pods", Cluster: writ.Cluster{Name: "prod-eu-1", Labels: map[string]string{"env": "prod"}}}
	viewed := map[string]any{"user": "Hubert", "groups": []string{"hammer"}, "type": "pods", "cluster": map[string]any{"name": "prod-eu-1", "labels": map[string]string{"env": "prod"}}}
	columns := map[string]any{"namespaceLabels": map[string]any{"json": "nsl"}}
	conditional := 0
	compare := func(target string, got client.Filter, err error, want writ.Filter, wantErr error) {
		t.Helper()
		if errors.As(wantErr, new(*writ.UntranslatableError)) {
			var refused *client.Error
			if !errors.As(err, &refused) || refused.Status != 422 {
				t.Errorf("%s: got %v, want a refusal as %v", target, err, wantErr)
			}
			return
		}
		if err != nil || wantErr != nil {
			t.Fatalf("%s: %v, %v", target, err, wantErr)
		}
		if got.Kind == client.FilterConditional {
			conditional++
		}
		ours, theirs := encoded(t, []any{want.Kind, want.Exact, want.SQL, want.CEL, want.UCAST, want.Residual, want.Revision, want.Where()}),
			encoded(t, []any{got.Kind, got.Exact, got.SQL, got.CEL, got.UCAST, got.Residual, got.Revision, got.Where()})
		if ours != theirs || len(got.Args) != len(want.Args) || len(got.Requests) != len(want.Requests) || !got.Until.Equal(want.Until) {
			t.Errorf("%s: got %s with %v, want %s with %v", target, theirs, got.Args, ours, want.Args)
		}
		for i, arg := range want.Args {
			if i < len(got.Args) && got.Args[i] != arg {
				t.Errorf("%s: got the parameter %#v, want %#v", target, got.Args[i], arg)
			}
		}
	}
	for _, target := range []string{"sql+postgresql", "sql+mysql", "sql+sqlite", "ucast+all", "ucast+minimal", "kubernetes", "cel"} {
		got, err := c.FilterVisibility(t.Context(), &client.VisibilityFilterRequest{Request: viewed, Target: target, Columns: columns})
		want, wantErr := own.FilterVisibility(t.Context(), &writ.VisibilityFilterRequest{Request: view, Target: target, Columns: columns})
		compare(target, got, err, want, wantErr)
		for _, r := range []*writ.AccessRequest{{User: "Edgar", Verb: "get", Resource: "pods"}, {User: "Clark", Verb: "get", Resource: "secrets"}, {User: "stranger", Verb: "get", Resource: "pods"}} {
			asked := map[string]any{"user": r.User, "verb": r.Verb, "resource": r.Resource}
			got, err := c.FilterAccess(t.Context(), &client.AccessFilterRequest{Request: asked, Target: target, Columns: columns, Open: []string{"namespace", "name", "namespaceLabels"}})
			want, wantErr := own.FilterAccess(t.Context(), &writ.AccessFilterRequest{Request: r, Target: target, Columns: columns, Open: []string{"namespace", "name", "namespaceLabels"}})
			compare(target, got, err, want, wantErr)
		}
	}
	if conditional < 7 {
		t.Errorf("only %d filters have a condition", conditional)
	}
	if zero := (client.Filter{}); zero.Where() != "FALSE" || zero.Kind != client.FilterNever {
		t.Errorf("the zero filter is %s", zero.Where())
	}
}
