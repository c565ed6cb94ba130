package statement

import (
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// LabelValues are the values of labels, by key, in the order of their first mention.
type LabelValues struct {
	Keys   []string
	values map[string]*List
}

// Add adds values of a key.
func (l *LabelValues) Add(key string, values ...string) {
	if l.values == nil {
		l.values = make(map[string]*List)
	}
	if l.values[key] == nil {
		l.values[key] = &List{other: OtherWord}
		l.Keys = append(l.Keys, key)
	}
	for _, v := range values {
		l.values[key].Add(v)
	}
}

// AddPatterns adds RE2 expressions for whole values of a key.
func (l *LabelValues) AddPatterns(key string, expressions ...string) {
	l.Add(key)
	l.values[key].Patterns = append(l.values[key].Patterns, expressions...)
}

// kind returns a value if statements compare its key, to tell options apart by it.
func (l *LabelValues) kind(key, value string) string {
	if l.values[key] == nil {
		return ""
	}
	return value
}

// Size is the number of label sets of some keys, at most maxLabelSets+1.
func (l *LabelValues) Size(keys []string) int {
	n := 1
	for _, key := range keys {
		if n *= len(l.values[key].All()) + 2; n > MaxLabelSets {
			return MaxLabelSets + 1
		}
	}
	return n
}

// valuesOf returns the values of a key and one that no statement names.
func (l *LabelValues) valuesOf(key string) []string {
	list := l.values[key]
	list.addStandIns()
	return tables.Once(append(slices.Clone(list.All()), list.other))
}

// Sets returns label sets in which each key is absent, has a named value, or another one:
// at most maxLabelSets.
func (l *LabelValues) Sets(keys []string) []map[string]string {
	out := []map[string]string{{}}
	for _, key := range keys {
		grown := slices.Clone(out)
		for _, set := range out {
			for _, v := range l.valuesOf(key) {
				with := map[string]string{key: v}
				maps.Copy(with, set)
				grown = append(grown, with)
			}
		}
		out = grown[:min(len(grown), MaxLabelSets)]
	}
	return out
}

const (
	// fewLabelSets is how many sets are tried as they are.
	fewLabelSets = 64
	// MaxLabelSets is how many sets a search tries of keys that statements read together.
	MaxLabelSets = 1 << 14
)

// labelled is a part of a request with labels.
type labelled struct {
	of     func(*Values) *LabelValues
	labels func(*Request) *map[string]string
}

var (
	objectLabels    = labelled{func(v *Values) *LabelValues { return &v.labels }, func(r *Request) *map[string]string { return &r.Labels }}
	namespaceLabels = labelled{func(v *Values) *LabelValues { return &v.namespaceLabels }, func(r *Request) *map[string]string { return &r.NamespaceLabels }}
	clusterLabels   = labelled{func(v *Values) *LabelValues { return &v.ClusterLabels }, func(r *Request) *map[string]string { return &r.ClusterLabels }}
)

// merging returns what adds labels to those of a request.
func (p labelled) merging(set map[string]string) candidate {
	return func(r *Request) {
		merged := make(map[string]string)
		for _, from := range []map[string]string{*p.labels(r), set} {
			maps.Copy(merged, from)
		}
		*p.labels(r) = merged
	}
}

// labelCandidates returns the labels to try. Keys that no statement reads together do not
// depend on each other, so that the best values of each part are the best ones of all.
func (s *Search) labelCandidates(at stage, r *Request, not []*Statement, p labelled) []candidate {
	l := p.of(&s.Values)
	out := []candidate{p.merging(nil)}
	if l.Size(l.Keys) <= fewLabelSets {
		return p.chained(out, l.Sets(l.Keys))
	}
	for _, part := range s.labelParts(p) {
		if s.Cut = s.Cut || l.Size(part.keys) > MaxLabelSets; s.Cut {
			return nil
		}
		own := Search{Must: part.must, Pin: s.Pin, Point: s.Point, Base: s.Base}
		left := slices.DeleteFunc(slices.Clone(part.mustNot), func(t *Statement) bool { return !slices.Contains(not, t) })
		var best []candidate
		for _, o := range own.front(at, r, left, p.chained([]candidate{p.merging(nil)}, l.Sets(part.keys)), nil) {
			best = append(best, o.set)
		}
		if out = product(out, best); len(out) > MaxLabelSets {
			s.Cut = true
			return nil
		}
	}
	return out
}

func (p labelled) chained(first []candidate, sets []map[string]string) []candidate {
	second := elements.Map(sets, p.merging)
	return product(first, second)
}

// product returns each of some candidates followed by each of others.
func product(first, second []candidate) []candidate {
	out := make([]candidate, 0, len(first)*len(second))
	for _, f := range first {
		for _, g := range second {
			out = append(out, func(r *Request) {
				f(r)
				g(r)
			})
		}
	}
	return out
}

// labelPart is keys that statements read together, and these statements.
type labelPart struct {
	keys          []string
	must, mustNot []*Statement
}

// labelParts splits the keys of labels.
func (s *Search) labelParts(p labelled) []*labelPart {
	var parts []*labelPart
	join := func(t *Statement, not bool) {
		var v Values
		t.Condition.Mention(&v)
		keys := p.of(&v).Keys
		if len(keys) == 0 {
			return
		}
		into := &labelPart{keys: keys}
		kept := []*labelPart{into}
		for _, part := range parts {
			if !slices.ContainsFunc(part.keys, func(key string) bool { return slices.Contains(into.keys, key) }) {
				kept = append(kept, part)
				continue
			}
			for _, key := range part.keys {
				if !slices.Contains(into.keys, key) {
					into.keys = append(into.keys, key)
				}
			}
			into.must, into.mustNot = append(into.must, part.must...), append(into.mustNot, part.mustNot...)
		}
		if not {
			into.mustNot = append(into.mustNot, t)
		} else {
			into.must = append(into.must, t)
		}
		parts = kept
	}
	for _, t := range s.Must {
		join(t, false)
	}
	for _, t := range s.MustNot {
		join(t, true)
	}
	return parts
}

// Selectors states the selectors with which the rule of an allow statement holds for a list by a
// user, such as "label selector tier=gold"; empty if no selector is enough, or none is needed.
func (s *Statement) Selectors(user string) string {
	o, ok := s.Rule().(*OriginRule)
	if !ok || o.Deny || o.Restrictions == nil || o.opaque() != "" || !o.canList() {
		return ""
	}
	var parts []string
	add := func(name string, entries []tables.Entry) {
		var texts []string
		for _, e := range entries {
			text := e.Key
			if e.Value != nil {
				text += "=" + *e.Value
			}
			texts = append(texts, text)
		}
		if len(texts) > 0 {
			parts = append(parts, name+" selector "+strings.Join(texts, ","))
		}
	}
	add("label", o.Restrictions.Labels)
	fields := slices.Clone(o.Restrictions.Select)
	if o.Restrictions.SameMinion {
		own, isNode := strings.CutPrefix(user, nodePrefix)
		if !isNode || own == "" {
			return ""
		}
		fields = append(fields, tables.Entry{Key: "spec.nodeName", Value: &own})
	}
	add("field", fields)
	return strings.Join(parts, " and ")
}

// canList reports whether the rule has a verb to which servers apply selectors, and its fields leave
// that one.
func (o *OriginRule) canList() bool {
	verbs := []string{"list", "watch"}
	if len(o.Restrictions.Fields) == 0 {
		verbs = append(verbs, "deletecollection")
	}
	return slices.ContainsFunc(verbs, func(verb string) bool { return rule.MatchesVerb(o.row(), verb, "") })
}
