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
	s := t.Search(r)
	return s.Hits
}

// Search is a search for the hits of one request. Its words are computed when the first grant
// of their family is found.
type Search struct {
	// Hits are those found, each once, in a slice that the caller owns.
	Hits []Hit
	// Via are the sessions of each hit that only their groups lead to, by Hit.Lent.
	Via     [][]Session
	tree    *Tree
	request *decision.Request
	// namespace is that of the request.
	namespace hashedNamespace
	// seen has the places of the hits, if there are many; else it is nil.
	seen    map[Hit]int
	through []Session // the session whose groups are searched, alone
	// kubernetes and origin are the words of the request, empty until they are needed.
	kubernetes, origin rule.Words
	resources          [3]string // the entries of a Kubernetes rule that match the resource
}

// Search finds the hits of the request's own subjects. The request must not change while the
// search is used.
func (t *Tree) Search(r *decision.Request) Search {
	s := Search{tree: t, request: r, namespace: hashNamespace(r.Namespace)}
	if r.User != "" {
		s.findGrants(boundSubject{name: r.User})
	}
	for _, group := range r.Groups {
		s.findGrants(boundSubject{group: true, name: group})
	}
	return s
}

// Lend adds the hits of the groups of sessions.
func (s *Search) Lend(valid []Session) {
	for i := range valid {
		s.through = valid[i : i+1 : i+1]
		for _, group := range valid[i].groups {
			s.findHashed(boundSubject{group: true, name: group.name}, group.hash)
		}
	}
}

// findGrants finds the rules of a subject, bound in the whole cluster and in the namespace of
// the request.
func (s *Search) findGrants(h boundSubject) { s.findHashed(h, h.hash()) }

func (s *Search) findHashed(h boundSubject, hash uint64) {
	s.findIn(h, hash)
	if s.request.Namespace != "" {
		h.namespace = s.request.Namespace
		s.findIn(h, s.namespace.hashIn(hash))
	}
}

func (s *Search) findIn(h boundSubject, hash uint64) {
	// Most subjects of a request are not bound in a namespace: their absence is one line of
	// memory here, and several in a large map.
	if _, isBound := s.tree.subjects.find(hash); !isBound {
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
func (s *Search) add(g grant, number int) {
	h := Hit{Binding: g.binding, role: g.role, rule: number}
	at := s.place(h)
	switch {
	case at >= 0:
		s.lendAgain(s.Hits[at].Lent)
		return
	case s.seen != nil:
		s.seen[h] = len(s.Hits)
	}
	if s.through != nil {
		s.Via = append(s.Via, s.through)
		h.Lent = len(s.Via)
	}
	s.Hits = append(s.Hits, h)
}

// lendAgain adds a session to those of a hit, unless it is there or the hit is one of the request's
// own subjects.
func (s *Search) lendAgain(lent int) {
	if lent == 0 {
		return
	}
	via := &s.Via[lent-1]
	if session := s.through[0]; (*via)[len(*via)-1].Session != session.Session {
		*via = append(*via, session)
	}
}

// place returns the index of a hit, or -1 if it is new.
func (s *Search) place(h Hit) int {
	if len(s.Hits) < fewHits {
		return slices.IndexFunc(s.Hits, func(other Hit) bool {
			return other.Binding == h.Binding && other.role == h.role && other.rule == h.rule
		})
	}
	if s.seen == nil {
		s.seen = make(map[Hit]int, 2*fewHits)
		for i, earlier := range s.Hits {
			earlier.Lent = 0
			s.seen[earlier] = i
		}
	}
	if at, again := s.seen[h]; again {
		return at
	}
	return -1
}

// fewHits is the largest number of hits for which searching the list takes less time
// than a map.
const fewHits = 16

func (s *Search) matchKubernetes(g grant) {
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
		s.tree.rulesForResources(g.role, s.resources[:], match)
		return
	}
	for number := range g.role.Kubernetes {
		match(number)
	}
}

func (s *Search) matchOrigin(g grant) {
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
		Scope: r.Scope()}
}
