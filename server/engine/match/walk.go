package match

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/tables"
)

// Hit is a rule that fits a request by its lists, joined with a binding that
// applies it.
type Hit struct {
	Binding *tables.Binding
	role    *role
	rule    int
}

// Deny reports whether the rule is a deny rule; Kubernetes has none.
func (h Hit) Deny() bool {
	return h.role.Family == tables.FamilyOrigin && h.role.Origin[h.rule].Deny
}

// Restrictions are those of the rule, nil without any; Kubernetes has none.
func (h Hit) Restrictions() *tables.Restrictions {
	if h.role.Family == tables.FamilyOrigin {
		return h.role.Origin[h.rule].Restrictions
	}
	return nil
}

// Number is the rule's index as documents count it, and its source.
func (h Hit) Number() (number int, source string) {
	if h.role.Family == tables.FamilyOrigin {
		rule := &h.role.Origin[h.rule]
		return rule.Rule, rule.Source
	}
	rule := &h.role.Kubernetes[h.rule]
	return rule.Rule, rule.Source
}

// Role is the role of the binding.
func (h Hit) Role() *tables.Role { return h.role.Role }

// Find returns every hit of the request once: what writ.access.compact.hits finds in
// the tables. The caller may write the slice.
func (t *Tree) Find(r *decision.Request) []Hit {
	w := walk{tree: t, request: r}
	w.scope("")
	if r.Namespace != "" {
		w.scope(r.Namespace)
	}
	return w.hits
}

// walk is one request on its way through the tree. What it looks up is worked
// out when a grant of the family is first met.
type walk struct {
	tree    *Tree
	request *decision.Request
	hits    []Hit
	seen    map[Hit]struct{} // hits again, once they are many
	// resources are the entries that fit the resource of a Kubernetes rule.
	resources [3]string
	count     int
	// verbs and kinds are the entries that cover an Origin request.
	verbs, kinds []string
}

func (w *walk) scope(namespace string) {
	if w.request.User != "" {
		w.grants(boundSubject{namespace: namespace, name: w.request.User})
	}
	for _, group := range w.request.Groups {
		w.grants(boundSubject{namespace: namespace, group: true, name: group})
	}
}

func (w *walk) grants(h boundSubject) {
	grants, _ := w.tree.bySubject.find(h)
	for _, g := range grants {
		switch {
		case g.role.Family == tables.FamilyOrigin && w.request.Path == "":
			w.origin(g)
		case g.role.Family == tables.FamilyOrigin:
			// Origin's kinds have no paths.
		case w.request.Path != "":
			w.paths(g)
		default:
			w.kubernetes(g)
		}
	}
}

// add notes a hit, unless another way has led to it.
func (w *walk) add(g grant, rule int) {
	h := Hit{g.binding, g.role, rule}
	if len(w.hits) < fewHits {
		if slices.Contains(w.hits, h) {
			return
		}
	} else {
		if w.seen == nil {
			w.seen = make(map[Hit]struct{}, 2*fewHits)
			for _, earlier := range w.hits {
				w.seen[earlier] = struct{}{}
			}
		}
		if _, again := w.seen[h]; again {
			return
		}
		w.seen[h] = struct{}{}
	}
	w.hits = append(w.hits, h)
}

// fewHits is up to how many hits a look through the list costs less than a map.
const fewHits = 16

func (w *walk) kubernetes(g grant) {
	if w.count == 0 {
		w.resources, w.count = resourceEntries(w.request)
	}
	entries := w.resources[:w.count]
	g.role.rulesForResources(entries, func(number int) {
		rule := &g.role.Kubernetes[number]
		if has(rule.Verbs, w.request.Verb) && has(rule.Groups, w.request.APIGroup) && hasAny(rule.Resources, entries) &&
			(len(rule.Names) == 0 || slices.Contains(rule.Names, w.request.Name)) {
			w.add(g, number)
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

// resourceEntries are the entries of a Kubernetes rule that fit the request.
func resourceEntries(r *decision.Request) (entries [3]string, count int) {
	if r.Subresource == "" {
		return [3]string{"*", r.Resource}, 2
	}
	return [3]string{"*", r.Resource + "/" + r.Subresource, "*/" + r.Subresource}, 3
}

func (w *walk) paths(g grant) {
	for number := range g.role.Kubernetes {
		rule := &g.role.Kubernetes[number]
		fits := func(pattern string) bool { return access.CoversPath(pattern, w.request.Path) }
		if has(rule.Verbs, w.request.Verb) && slices.ContainsFunc(rule.Paths, fits) {
			w.add(g, number)
		}
	}
}

func (w *walk) origin(g grant) {
	if w.verbs == nil {
		w.verbs, w.kinds = originVerbEntries(w.request), originKindEntries(w.request)
	}
	for number := range g.role.Origin {
		rule := &g.role.Origin[number]
		if covers(rule.Verbs, rule.NotVerbs, w.verbs, rule.Deny) && covers(rule.Kinds, rule.NotKinds, w.kinds, rule.Deny) {
			w.add(g, number)
		}
	}
}

// covers reports whether some positive entry of an Origin list covers the request
// and no negative one does. All of it: a grant must cover the whole, a denial
// needs only to touch it.
func covers(positive, negative, entries []string, deny bool) bool {
	switch {
	case len(entries) > 0:
		return hasAny(positive, entries) && !hasAny(negative, entries)
	case deny:
		return len(positive) > 0 && !slices.Contains(negative, "*")
	}
	return len(negative) == 0 && slices.Contains(positive, "*")
}

// originVerbEntries are the entries that cover the request's verb; none for a
// request for all verbs.
func originVerbEntries(r *decision.Request) []string {
	carried := tables.Carried(r.Verb, r.Subresource)
	if len(carried) == 1 && carried[0] == "*" {
		return []string{}
	}
	return append(carried, "*")
}

// originKindEntries are the entries that cover the request's resource; none for a
// request for all kinds.
func originKindEntries(r *decision.Request) []string {
	if r.Resource == "*" {
		return []string{}
	}
	sub := strings.ToLower(r.Subresource)
	if verb := strings.ToLower(r.Verb); sub == "" && (verb == "exec" || verb == "proxy") {
		// The verbs exec and proxy without a subresource count as having the one of
		// that name, so that "-pods/exec" sees them.
		sub = verb
	}
	entries := []string{"*"}
	add := func(word string) {
		if sub != "" {
			entries = append(entries, word+"/"+sub)
		}
	}
	add("*")
	// A resource with a slash is not a kind: it must not be taken for an entry's
	// subresource.
	if !strings.Contains(r.Resource, "/") {
		for _, word := range tables.SameKinds(strings.ToLower(r.Resource)) {
			entries = append(entries, word)
			add(word)
		}
	}
	return entries
}
