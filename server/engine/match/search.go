package match

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/implication"
	"github.com/writ-policy/writ/server/decision"
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

// search finds the hits of one request. The entries to compare are computed when the
// first grant of their family is found.
type search struct {
	tree    *Tree
	request *decision.Request
	hits    []Hit
	seen    map[Hit]struct{} // the hits, if there are many; else nil
	// resources are the entries of a Kubernetes rule that match the request's resource.
	resources [3]string
	count     int
	// verbs and kinds are the entries that cover an Origin request.
	verbs, kinds []string
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
		switch {
		case g.role.Family == tables.FamilyOrigin && s.request.Path == "":
			s.matchOrigin(g)
		case g.role.Family == tables.FamilyOrigin:
			// Origin roles do not cover paths.
		case s.request.Path != "":
			s.matchPaths(g)
		default:
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
	if s.count == 0 {
		s.resources, s.count = resourceEntries(s.request)
	}
	entries := s.resources[:s.count]
	g.role.rulesForResources(entries, func(number int) {
		rule := &g.role.Kubernetes[number]
		if has(rule.Verbs, s.request.Verb) && has(rule.Groups, s.request.APIGroup) && hasAny(rule.Resources, entries) &&
			(len(rule.Names) == 0 || slices.Contains(rule.Names, s.request.Name)) {
			s.add(g, number)
		}
	})
}

// has reports whether a list of a Kubernetes rule covers the value.
func has(list []string, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, "*")
}

// hasAny reports whether a list has any of the entries.
func hasAny(list, entries []string) bool {
	for _, entry := range list {
		if slices.Contains(entries, entry) {
			return true
		}
	}
	return false
}

// resourceEntries returns the entries of a Kubernetes rule that match the request.
func resourceEntries(r *decision.Request) (entries [3]string, count int) {
	if r.Subresource == "" {
		return [3]string{"*", r.Resource}, 2
	}
	return [3]string{"*", r.Resource + "/" + r.Subresource, "*/" + r.Subresource}, 3
}

func (s *search) matchPaths(g grant) {
	for number := range g.role.Kubernetes {
		rule := &g.role.Kubernetes[number]
		fits := func(pattern string) bool { return implication.CoversPath(pattern, s.request.Path) }
		if has(rule.Verbs, s.request.Verb) && slices.ContainsFunc(rule.Paths, fits) {
			s.add(g, number)
		}
	}
}

func (s *search) matchOrigin(g grant) {
	if s.verbs == nil {
		s.verbs, s.kinds = originVerbEntries(s.request), originKindEntries(s.request)
	}
	for number := range g.role.Origin {
		rule := &g.role.Origin[number]
		if covers(rule.Verbs, rule.NotVerbs, s.verbs, rule.Deny) && covers(rule.Kinds, rule.NotKinds, s.kinds, rule.Deny) {
			s.add(g, number)
		}
	}
}

// covers reports whether a positive entry of an Origin list covers the request and no
// negative entry does. entries is empty for a request for all verbs or all kinds: a grant
// must cover all of them, and a denial covers the request if it has any of them.
func covers(positive, negative, entries []string, deny bool) bool {
	switch {
	case len(entries) > 0:
		return hasAny(positive, entries) && !hasAny(negative, entries)
	case deny:
		return len(positive) > 0 && !slices.Contains(negative, "*")
	}
	return len(negative) == 0 && slices.Contains(positive, "*")
}

// originVerbEntries returns the entries that cover the request's verb, nil for a request
// for all verbs.
func originVerbEntries(r *decision.Request) []string {
	carried := tables.OriginVerbs(r.Verb, r.Subresource)
	if len(carried) == 1 && carried[0] == "*" {
		return []string{}
	}
	return append(carried, "*")
}

// originKindEntries returns the entries that cover the request's resource, nil for a
// request for all kinds.
func originKindEntries(r *decision.Request) []string {
	if r.Resource == "*" {
		return []string{}
	}
	sub := strings.ToLower(r.Subresource)
	if verb := strings.ToLower(r.Verb); sub == "" && (verb == "exec" || verb == "proxy") {
		// The verbs exec and proxy without a subresource imply the subresource of that
		// name, so that "-pods/exec" matches them.
		sub = verb
	}
	entries := []string{"*"}
	add := func(word string) {
		if sub != "" {
			entries = append(entries, word+"/"+sub)
		}
	}
	add("*")
	for _, word := range tables.KindSynonyms(strings.ToLower(r.Resource)) {
		entries = append(entries, word)
		add(word)
	}
	return entries
}
