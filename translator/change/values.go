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
	found, _ := regions(l.patterns)
	l.add(found...)
	l.add(others...)
	return l.values
}

// labelValues are the values of labels, by key, in the order of their first mention.
type labelValues struct {
	keys   []string
	values map[string]*list
}

func (l *labelValues) add(key string, values ...string) {
	if l.values == nil {
		l.values = make(map[string]*list)
	}
	if l.values[key] == nil {
		l.values[key] = new(list)
		l.keys = append(l.keys, key)
	}
	for _, v := range values {
		l.values[key].add(v)
	}
}

// maxLabelSets bounds the product of label values. Beyond it, each label varies alone
// around the sets of the satisfied requirements.
const maxLabelSets = 4096

// sets returns label sets in which each label is absent, has a named value, or another
// one. Unknown labels (nil) come first.
func (l *labelValues) sets() []map[string]string {
	out := []map[string]string{nil, {}}
	for _, key := range l.keys {
		values := append(slices.Clone(l.values[key].values), otherWord)
		grown := slices.Clone(out)
		for _, set := range out[1:] {
			for _, v := range values {
				with := map[string]string{key: v}
				for k, w := range set {
					with[k] = w
				}
				grown = append(grown, with)
			}
		}
		if len(grown) > maxLabelSets {
			grown = grown[:maxLabelSets]
		}
		out = grown
	}
	return out
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

// candidate sets a part of a request.
type candidate func(*request)

// candidates returns the values of a stage, those of positive statements first.
func (v *values) candidates(at stage, r *request) []candidate {
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
		return v.places(r)
	case stageCluster:
		return v.clusterCandidates()
	case stageTenant:
		return texts(v.tenants.all(), func(r *request, s string) { r.tenant = s })
	case stageSession:
		return v.sessionCandidates()
	case stageLabels:
		return labelSets(v.labels.sets(), func(r *request, l map[string]string) { r.labels = l })
	case stageFields:
		return v.fieldCandidates()
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

func labelSets(sets []map[string]string, set func(*request, map[string]string)) []candidate {
	out := make([]candidate, 0, len(sets))
	for _, labels := range sets {
		out = append(out, func(r *request) { set(r, labels) })
	}
	return out
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

func (v *values) places(r *request) []candidate {
	if r.path != "" {
		return texts([]string{""}, func(r *request, s string) { r.namespace = s })
	}
	sets := v.namespaceLabels.sets()
	var out []candidate
	for _, namespace := range v.namespaces.all() {
		for _, labels := range sets {
			out = append(out, func(r *request) { r.namespace, r.namespaceLabels = namespace, labels })
			if namespace == "" {
				break
			}
		}
	}
	return out
}

func (v *values) clusterCandidates() []candidate {
	sets := v.clusterLabels.sets()[1:]
	if len(v.clusterLabels.keys) == 0 {
		sets = sets[:1]
	}
	var out []candidate
	for _, cluster := range v.clusters.all() {
		for _, labels := range sets {
			out = append(out, func(r *request) { r.cluster, r.clusterLabels = cluster, labels })
		}
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

// fieldCandidates are unknown fields, none, each path, and all paths.
func (v *values) fieldCandidates() []candidate {
	var paths []string
	for _, path := range v.fields.values {
		paths = append(paths, path, path+".x")
	}
	sets := [][]string{nil, {}}
	for _, path := range paths {
		sets = append(sets, []string{path})
	}
	if len(paths) > 0 {
		sets = append(sets, []string{otherWord})
	}
	// A set matches an allow rule if every path does, so a set that escapes several rules
	// has a path for each.
	for n := len(sets) - 1; n > 2 && len(v.fields.values) <= 8; n-- {
		for m := 2; m < n; m++ {
			sets = append(sets, slices.Concat(sets[m], sets[n]))
		}
	}
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
