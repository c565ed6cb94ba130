package main

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	listers "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// kubernetes is the RBAC authorizer of the API server over indexers, which in an API server
// follow a watch of etcd. Its list of who can do something is not part of any API. The API has
// no list of namespaces: a SelfSubjectRulesReview is about one.
type kubernetes struct {
	library
	world                     *world
	bindings, clusterBindings cache.Indexer
	authorizer                *rbac.RBACAuthorizer
	locator                   *rbac.SubjectAccessEvaluator
}

func (*kubernetes) about() about { return described("kubernetes", "") }

func (k *kubernetes) start(_ context.Context, w *world, _ string) error {
	index := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	roles, clusterRoles := index(), index()
	k.world, k.bindings, k.clusterBindings = w, index(), index()
	for i := range w.Roles {
		if err := clusterRoles.Add(w.Roles[i].clusterRole()); err != nil {
			return err
		}
	}
	if err := eachBinding(w, k); err != nil {
		return err
	}
	roleGetter := &rbac.RoleGetter{Lister: listers.NewRoleLister(roles)}
	bindingLister := &rbac.RoleBindingLister{Lister: listers.NewRoleBindingLister(k.bindings)}
	clusterRoleGetter := &rbac.ClusterRoleGetter{Lister: listers.NewClusterRoleLister(clusterRoles)}
	clusterBindingLister := &rbac.ClusterRoleBindingLister{Lister: listers.NewClusterRoleBindingLister(k.clusterBindings)}
	k.authorizer = rbac.New(roleGetter, bindingLister, clusterRoleGetter, clusterBindingLister)
	k.locator = rbac.NewSubjectAccessEvaluator(roleGetter, bindingLister, clusterRoleGetter, clusterBindingLister, "")
	return nil
}

func attributes(q *question) authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: q.User, Groups: q.Groups}, Verb: q.Verb, Namespace: q.Namespace, APIVersion: "v1", Resource: q.Resource, ResourceRequest: true,
	}
}

func (k *kubernetes) decide(q *question) (bool, error) {
	decision, _, err := k.authorizer.Authorize(context.Background(), attributes(q))
	return decision == authorizer.DecisionAllow, err
}

func (k *kubernetes) who(q *question) ([]string, error) {
	subjects, err := k.locator.AllowedSubjects(context.Background(), attributes(q))
	var users, groups []string
	for _, subject := range subjects {
		if subject.Kind == rbacv1.GroupKind {
			groups = append(groups, subject.Name)
		} else {
			users = append(users, subject.Name)
		}
	}
	return k.world.usersOf(users, groups), err
}

func (k *kubernetes) change(b *binding, bound bool) error {
	indexer := k.bindings
	if b.Namespace == "" {
		indexer = k.clusterBindings
	}
	if bound {
		return indexer.Add(b.document())
	}
	return indexer.Delete(b.document())
}
