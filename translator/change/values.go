package change

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// list is values without duplicates, in the order of their first mention, and patterns.
type list struct {
	values   []string
	seen     map[string]bool
	patterns []string // RE2 expressions for whole values
	cut      bool     // a region of the patterns may have no value
}

func (l *list) add(values ...string) {
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	for _, v := range values {
		if !l.seen[v] {
			l.seen[v] = true
			l.values = append(l.values, v)
		}
	}
}

func (l *list) addGlobs(globs []tables.PathGlob) {
	for _, g := range globs {
		if text, ok := g.Literal(); ok {
			l.add(text)
		}
		if !g.MatchesAll() {
			l.patterns = append(l.patterns, g.Expression())
		}
	}
}

// all returns the values, one for each region of the patterns, and other values.
func (l *list) all(others ...string) []string {
	if len(l.patterns) == 0 {
		l.add(others...)
		return l.values
	}
	found, complete := regions(l.patterns)
	l.cut = l.cut || !complete
	l.add(found...)
	l.add(others...)
	return l.values
}

// values are what statements can tell apart, by attribute.
type values struct {
	paths, resources, subresources, verbs, groups, names, namespaces list
	clusters, tenants, sessions, escalations, fields                 list

	labels, namespaceLabels, clusterLabels labelValues

	// folds is true if a statement ignores the case or the number of words.
	folds bool
	// reads is true if restrictions depend on what a verb does, nodes if one compares
	// nodes.
	reads, nodes bool
}

// The values that no document names. A document that does name one only makes a witness
// harder to find where it matters, so they are unlikely words.
const (
	otherWord  = "other"
	otherPath  = "/other"
	otherGroup = "other.example"
)

func (v *values) addResource(entry string) {
	resource, sub, slash := strings.Cut(entry, "/")
	v.resources.add(resource)
	if slash {
		v.subresources.add(sub)
	}
}

// addWord adds a word in both cases.
func (v *values) addWord(to *list, word string) {
	to.add(word)
	if word != "*" && word != "" {
		to.add(strings.ToLower(word), strings.ToUpper(word))
	}
}

// addKind adds the words for a kind, and a spelling that no rule with exact words names.
func (v *values) addKind(entry string) {
	kind, sub, slash := strings.Cut(entry, "/")
	if slash {
		v.addWord(&v.subresources, sub)
	}
	v.resources.add(kind)
	if kind == "*" {
		return
	}
	for _, word := range tables.KindSynonyms(strings.ToLower(kind)) {
		v.resources.add(word, strings.ToUpper(word))
	}
}

func (v *values) addFilter(f *tables.NamespaceFilter) {
	if f == nil {
		return
	}
	v.namespaces.addGlobs(f.Patterns)
	for _, term := range f.Terms {
		for _, q := range term {
			v.namespaceLabels.add(q.Key, q.Values...)
		}
	}
}

// isCut reports whether a region of patterns may have no value.
func (v *values) isCut() bool {
	return slices.ContainsFunc([]*list{&v.paths, &v.resources, &v.subresources, &v.names, &v.namespaces, &v.clusters, &v.tenants, &v.sessions, &v.escalations},
		func(l *list) bool { return l.cut })
}

// candidate sets a part of a request.
type candidate func(*request)

// candidates returns the values of a stage, those of positive statements first.
func (s *search) candidates(at stage, r *request, not []*statement) []candidate {
	v := &s.values
	switch at {
	case stageTarget:
		return v.targets()
	case stageVerb:
		return texts(v.verbs.all("*"), func(r *request, s string) { r.verb = s })
	case stageGroup:
		if r.path != "" {
			return texts([]string{""}, func(r *request, s string) { r.group = s })
		}
		return texts(v.groups.all("*"), func(r *request, s string) { r.group = s })
	case stageName:
		if r.path != "" {
			return texts([]string{""}, func(r *request, s string) { r.name = s })
		}
		return texts(v.names.all(), func(r *request, s string) { r.name = s })
	case stageNamespace:
		return s.places(at, r, not)
	case stageCluster:
		return s.clusters(at, r, not)
	case stageTenant:
		return texts(v.tenants.all(), func(r *request, s string) { r.tenant = s })
	case stageSession:
		return v.sessionCandidates()
	case stageLabels:
		unknown := func(r *request) { r.labels = nil }
		return append([]candidate{unknown}, s.labelCandidates(at, r, not, objectLabels)...)
	case stageFields:
		return s.fieldCandidates(r)
	}
	return v.nodeCandidates(r)
}

