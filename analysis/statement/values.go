package statement

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/writ-policy/writ/analysis/regions"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// List is values without duplicates, in the order of their first mention, and patterns.
type List struct {
	Values   []string
	seen     map[string]bool
	Patterns []string        // RE2 expressions for whole values
	cut      bool            // a region of the patterns may have no value
	samples  []string        // plain words that patterns of documents match
	isWhole  bool            // the values have one for each region
	isSample map[string]bool // the values that stand for a region, and for no word of a statement

	other   string          // the value that stands for all that no statement names
	isNamed bool            // a statement names other, or a word like it
	folded  map[string]bool // spellings that no statement with exact words names
	respelt []string        // those of them that a statement names after all
}

// Add adds values that the list does not have.
func (l *List) Add(values ...string) {
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	for _, v := range values {
		if !l.seen[v] {
			l.seen[v] = true
			l.Values = append(l.Values, v)
		}
		if len(v) >= len(OtherWord) && strings.EqualFold(v[:len(OtherWord)], OtherWord) {
			l.isNamed = true
		}
		if l.folded[v] {
			delete(l.folded, v)
			l.respelt = append(l.respelt, v)
		}
	}
}

// AddCriteria adds the literals and the patterns of criteria.
func (l *List) AddCriteria(c *tables.Criteria) {
	for _, values := range []*tables.Values{&c.Allowed, &c.Denied} {
		l.Add(slices.Sorted(maps.Keys(values.Literals))...)
		for _, g := range values.Patterns {
			if text, err := g.MarshalText(); err == nil {
				l.Patterns = append(l.Patterns, string(text))
			}
		}
	}
}

// IsCut reports whether a region of the patterns may have no value.
func (l *List) IsCut() bool { return l.cut }

// addOther adds the value that stands for all that no statement names.
func (l *List) addOther(word string) {
	isNamed := l.isNamed
	l.Add(word)
	l.other, l.isNamed = word, isNamed
}

// addFolded adds spellings of a word that only statements match that ignore the case.
func (l *List) addFolded(words ...string) {
	if l.folded == nil {
		l.folded = make(map[string]bool)
	}
	for _, w := range words {
		if l.seen[w] {
			l.respelt = append(l.respelt, w)
			continue
		}
		l.Add(w)
		l.folded[w] = true
	}
}

// addStandIns adds values in place of those that were to stand for what no statement names,
// where a statement does name them.
func (l *List) addStandIns() {
	if l.isNamed && l.other != "" {
		word := l.other
		for n := 1; l.seen[word]; n++ {
			word = fmt.Sprintf("un%s-%d", l.other, n)
		}
		l.other, l.isNamed = word, false
		l.Add(word)
	}
	for _, word := range l.respelt {
		for i := range word {
			spelling := word[:i] + swapCase(word[i:i+1]) + word[i+1:]
			if !l.seen[spelling] {
				l.addFolded(spelling)
				break
			}
		}
	}
	l.respelt = nil
}

// stand marks a value as one that stands for others.
func (l *List) stand(value string) {
	if l.isSample == nil {
		l.isSample = make(map[string]bool)
	}
	l.isSample[value] = true
}

// spellings returns the characters that are the same one in lower case.
func spellings(r rune) []rune {
	lower := unicode.ToLower(r)
	out := []rune{lower}
	for f := unicode.SimpleFold(lower); f != lower; f = unicode.SimpleFold(f) {
		if unicode.ToLower(f) == lower {
			out = append(out, f)
		}
	}
	if lower == 'i' {
		out = append(out, '\u0130') // which folds to no other one
	}
	return out
}

func swapCase(text string) string {
	if upper := strings.ToUpper(text); upper != text {
		return upper
	}
	return strings.ToLower(text)
}

func (l *List) addGlobs(globs []tables.PathGlob) {
	for _, g := range globs {
		if text, ok := g.Literal(); ok {
			l.Add(text)
		} else {
			l.samples = append(l.samples, g.Named(assertion.MadeUp))
		}
		if !g.MatchesAll() {
			l.Patterns = append(l.Patterns, g.Expression())
		}
	}
}

// All adds others and one value for each region of the patterns, and returns all values.
func (l *List) All(others ...string) []string {
	if len(l.Patterns) == 0 || l.isWhole {
		l.Add(others...)
		return l.Values
	}
	l.isWhole = true
	named := maps.Clone(l.seen)
	literals := make(map[string]bool)
	patterns := l.Patterns
	for range maxRespelt {
		found, complete := regions.Of(patterns)
		l.cut = l.cut || !complete
		taken := false
		for _, value := range found {
			if !named[value] {
				l.stand(value)
			}
			// The region of a value that a statement names has others too.
			if named[value] && !literals[value] {
				taken, literals[value] = true, true
				patterns = append(slices.Clip(patterns), "^"+regexp.QuoteMeta(value)+"$")
			}
		}
		l.Add(found...)
		if !taken {
			l.Add(others...)
			return l.Values
		}
	}
	l.cut = true
	l.Add(others...)
	return l.Values
}

