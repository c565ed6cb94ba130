package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// shape is the file of a world: its numbers, from which facts are drawn.
type shape struct {
	Seed                                   uint64
	Verbs, Resources                       []string
	RulesOfRole, GroupsOfUser              int
	BindingsPerRole, BindingsPerUser       int
	BindingsPerGroup, BindingsPerNamespace int
	ClusterWide                            int
}

// rule gives each of its verbs on each of its resources.
type rule struct{ Verbs, Resources []string }

// role has a name and rules.
type role struct {
	Name  string
	Rules []rule
}

// binding gives a role to a user or to a group, in a namespace or, if that is empty, in all.
type binding struct{ Name, User, Group, Role, Namespace string }

// subject is user:NAME or group:NAME.
func (b *binding) subject() string {
	if b.Group != "" {
		return "group:" + b.Group
	}
	return "user:" + b.User
}

// question asks whether a user may do something, who may, or in which namespaces. Groups are
// those of the user, for systems that do not hold them.
type question struct {
	User      string   `json:"user"`
	Groups    []string `json:"groups"`
	Verb      string   `json:"verb"`
	Resource  string   `json:"resource"`
	Namespace string   `json:"namespace"`
	Fresh     bool     `json:"-"`
}

// world has the facts of n bindings.
type world struct {
	N          int
	Shape      shape
	Roles      []role
	Bindings   []binding
	Users      []string
	Groups     map[string][]string // of each user
	Namespaces []string
	random     *rand.Rand
}

func readYAML(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// newWorld draws the facts. The same shape and n are the same world.
func newWorld(s shape, n int) *world {
	w := &world{N: n, Shape: s, Groups: make(map[string][]string), random: rand.New(rand.NewPCG(s.Seed, uint64(n)))}
	names := func(kind string, per int) []string {
		list := make([]string, max(n/per, 2))
		for i := range list {
			list[i] = fmt.Sprintf("%s-%d", kind, i)
		}
		return list
	}
	w.Namespaces = names("ns", s.BindingsPerNamespace)
	groups := names("group", s.BindingsPerGroup)
	w.Users = names("user", s.BindingsPerUser)
	for _, user := range w.Users {
		w.Groups[user] = distinct(w.random, groups, s.GroupsOfUser)
	}
	for _, name := range names("role", s.BindingsPerRole) {
		r := role{Name: name}
		for range s.RulesOfRole {
			r.Rules = append(r.Rules, rule{distinct(w.random, s.Verbs, 2), distinct(w.random, s.Resources, 2)})
		}
		w.Roles = append(w.Roles, r)
	}
	for i := range n {
		b := binding{Name: fmt.Sprintf("binding-%d", i), Role: pick(w.random, w.Roles).Name, Namespace: pick(w.random, w.Namespaces)}
		if i%s.ClusterWide == 0 {
			b.Namespace = ""
		}
		if i%2 == 1 {
			b.Group = pick(w.random, groups)
		} else {
			b.User = pick(w.random, w.Users)
		}
		w.Bindings = append(w.Bindings, b)
	}
	return w
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }

// distinct are n of the list, or all, sorted.
func distinct(random *rand.Rand, list []string, n int) []string {
	var out []string
	for _, i := range random.Perm(len(list))[:min(n, len(list))] {
		out = append(out, list[i])
	}
	slices.Sort(out)
	return out
}

// questions are up to n different ones. Half of them are about what some binding gives, so
// that about half are allowed.
func (w *world) questions(n int) []question {
	seen := make(map[string]bool)
	var list []question
	members := w.members()
	for range 4 * n {
		q := question{User: pick(w.random, w.Users), Verb: pick(w.random, w.Shape.Verbs), Resource: pick(w.random, w.Shape.Resources), Namespace: pick(w.random, w.Namespaces)}
		if b := pick(w.random, w.Bindings); len(list)%2 == 0 && (b.User != "" || len(members[b.Group]) > 0) {
			given := pick(w.random, w.role(b.Role).Rules)
			q.User, q.Verb, q.Resource = b.User, pick(w.random, given.Verbs), pick(w.random, given.Resources)
			if b.Group != "" {
				q.User = pick(w.random, members[b.Group])
			}
			if b.Namespace != "" {
				q.Namespace = b.Namespace
			}
		}
		q.Groups = w.Groups[q.User]
		if key := fmt.Sprint(q); !seen[key] && len(list) < n {
			seen[key] = true
			list = append(list, q)
		}
	}
	return list
}

func (w *world) role(name string) *role {
	return &w.Roles[slices.IndexFunc(w.Roles, func(r role) bool { return r.Name == name })]
}

// members are the users of each group.
func (w *world) members() map[string][]string {
	members := make(map[string][]string)
	for _, user := range w.Users {
		for _, group := range w.Groups[user] {
			members[group] = append(members[group], user)
		}
	}
	return members
}

// lastGiven is a question that only the last binding of a user in a namespace allows.
func (r *reference) lastGiven() *question {
	for i := len(r.Bindings) - 1; i >= 0; i-- {
		b := &r.Bindings[i]
		if b.User == "" || b.Namespace == "" {
			continue
		}
		for pair := range r.role(b.Role).pairs() {
			q := question{User: b.User, Groups: r.Groups[b.User], Verb: pair[0], Resource: pair[1], Namespace: b.Namespace}
			givers := 0
			for _, other := range r.giving[pair] {
				if other.names(&q) && (other.Namespace == "" || other.Namespace == q.Namespace) {
					givers++
				}
			}
			if list := r.namespaces(&q); givers == 1 && len(list) == 1 {
				return &q
			}
		}
	}
	return nil
}
