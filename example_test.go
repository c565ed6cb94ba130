package writ_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/writ-policy/writ"
)

func Example() {
	ctx := context.Background()
	policies, err := writ.Load(ctx, "examples/policies", writ.Options{})
	if err != nil {
		log.Fatal(err)
	}
	d, err := policies.Access(ctx, &writ.AccessRequest{
		User: "Edgar", Verb: "delete", Resource: "services", Namespace: "hammer",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Allowed, d.Reason)
	fmt.Println(d.Matched[0].Source)
	// Output:
	// true allowed by RoleBinding hammer/Editors (Role master/edit, rule 0)
	// stock/origin.yaml:20
}

func ExamplePolicies_Access_denied() {
	ctx := context.Background()
	policies, err := writ.Load(ctx, "examples/policies", writ.Options{})
	if err != nil {
		log.Fatal(err)
	}
	d, err := policies.Access(ctx, &writ.AccessRequest{
		User: "Edgar", Verb: "delete", Resource: "deploymentconfigs", Namespace: "hammer",
		Labels: map[string]string{"protected": "yes"},
	})
	fmt.Println(d.Denied, err)
	_, err = policies.Access(ctx, &writ.AccessRequest{User: "Edgar", Resource: "services"})
	var invalid *writ.InvalidRequest
	fmt.Println(errors.As(err, &invalid), invalid.Field)
	// Output:
	// true <nil>
	// true verb
}

func ExamplePolicies_Visibility() {
	ctx := context.Background()
	policies, err := writ.Load(ctx, "examples/policies", writ.Options{})
	if err != nil {
		log.Fatal(err)
	}
	d := policies.Visibility(ctx, &writ.VisibilityRequest{
		User: "Hubert", Groups: []string{"hammer"}, Type: "pods",
		Cluster: writ.Cluster{Name: "prod-eu-1", Labels: map[string]string{"env": "prod"}},
		Items:   &[]writ.Item{{Name: "web-0", Namespace: "hammer"}, {Name: "db-0", Namespace: "shop"}},
	})
	fmt.Println(d.Decision, d.Policy, d.Visible)
	// Output: partial hammer [0]
}

func ExamplePolicies_Gateway() {
	ctx := context.Background()
	policies, err := writ.Load(ctx, "examples/policies", writ.Options{})
	if err != nil {
		log.Fatal(err)
	}
	d, err := policies.Gateway(ctx, &writ.GatewayRequest{Attributes: map[string]any{
		"request": map[string]any{"host": "books.example.com", "method": "PUT", "path": "/7"},
		"auth": map[string]any{
			"identity": map[string]any{"sub": "ann", "groups": []any{"readers"}},
		},
	}})
	fmt.Println(d.Allowed, d.Status, d.Reason, err)
	// Output: false 403 rules.authorization.sellers denied <nil>
}

func ExampleFollow() {
	dir, err := os.MkdirTemp("", "policies")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write := func(user string) {
		text := fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader},
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: readers},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]}
`, user)
		temporary := filepath.Join(dir, ".new")
		if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
		if err := os.Rename(temporary, filepath.Join(dir, "readers.yaml")); err != nil {
			log.Fatal(err)
		}
	}
	write("alice")

	ctx := context.Background()
	reloaded := make(chan error, 10)
	policies, err := writ.Follow(ctx, dir, writ.Options{
		OnReload: func(_ string, err error) { reloaded <- err },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer policies.Close()
	ask := func() {
		d, err := policies.Access(ctx, &writ.AccessRequest{User: "bob", Verb: "get", Resource: "pods", Namespace: "shop"})
		fmt.Println(d.Allowed, err)
	}
	fmt.Println(<-reloaded)
	ask()
	write("bob")
	fmt.Println(<-reloaded)
	ask()
	// Output:
	// <nil>
	// false <nil>
	// <nil>
	// true <nil>
}