// texts returns a candidate for each text. A request for "*" reads like a pattern, so it
// is tried last.
func texts(list []string, set func(*request, string)) []candidate {
	out := make([]candidate, 0, len(list))
	star := false
	for _, text := range list {
		if star = star || text == "*"; text != "*" {
			out = append(out, func(r *request) { set(r, text) })
		}
	}
	if star {
		out = append(out, func(r *request) { set(r, "*") })
	}
	return out
}

// addOthers adds the values that no statement names. They are added after those of
// statements that a request must match, so that a witness uses the words of documents
// where it can and plain ones elsewhere.
func (v *values) addOthers() {
	v.resources.add("pods", otherWord+"s")
	v.subresources.add("", otherWord)
	v.verbs.add("get", otherWord)
	v.groups.add("", otherGroup)
	for _, l := range []*list{&v.names, &v.namespaces, &v.clusters, &v.tenants, &v.sessions, &v.escalations} {
		l.add("", otherWord)
	}
}

func (v *values) targets() []candidate {
	var out []candidate
	subs := v.subresources.all()
	if i := slices.Index(subs, ""); i > 0 { // a request without a subresource reads best
		subs = append([]string{""}, slices.Delete(slices.Clone(subs), i, i+1)...)
	}
	resources := slices.DeleteFunc(slices.Clone(v.resources.all()), func(s string) bool { return s == "*" || s == "" })
	for _, sub := range subs {
		for _, resource := range append(resources, "*") {
			if sub == "*" {
				continue
			}
			out = append(out, func(r *request) { r.path, r.resource, r.subresource = "", resource, sub })
		}
	}
	for _, path := range v.paths.all(otherPath) {
		if path != "" {
			out = append(out, func(r *request) { r.path, r.resource, r.subresource = path, "", "" })
		}
	}
	return out
}

// places are namespaces with their labels, which may be unknown.
func (s *search) places(at stage, r *request, not []*statement) []candidate {
	if r.path != "" {
		return texts([]string{""}, func(r *request, s string) { r.namespace = s })
	}
	var out []candidate
	for _, namespace := range s.values.namespaces.all() {
		place := func(r *request) { r.namespace, r.namespaceLabels = namespace, nil }
		out = append(out, place)
		if namespace != "" {
			in := *r
			place(&in)
			out = append(out, product([]candidate{place}, s.labelCandidates(at, &in, not, namespaceLabels))...)
		}
	}
	return out
}

// clusters are clusters with their labels.
func (s *search) clusters(at stage, r *request, not []*statement) []candidate {
	var out []candidate
	for _, name := range s.values.clusters.all() {
		cluster := func(r *request) { r.cluster, r.clusterLabels = name, nil }
		in := *r
		cluster(&in)
		out = append(out, product([]candidate{cluster}, s.labelCandidates(at, &in, not, clusterLabels))...)
	}
	return out
}

func (v *values) sessionCandidates() []candidate {
	var out []candidate
	for _, session := range v.sessions.all() {
		for _, escalation := range v.escalations.all() {
			out = append(out, func(r *request) { r.session, r.escalation = session, escalation })
		}
	}
	return out
}

// fieldCandidates are unknown fields, none, each path, and all paths that required
// statements cover: a set matches a rule if each of its paths does, so that no other set
// escapes more rules.
func (s *search) fieldCandidates(r *request) []candidate {
	sets := [][]string{nil, {}}
	var covered []string
	for _, path := range s.values.fields.values {
		covered = append(covered, path, path+".x")
	}
	if len(covered) > 0 {
		covered = append(covered, otherWord)
	}
	covered = slices.DeleteFunc(covered, func(path string) bool {
		one := *r
		one.fields = []string{path}
		return slices.ContainsFunc(s.must, func(t *statement) bool { return t.match(stageFields, &one) == 0 })
	})
	for _, path := range covered {
		sets = append(sets, []string{path})
	}
	sets = append(sets, covered)
	out := make([]candidate, 0, len(sets))
	for _, fields := range sets {
		out = append(out, func(r *request) { r.fields = fields })
	}
	return out
}

func (v *values) nodeCandidates(r *request) []candidate {
	pairs := [][2]string{{"", ""}}
	if v.nodes {
		own, isNode := strings.CutPrefix(r.user, nodePrefix)
		if !isNode {
			own = "node-1"
		}
		pairs = append(pairs, [2]string{own, own}, [2]string{own, "node-2"})
	}
	out := make([]candidate, 0, len(pairs))
	for _, pair := range pairs {
		out = append(out, func(r *request) { r.minion, r.podMinion = pair[0], pair[1] })
	}
	return out
}
