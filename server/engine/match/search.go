package match

import (
	"slices"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// Find returns the hits of a request, each once, as writ.access.compact.hits finds them
// in the tables. The caller owns the slice.
func (t *Tree) Find(r *decision.Request) []Hit {
	s := search{tree: t, request: r}
	s.findInScope("")
	if r.Namespace != "" {
		s.findInScope(r.Namespace)
	}
	return s.hits
}

// FindGroups returns what Find would return for the request of a user without a name and in
// these groups alone.
func (t *Tree) FindGroups(r *decision.Request, groups []string) []Hit {
	s := search{tree: t, request: r}
	s.findGroups("", groups)
	if r.Namespace != "" {
		s.findGroups(r.Namespace, groups)
	}
	return s.hits
}

// search finds the hits of one request. Its words are computed when the first grant of their
// family is found.
type search struct {
	tree    *Tree
	request *decision.Request
	hits    []Hit
	seen    map[Hit]struct{} // the hits, if there are many; else nil
	// kubernetes and origin are the words of the request, empty until they are needed.
	kubernetes, origin rule.Words
	resources          [3]string // the entries of a Kubernetes rule that match the resource
}

func (s *search) findInScope(namespace string) {
	if s.request.User != "" {
		s.findGrants(boundSubject{namespace: namespace, name: s.request.User})
	}
	s.findGroups(namespace, s.request.Groups)
}

func (s *search) findGroups(namespace string, groups []string) {
	for _, group := range groups {
		s.findGrants(boundSubject{namespace: namespace, group: true, name: group})
	}
}

func (s *search) findGrants(h boundSubject) {
	// Most subjects of a request are not bound in a namespace: their absence is one line of
	// memory here, and several in a large map.
	if _, isBound := s.tree.subjects.find(h.hash()); !isBound {
		return
	}
	grants, _ := s.tree.bySubject.find(h)
	for _, g := range grants {
		if g.role.Family == tables.FamilyOrigin {
			s.matchOrigin(g)
		} else {
			s.matchKubernetes(g)
		}
	}
}

// add adds a hit unless another subject has led to it.
func (s *search) add(g grant, rule int) {
	h := Hit{g.binding, g.role, rule}
	if len(s.hits) < fewHits {
		if slices.Contains(s.hits, h) {
			return
		}
	} else {
		if s.seen == nil {
			s.seen = make(map[Hit]struct{}, 2*fewHits)
			for _, earlier := range s.hits {
				s.seen[earlier] = struct{}{}
			}
		}
		if _, again := s.seen[h]; again {
			return
		}
		s.seen[h] = struct{}{}
	}
	s.hits = append(s.hits, h)
}

// fewHits is the largest number of hits for which searching the list takes less time
// than a map.
const fewHits = 16

func (s *search) matchKubernetes(g grant) {
	if s.kubernetes.Verb == "" {
		asked := requestOf(s.request)
		s.kubernetes = rule.KubernetesWords(&asked)
		s.resources = s.kubernetes.Targets()
	}
	match := func(number int) {
		if rule.MatchKubernetes(&g.role.Kubernetes[number], &s.kubernetes) {
			s.add(g, number)
		}
	}
	if s.request.Path == "" {
		g.role.rulesForResources(s.resources[:], match)
		return
	}
	for number := range g.role.Kubernetes {
		match(number)
	}
}

func (s *search) matchOrigin(g grant) {
	if s.origin.Verb == "" {
		asked := requestOf(s.request)
		s.origin = rule.OriginWords(&asked)
	}
	for number := range g.role.Origin {
		if rule.MatchOrigin(&g.role.Origin[number], &s.origin) {
			s.add(g, number)
		}
	}
}

// requestOf returns what rules compare of a request.
func requestOf(r *decision.Request) rule.Request {
	return rule.Request{Verb: r.Verb, Group: r.APIGroup, Resource: r.Resource, Subresource: r.Subresource, Path: r.Path,
		Name: r.Name, Namespace: r.Namespace, NamespaceLabels: r.NamespaceLabels,
		Cluster: r.Cluster, Tenant: r.Tenant, Session: r.Session, Escalation: r.Escalation}
}
