package main

import (
	"context"
	"iter"
	"slices"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/ast"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/batch"
)

// cedarGo has a policy for each binding. A verb on a resource is an action, and a role the group
// of its actions. Cedar's best practices want principal and resource in the scope, so that the
// policies of a request can be found. Lists are by its package batch, which is experimental.
type cedarGo struct {
	library
	world    *world
	entities types.EntityMap // actions and users
	all      *cedar.PolicySet
	by       map[types.EntityUID]*cedar.PolicySet // by principal
}

func (*cedarGo) about() about { return described("cedar", "") }

func uid(kind, name string) types.EntityUID {
	return cedar.NewEntityUID(types.EntityType(kind), types.String(name))
}

func (c *cedarGo) start(_ context.Context, w *world, _ string) error {
	c.world, c.entities, c.all, c.by = w, make(types.EntityMap), cedar.NewPolicySet(), make(map[types.EntityUID]*cedar.PolicySet)
	parents := make(map[types.EntityUID][]types.EntityUID)
	for i := range w.Roles {
		for pair := range w.Roles[i].pairs() {
			action := uid("Action", pair[0]+" "+pair[1])
			parents[action] = append(parents[action], uid("Action", w.Roles[i].Name))
		}
	}
	for _, user := range w.Users {
		parents[uid("User", user)] = mapped(w.Groups[user], func(g string) types.EntityUID { return uid("Group", g) })
	}
	for child, of := range parents {
		c.entities[child] = types.Entity{UID: child, Parents: types.NewEntityUIDSet(of...)}
	}
	return eachBinding(w, c)
}

func (c *cedarGo) change(b *binding, bound bool) error {
	principal, policy := uid("User", b.User), ast.Permit().ActionIn(uid("Action", b.Role))
	if b.Group != "" {
		principal = uid("Group", b.Group)
	}
	if policy = policy.PrincipalIn(principal); b.Namespace != "" {
		policy = policy.ResourceEq(uid("Namespace", b.Namespace))
	}
	if c.by[principal] == nil {
		c.by[principal] = cedar.NewPolicySet()
	}
	for _, set := range []*cedar.PolicySet{c.all, c.by[principal]} {
		if set.Remove(cedar.PolicyID(b.Name)); bound {
			set.Add(cedar.PolicyID(b.Name), cedar.NewPolicyFromAST(policy))
		}
	}
	return nil
}

// slice has the policies of some principals.
type slice []*cedar.PolicySet

// All returns them.
func (s slice) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, set := range s {
			for id, policy := range set.All() {
				if !yield(id, policy) {
					return
				}
			}
		}
	}
}

// sliceOf are the policies of the user and the user's groups.
func (c *cedarGo) sliceOf(q *question) slice {
	s := slice{c.by[uid("User", q.User)]}
	for _, group := range q.Groups {
		s = append(s, c.by[uid("Group", group)])
	}
	return slices.DeleteFunc(s, func(set *cedar.PolicySet) bool { return set == nil })
}

func (c *cedarGo) decide(q *question) (bool, error) {
	decision, _ := cedar.Authorize(c.sliceOf(q), c.entities, cedar.Request{
		Principal: uid("User", q.User), Action: uid("Action", q.Verb+" "+q.Resource), Resource: uid("Namespace", q.Namespace),
	})
	return decision == cedar.Allow, nil
}

func (c *cedarGo) who(q *question) ([]string, error) {
	return c.list(c.all, "User", c.world.Users, batch.Variable("x"), uid("Namespace", q.Namespace), q)
}

func (c *cedarGo) namespaces(q *question) ([]string, error) {
	return c.list(c.sliceOf(q), "Namespace", c.world.Namespaces, uid("User", q.User), batch.Variable("x"), q)
}

// list are the names with which the request is allowed in the place of its variable x.
func (c *cedarGo) list(policies cedar.PolicyIterator, kind string, names []string, principal, resource types.Value, q *question) (list []string, err error) {
	err = batch.Authorize(context.Background(), policies, c.entities, batch.Request{
		Principal: principal, Action: uid("Action", q.Verb+" "+q.Resource), Resource: resource, Context: types.Record{},
		Variables: batch.Variables{"x": mapped(names, func(n string) types.Value { return uid(kind, n) })},
	}, func(r batch.Result) error {
		if r.Decision == cedar.Allow {
			list = append(list, string(r.Values["x"].(types.EntityUID).ID))
		}
		return nil
	})
	return list, err
}