// maxRespelt is how often regions are searched for values that no statement names.
const maxRespelt = 8

// Values are what statements can tell apart, by attribute.
type Values struct {
	prefixes                                                         []string // of paths
	paths, resources, subresources, verbs, groups, names, namespaces List
	fields, issuers                                                  List
	scope                                                            [len(tables.ScopeAttributes)]List

	labels, namespaceLabels, ClusterLabels LabelValues
	selected                               LabelValues // fields

	// folds is true if a statement ignores the case or the number of words.
	folds bool
	// streams is true if a subresource may stand for a verb.
	streams bool
	// isProven is true if a proof is recorded, which tells apart values that stand for each other.
	isProven bool
	// reads is true if restrictions depend on what a verb does, nodes if one compares
	// nodes.
	reads, nodes bool
	// pods is true if a statement reads names and namespaces together.
	pods bool
	// manyGroups is true if a class reads more API groups together with resources than bits
	// tell apart.
	manyGroups bool
	// tenants are those of clusters, if a statement reads them.
	tenants tables.Tenants
}

// Clusters are the names of clusters.
func (v *Values) Clusters() *List { return &v.scope[tables.ScopeCluster] }

// named returns others and the lists of what a request for a resource may lack.
func (v *Values) named(others ...*List) []*List {
	others = append(others, &v.subresources, &v.names, &v.namespaces)
	for i := range v.scope {
		others = append(others, &v.scope[i])
	}
	return others
}

// The values that no document names. A document that does name one only makes a witness
// harder to find where it matters, so they are unlikely words.
const (
	OtherWord  = "other"
	otherPath  = "/other"
	otherGroup = "other.example"

	otherIssuer = "https://other.example"
)

func (v *Values) addResource(entry string) {
	resource, sub, slash := strings.Cut(entry, "/")
	v.resources.Add(resource)
	if slash {
		v.subresources.Add(sub)
	}
}

// addWord adds a word in both cases.
func (v *Values) addWord(to *List, word string) {
	to.Add(word)
	if word != "*" && word != "" {
		to.Add(strings.ToLower(word))
		to.addFolded(strings.ToUpper(word))
	}
}

// addKind adds the words for a kind, and a spelling that no rule with exact words names.
func (v *Values) addKind(entry string) {
	kind, sub, slash := strings.Cut(entry, "/")
	if slash {
		v.addWord(&v.subresources, sub)
	}
	v.resources.Add(kind)
	if kind == "*" {
		return
	}
	for _, word := range tables.KindSynonyms(strings.ToLower(kind)) {
		v.resources.Add(word)
		v.resources.addFolded(strings.ToUpper(word))
	}
}

func (v *Values) addFilter(f *tables.NamespaceFilter) {
	if f == nil {
		return
	}
	v.namespaces.addGlobs(f.Patterns)
	for _, term := range f.Terms {
		for _, q := range term {
			v.namespaceLabels.Add(q.Key, q.Values...)
		}
	}
}

// IsCut reports whether a region of patterns may have no value.
func (v *Values) IsCut() bool {
	return slices.ContainsFunc(v.named(&v.paths, &v.resources), func(l *List) bool { return l.cut })
}

// candidate sets a part of a request.
type candidate func(*Request)

// candidates returns the values of a stage, those of positive statements first.
func (s *Search) candidates(at stage, r *Request, not []*Statement) []candidate {
	v := &s.Values
	switch at {
	case stageTarget:
		return v.targets()
	case stageVerb:
		verbs := slices.DeleteFunc(slices.Clone(v.verbs.All("*")), func(s string) bool { return s == "" })
		return texts(verbs, func(r *Request, s string) { r.Verb = s })
	case stageGroup:
		if r.Path != "" {
			return texts([]string{""}, func(r *Request, s string) { r.Group = s })
		}
		return texts(v.groups.All("*"), func(r *Request, s string) { r.Group = s })
	case stageName:
		if r.Path != "" {
			return texts([]string{""}, func(r *Request, s string) { r.Name = s })
		}
		return texts(v.names.All(), func(r *Request, s string) { r.Name = s })
	case stageNamespace:
		return s.places(at, r, not)
	case StageCluster:
		return s.clusters(at, r, not)
	case stageScope, stageReferred:
		return v.scopeCandidates(at)
	case stageLabels:
		unknown := func(r *Request) { r.Labels = nil }
		return append([]candidate{unknown}, s.labelCandidates(at, r, not, objectLabels)...)
	case stageFields:
		return s.fieldCandidates(r)
	case stageSelected:
		return s.selectorCandidates(r)
	case stageIssuer:
		other := unlike(otherIssuer, v.issuers.seen)
		return texts(v.issuers.All("", other), func(r *Request, s string) { r.Issuer = s })
	}
	return v.nodeCandidates(r)
}

