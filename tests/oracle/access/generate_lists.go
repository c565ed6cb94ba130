package access

import (
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// GenerateLists makes documents of which restrictions decide whether something may be listed,
// and whose requests are lists.
func GenerateLists(seed uint64) (map[string]string, *World) {
	g := &Generator{Source: random.New(seed, 3), World: &World{Master: "master", Seed: seed, lists: true}, Taken: map[string]bool{}}
	w := g.World
	for range 2 + g.IntN(4) {
		namespace := g.One([]string{"master", random.Namespaces[0]})
		role := &OriginRole{Namespace: namespace, Name: g.name("origin role " + namespace)}
		for range 1 + g.IntN(3) {
			s := &Restrictions{}
			for s.Labels == nil && s.Select == nil && s.Kind == "" {
				if g.Once(2) {
					s.Labels = g.Some(1, 2, []string{"tier=gold", "tier=tin", "team", "team=", "odd=a b"})
				}
				if g.Once(3) {
					s.Select = g.Some(1, 2, []string{"type=x", "type=a,b", "metadata.name=a", "metadata.namespace=hammer", "spec.nodeName=n1"})
				}
				if g.Once(4) {
					s.Kind = "sameMinionRestriction"
				}
			}
			if g.Once(8) {
				s.Fields = []string{"spec"}
			}
			role.Rules = append(role.Rules, &OriginRule{Deny: g.Once(4), Verbs: []string{"*"}, Kinds: []string{"*"}, Restrictions: s})
		}
		w.OriginRoles = append(w.OriginRoles, role)
		w.OriginBindings = append(w.OriginBindings, &OriginBinding{
			Namespace: namespace, Name: g.name("origin binding " + namespace), RoleNamespace: namespace, RoleName: role.Name,
			Users: g.Some(1, 3, []string{"ada", "system:node:n1"}),
		})
	}
	return g.write(), w
}

// list makes a request a list by a subject of the documents, often with a selector that
// one of their rules asks for.
func (g requester) list(r *oracle.Request) {
	r.User, r.Groups = g.One([]string{"ada", "system:node:n1"}), nil
	r.Verb, r.Resource = g.One([]string{"list", "watch", "deletecollection", "LIST", "get"}), g.One([]string{"pods", "secrets"})
	r.APIGroup, r.Subresource, r.Path, r.Pod, r.PodError = "", "", "", nil, ""
	if !g.Once(6) {
		r.Labels = nil
	}
	role := g.world.OriginRoles[g.IntN(len(g.world.OriginRoles))]
	asked := role.Rules[g.IntN(len(role.Rules))].Restrictions
	if len(asked.Labels) > 0 && g.Once(2) {
		r.Attributes["labelSelector"] = selecting(asked.Labels)
	}
	if len(asked.Select) > 0 && g.Once(2) {
		r.Attributes["fieldSelector"] = selecting(asked.Select)
	}
}
