// Command serve answers SubjectAccessReviews by Kubernetes' own RBAC authorizer, over
// indexers as in an API server, for the comparison of tests/bench.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	listers "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"sigs.k8s.io/yaml"
)

func main() {
	policies := flag.String("policies", "", "the folder of the documents")
	listen := flag.String("listen", "", "the address to listen on")
	flag.Parse()
	if err := run(*policies, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(policies, listen string) error {
	authorize, err := load(policies)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Spec.ResourceAttributes == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		decision, reason, err := authorize.Authorize(r.Context(), attributesOf(&review.Spec))
		review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: decision == authorizer.DecisionAllow, Reason: reason}
		if err != nil {
			review.Status.EvaluationError = err.Error()
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	})
	return http.ListenAndServe(listen, mux)
}

func attributesOf(spec *authorizationv1.SubjectAccessReviewSpec) authorizer.Attributes {
	a := spec.ResourceAttributes
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: spec.User, Groups: spec.Groups}, Verb: a.Verb, Namespace: a.Namespace, APIGroup: a.Group,
		APIVersion: a.Version, Resource: a.Resource, Subresource: a.Subresource, Name: a.Name, ResourceRequest: true,
	}
}

// load reads the roles and bindings of a folder into indexers.
func load(dir string) (authorizer.Authorizer, error) {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	index := func() cache.Indexer { return cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace) }
	roles, bindings, clusterRoles, clusterBindings := index(), index(), index(), index()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, document := range bytes.Split(text, []byte("---\n")) {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal(document, &kind); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			var object any
			var into cache.Indexer
			switch kind.Kind {
			case "Role":
				object, into = new(rbacv1.Role), roles
			case "RoleBinding":
				object, into = new(rbacv1.RoleBinding), bindings
			case "ClusterRole":
				object, into = new(rbacv1.ClusterRole), clusterRoles
			case "ClusterRoleBinding":
				object, into = new(rbacv1.ClusterRoleBinding), clusterBindings
			default:
				continue // deny policies are documents of writ alone
			}
			if err := yaml.Unmarshal(document, object); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			if err := into.Add(object); err != nil {
				return nil, err
			}
		}
	}
	return rbac.New(
		&rbac.RoleGetter{Lister: listers.NewRoleLister(roles)},
		&rbac.RoleBindingLister{Lister: listers.NewRoleBindingLister(bindings)},
		&rbac.ClusterRoleGetter{Lister: listers.NewClusterRoleLister(clusterRoles)},
		&rbac.ClusterRoleBindingLister{Lister: listers.NewClusterRoleBindingLister(clusterBindings)},
	), nil
}