// texts returns a candidate for each text. A request for "*" reads like a pattern, so it
// is tried last.
func texts(list []string, set func(*Request, string)) []candidate {
	out := make([]candidate, 0, len(list))
	star := false
	for _, text := range list {
		if star = star || text == "*"; text != "*" {
			out = append(out, func(r *Request) { set(r, text) })
		}
	}
	if star {
		out = append(out, func(r *Request) { set(r, "*") })
	}
	return out
}

// addOthers adds the values that no statement names. They are added after those of
// statements that a request must match, so that a witness uses the words of documents
// where it can and plain ones elsewhere.
func (v *Values) addOthers() {
	v.resources.Add("pods")
	v.resources.addOther(OtherWord + "s")
	v.verbs.Add("get")
	v.verbs.addOther(OtherWord)
	v.groups.Add("")
	v.groups.addOther(otherGroup)
	for _, l := range v.named() {
		l.Add("")
		l.addOther(OtherWord)
	}
}

// addStandIns completes the values after all statements have added theirs.
func (v *Values) addStandIns() {
	for _, l := range v.named(&v.resources, &v.verbs, &v.groups) {
		l.addStandIns()
	}
	if v.streams {
		v.addStreaming()
	}
	if v.folds {
		v.resources.foldPatterns()
		v.subresources.foldPatterns()
		v.verbs.foldPatterns()
	}
	v.addPaths()
}

// addStreaming adds the second subresource that stands for a verb where a statement or a pattern
// is about the first one.
func (v *Values) addStreaming() {
	for i, second := range rule.Streaming() {
		if first := rule.Streams[i/2]; i%2 == 1 && (!v.subresources.folded[first] || len(v.subresources.Patterns) > 0 || v.isProven) {
			v.addWord(&v.subresources, second)
		}
	}
}

// foldPatterns adds each word in any case to the patterns, if there are any: a spelling may
// fit a pattern and, in another case, a word.
func (l *List) foldPatterns() {
	if len(l.Patterns) == 0 {
		return
	}
	for _, word := range l.Values {
		if word == l.other {
			continue
		}
		expression := "^"
		for _, r := range word {
			if all := spellings(r); len(all) > 1 {
				expression += "[" + string(all) + "]"
			} else {
				expression += regexp.QuoteMeta(string(r))
			}
		}
		l.Patterns = append(l.Patterns, expression+"$")
	}
}

// addPaths adds a path below each prefix that no statement names, and regions of paths if
// there are patterns of them.
func (v *Values) addPaths() {
	v.paths.other = unlike(otherPath, v.paths.seen)
	if len(v.paths.Patterns) > 0 {
		for _, prefix := range v.prefixes {
			v.paths.Patterns = append(v.paths.Patterns, "^"+regexp.QuoteMeta(prefix))
		}
		return
	}
	named := slices.Clone(v.paths.Values)
	for _, prefix := range v.prefixes {
		path := prefix + "x"
		for slices.ContainsFunc(named, func(other string) bool { return strings.HasPrefix(other, path) }) {
			path += "y"
		}
		v.paths.stand(path)
		v.paths.Add(path)
	}
}

// inOrder returns texts with the empty one first and "*" last, each once.
func inOrder(list []string) []string {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Or(int(Bit(a == "*"))-int(Bit(b == "*")), int(Bit(b == ""))-int(Bit(a == "")))
	})
	return slices.Compact(out)
}

func (v *Values) targets() []candidate {
	var out []candidate
	// A request without a subresource reads best, and one for "*" like a pattern.
	subs := inOrder(v.subresources.All())
	resources := inOrder(slices.DeleteFunc(slices.Clone(v.resources.All("*")), func(s string) bool { return s == "" || strings.Contains(s, "/") }))
	for _, sub := range subs {
		for _, resource := range resources {
			out = append(out, func(r *Request) { r.Path, r.Resource, r.Subresource = "", resource, sub })
		}
	}
	for _, path := range v.paths.All(v.paths.other) {
		if path != "" {
			out = append(out, func(r *Request) { r.Path, r.Resource, r.Subresource = path, "", "" })
		}
	}
	return out
}

