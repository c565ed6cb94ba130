package change

import "slices"

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

// size is the number of label sets of some keys, at most maxLabelSets+1.
func (l *labelValues) size(keys []string) int {
	n := 1
	for _, key := range keys {
		if n *= len(l.values[key].values) + 2; n > maxLabelSets {
			return maxLabelSets + 1
		}
	}
	return n
}

// sets returns label sets in which each key is absent, has a named value, or another one:
// at most maxLabelSets.
func (l *labelValues) sets(keys []string) []map[string]string {
	out := []map[string]string{{}}
	for _, key := range keys {
		grown := slices.Clone(out)
		for _, set := range out {
			for _, v := range append(slices.Clone(l.values[key].values), otherWord) {
				with := map[string]string{key: v}
				for k, w := range set {
					with[k] = w
				}
				grown = append(grown, with)
			}
		}
		out = grown[:min(len(grown), maxLabelSets)]
	}
	return out
}

const (
	// fewLabelSets is how many sets are tried as they are.
	fewLabelSets = 64
	// maxLabelSets is how many sets a search tries of keys that statements read together.
	maxLabelSets = 1 << 14
)

// labelled is a part of a request with labels.
type labelled struct {
	of     func(*values) *labelValues
	labels func(*request) *map[string]string
}

var (
	objectLabels    = labelled{func(v *values) *labelValues { return &v.labels }, func(r *request) *map[string]string { return &r.labels }}
	namespaceLabels = labelled{func(v *values) *labelValues { return &v.namespaceLabels }, func(r *request) *map[string]string { return &r.namespaceLabels }}
	clusterLabels   = labelled{func(v *values) *labelValues { return &v.clusterLabels }, func(r *request) *map[string]string { return &r.clusterLabels }}
)

// merging returns what adds labels to those of a request.
func (p labelled) merging(set map[string]string) candidate {
	return func(r *request) {
		merged := make(map[string]string)
		for _, from := range []map[string]string{*p.labels(r), set} {
			for k, v := range from {
				merged[k] = v
			}
		}
		*p.labels(r) = merged
	}
}

// labelCandidates returns the labels to try. Keys that no statement reads together do not
// depend on each other, so that the best values of each part are the best ones of all.
func (s *search) labelCandidates(at stage, r *request, not []*statement, p labelled) []candidate {
	l := p.of(&s.values)
	out := []candidate{p.merging(nil)}
	if l.size(l.keys) <= fewLabelSets {
		return p.chained(out, l.sets(l.keys))
	}
	for _, part := range s.labelParts(p) {
		if s.cut = s.cut || l.size(part.keys) > maxLabelSets; s.cut {
			return nil
		}
		own := search{must: part.must, pin: s.pin, point: s.point, base: s.base}
		left := slices.DeleteFunc(slices.Clone(part.mustNot), func(t *statement) bool { return !slices.Contains(not, t) })
		var best []candidate
		for _, o := range own.front(at, r, left, p.chained([]candidate{p.merging(nil)}, l.sets(part.keys))) {
			best = append(best, o.set)
		}
		if out = product(out, best); len(out) > maxLabelSets {
			s.cut = true
			return nil
		}
	}
	return out
}

func (p labelled) chained(first []candidate, sets []map[string]string) []candidate {
	second := make([]candidate, 0, len(sets))
	for _, set := range sets {
		second = append(second, p.merging(set))
	}
	return product(first, second)
}

// product returns each of some candidates followed by each of others.
func product(first, second []candidate) []candidate {
	out := make([]candidate, 0, len(first)*len(second))
	for _, f := range first {
		for _, g := range second {
			out = append(out, func(r *request) {
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
	must, mustNot []*statement
}

// labelParts splits the keys of labels.
func (s *search) labelParts(p labelled) []*labelPart {
	var parts []*labelPart
	join := func(t *statement, not bool) {
		var v values
		t.condition.mention(&v)
		keys := p.of(&v).keys
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
	for _, t := range s.must {
		join(t, false)
	}
	for _, t := range s.mustNot {
		join(t, true)
	}
	return parts
}
