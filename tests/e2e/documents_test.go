package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definition is a permissive custom resource definition: what the documents mean is checked
// by writ alone.
type definition struct {
	group, version, kind string
	namespaced           bool
}

func (d definition) resource() schema.GroupVersionResource {
	plural := strings.ToLower(d.kind) + "s"
	if strings.HasSuffix(d.kind, "y") {
		plural = strings.TrimSuffix(strings.ToLower(d.kind), "y") + "ies"
	}
	return schema.GroupVersionResource{Group: d.group, Version: d.version, Resource: plural}
}

var definitions = []definition{
	{"breakglass.t-caas.telekom.com", "v1alpha1", "DenyPolicy", false},
	{"breakglass.t-caas.telekom.com", "v1alpha1", "BreakglassEscalation", true},
	{"clusterpulse.io", "v1alpha1", "MonitorAccessPolicy", true},
	{"clusterpulse.io", "v1alpha1", "MetricSource", true},
	{"gateway.networking.k8s.io", "v1", "Gateway", true},
	{"gateway.networking.k8s.io", "v1", "HTTPRoute", true},
	{"kuadrant.io", "v1", "RateLimitPolicy", true},
	{"writ.dev", "v1", "Role", true},
	{"writ.dev", "v1", "RoleBinding", true},
}

// authPolicy is installed later than the others.
var authPolicy = definition{"kuadrant.io", "v1", "AuthPolicy", true}

// define installs a custom resource definition and waits until it is served.
func (c *controlPlane) define(t *testing.T, d definition) {
	t.Helper()
	r := d.resource()
	scope := "Cluster"
	if d.namespaced {
		scope = "Namespaced"
	}
	name := r.GroupResource().String()
	crd := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for a test"}},
		"spec": map[string]any{
			"group": d.group, "scope": scope, "names": map[string]any{"plural": r.Resource, "singular": strings.ToLower(d.kind), "kind": d.kind},
			"versions": []any{map[string]any{
				"name": d.version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err := c.objects.Resource(definitions).Create(t.Context(), &unstructured.Unstructured{Object: crd}, metav1.CreateOptions{})
	check(t, err)
	eventually(t, name+" is served", func() (bool, string) {
		_, err := c.objects.Resource(r).List(context.Background(), metav1.ListOptions{})
		return err == nil, fmt.Sprint(err)
	})
}

// create creates an object from JSON.
func (c *controlPlane) create(t *testing.T, d definition, text string) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": d.group + "/" + d.version, "kind": d.kind}}
	check(t, json.Unmarshal([]byte(text), &object.Object))
	_, err := c.objects.Resource(d.resource()).Namespace(object.GetNamespace()).Create(t.Context(), object, metav1.CreateOptions{})
	check(t, err)
}

// parallel calls do for each number below n, on several connections.
func parallel(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var group sync.WaitGroup
	var mu sync.Mutex
	var first error
	for worker := range 16 {
		group.Go(func() {
			for i := worker; i < n; i += 16 {
				if err := do(i); err != nil && !apierrors.IsAlreadyExists(err) {
					mu.Lock()
					first = err
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	check(t, first)
}

// fill creates namespaces, roles and bindings of users to them. A tenth of the bindings is
// cluster-wide, and a tenth of those in namespaces is to ClusterRoles.
func (c *controlPlane) fill(t *testing.T) {
	t.Helper()
	rbac, create, ctx := c.clients.RbacV1(), metav1.CreateOptions{}, context.Background()
	for n := range namespaces {
		_, err := c.clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace(n)}}, create)
		check(t, err)
	}
	for i := range roles {
		rules := []rbacv1.PolicyRule{{APIGroups: []string{groups[i%len(groups)]}, Resources: []string{resources[i%len(resources)]}, Verbs: verbs[:1+i%len(verbs)]}}
		_, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("role-%d", i)}, Rules: rules}, create)
		check(t, err)
		for n := range namespaces {
			_, err := rbac.Roles(namespace(n)).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("role-%d", i)}, Rules: rules}, create)
			check(t, err)
		}
	}
	parallel(t, *bindings, func(i int) error {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("binding-%d", i)}
		subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user(i)}}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: fmt.Sprintf("role-%d", i%roles)}
		if i%10 == 0 {
			ref.Kind = "ClusterRole"
		}
		if i%100 == 0 {
			_, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, create)
			return err
		}
		_, err := rbac.RoleBindings(namespace(i)).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: ref}, create)
		return err
	})
}

const (
	namespaces = 20
	roles      = 12
	users      = 500
)

var (
	verbs     = []string{"get", "list", "update", "delete"}
	groups    = []string{"", "apps", "batch"}
	resources = []string{"pods", "deployments", "jobs", "configmaps"}
)

func namespace(i int) string { return fmt.Sprintf("team-%d", i%namespaces) }
func user(i int) string      { return fmt.Sprintf("user-%d", i%users) }

// permit lets the user of writ list and watch resources.
func (c *controlPlane) permit(t *testing.T, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	rbac := c.clients.RbacV1()
	_, err := rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
	check(t, err)
	_, err = rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "writ"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}, metav1.CreateOptions{})
	check(t, err)
}

// readable is a rule that permits reading all resources of groups.
func readable(groups ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: groups, Resources: []string{"*"}, Verbs: []string{"list", "watch"}}
}