// places are namespaces with their labels, which may be unknown.
func (s *Search) places(at stage, r *Request, not []*Statement) []candidate {
	namespaces := s.Values.namespaces.All()
	if r.Path != "" {
		namespaces = []string{""}
	}
	var out []candidate
	for _, namespace := range namespaces {
		place := func(r *Request) { r.Namespace, r.NamespaceLabels = namespace, nil }
		out = append(out, place)
		if namespace != "" || len(s.Values.namespaceLabels.Keys) > 0 {
			in := *r
			place(&in)
			out = append(out, product([]candidate{place}, s.labelCandidates(at, &in, not, namespaceLabels))...)
		}
	}
	return out
}

// clusters are clusters with their labels.
func (s *Search) clusters(at stage, r *Request, not []*Statement) []candidate {
	var out []candidate
	names := s.Values.Clusters().All()
	if s.Base.Cluster != "" { // the revision decides on no other
		names = []string{s.Base.Cluster}
	}
	for _, name := range names {
		cluster := func(r *Request) { r.Cluster, r.ClusterLabels = name, nil }
		in := *r
		cluster(&in)
		out = append(out, product([]candidate{cluster}, s.labelCandidates(at, &in, not, clusterLabels))...)
		if s.Point == PointVisibility { // a class of an assertion may have requests without labels
			out = append(out, cluster)
		}
	}
	return out
}

func (v *Values) scopeCandidates(at stage) []candidate {
	out := []candidate{func(*Request) {}}
	for i := range v.scope {
		if stageOf(i) == at {
			out = product(out, texts(v.scope[i].All(), func(r *Request, s string) { *r.At(i) = s }))
		}
	}
	return out
}

// fieldCandidates are unknown fields, none, each path, and all paths that required
// statements cover: a set matches a rule if each of its paths does, so that no other set
// escapes more rules.
func (s *Search) fieldCandidates(r *Request) []candidate {
	sets := [][]string{nil, {}}
	var covered []string
	for _, path := range s.Values.fields.Values {
		covered = append(covered, path, path+".x")
	}
	if len(covered) > 0 {
		covered = append(covered, s.Values.otherField())
	}
	covered = slices.DeleteFunc(covered, func(path string) bool {
		one := *r
		one.Fields = []string{path}
		return slices.ContainsFunc(s.Must, func(t *Statement) bool { return t.Match(stageFields, &one) == 0 })
	})
	for _, path := range covered {
		sets = append(sets, []string{path})
	}
	sets = append(sets, covered)
	out := make([]candidate, 0, len(sets))
	for _, fields := range sets {
		out = append(out, func(r *Request) { r.Fields = fields })
	}
	return out
}

// otherField returns a path that no rule names, nor any parent of it.
func (v *Values) otherField() string { return unlike(OtherWord, v.fields.seen) }

// unlike returns a word, or one that begins with it, which is not among some words.
func unlike(word string, among map[string]bool) string {
	out := word
	for n := 1; among[out]; n++ {
		out = fmt.Sprintf("%s-%d", word, n)
	}
	return out
}

// selectorCandidates returns the absence of a selector, and one for each set of values of the fields that
// statements compare. Keys do not depend on each other, and a rule that some finite set of
// values escapes is escaped by one value, so that other operators tell no more apart.
func (s *Search) selectorCandidates(r *Request) []candidate {
	selected := &s.Values.selected
	s.Cut = s.Cut || selected.Size(selected.Keys) > MaxLabelSets
	set := func(requirements []selector.Requirement) candidate {
		return func(r *Request) { r.FieldSelector = requirements }
	}
	out := []candidate{set(nil)}
	if !selector.Counts(r.Verb, r.Resource, r.Subresource) {
		return out
	}
	for _, values := range selected.Sets(selected.Keys) {
		var requirements []selector.Requirement
		for _, key := range slices.Sorted(maps.Keys(values)) {
			requirements = append(requirements, selector.Is(key, values[key]))
		}
		if len(requirements) > 0 && !selector.OfFields(requirements, r.Name, r.Namespace).IsEmpty() {
			out = append(out, set(requirements))
		}
	}
	return out
}

func (v *Values) nodeCandidates(r *Request) []candidate {
	pairs := [][2]string{{"", ""}}
	if v.nodes {
		own, isNode := strings.CutPrefix(r.User, nodePrefix)
		if !isNode {
			own = "node-1"
		}
		another := unlike("node-2", map[string]bool{own: true})
		pairs = append(pairs, [2]string{own, own}, [2]string{own, another})
	}
	out := make([]candidate, 0, len(pairs))
	for _, pair := range pairs {
		out = append(out, func(r *Request) { r.Minion, r.PodMinion = pair[0], pair[1] })
	}
	return out
}
