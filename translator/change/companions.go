package change

import (
	"maps"
	"slices"
)

// companionOutcome returns the outcomes that requests of the class of s may have in y and
// that no transition has yet: another principal may hold a statement that decides so.
func (d *side) companionOutcomes(s *statement, found []*transition) []string {
	var possible []string
	switch {
	case d.point == PointVisibility:
		possible = []string{outcomePartial, outcomeAllow}
	case s.effect == outcomeDeny:
		possible = []string{outcomeAllow}
	case s.step < 5:
		possible = []string{outcomeDeny}
	}
	return slices.DeleteFunc(possible, func(outcome string) bool {
		return outcome == s.effect || slices.ContainsFunc(found, func(t *transition) bool { return t.other(d) == outcome })
	})
}

// other returns the outcome of y.
func (t *transition) other(d *side) string {
	if d.xName == "a" {
		return t.to
	}
	return t.from
}

// companion looks for a principal whose statement gives requests of the class another
// outcome in y. For a statement that concerns everybody, all such principals are
// affected. Without one, the opaque statements that may do so are returned.
func (d *side) companion(s *statement, exceptions []*statement, g *group, outcome string) (*transition, []*statement) {
	type shared struct {
		condition condition
		namespace string
	}
	first := g.principals[0]
	known := make(map[shared]*request)
	var found *transition
	var opaque []*statement
	for _, t := range d.y.all(s.namespace) {
		if t.effect != outcome || compareRank(t.rank, s.rank) < 0 || areApart(t, s) || d.filter.namespace != "" && t.namespace != "" && t.namespace != d.filter.namespace {
			continue
		}
		if t.opaque != "" {
			if d.overlaps(s, t) {
				opaque = append(opaque, t)
			}
			continue
		}
		for _, q := range t.subjects {
			if found != nil && (first != "" || found.affected[q]) || d.filter.subject != "" && q != d.filter.subject {
				continue
			}
			own := d.against(s, t, q)
			key := shared{t.condition, t.namespace}
			if r, ok := known[key]; ok && len(own) == 0 && (r == nil || found != nil) {
				if r != nil {
					found.affected[q] = true
				}
				continue
			}
			r := d.find([]*statement{s, t}, slices.Concat(exceptions, own, before(g.against.other, t)), distinct(first, q)...)
			if len(own) == 0 {
				known[key] = r
			}
			if r == nil {
				continue
			}
			if found == nil {
				found = d.transition(s.effect, outcome, r)
			}
			if first == "" {
				found.affected[q] = true
			}
		}
	}
	return found, opaque
}

func distinct(principals ...string) []string {
	return slices.Compact(slices.Sorted(slices.Values(nonEmpty(principals...))))
}

// against returns the statements of a principal that keep t from deciding in y, or s in x.
func (d *side) against(s, t *statement, principal string) []*statement {
	var out []*statement
	place := s.namespace
	if place == "" {
		place = t.namespace
	}
	if d.y.denies {
		for _, o := range d.y.of(principal, place) {
			if compareRank(o.rank, t.rank) < 0 && o.effect != t.effect {
				out = append(out, o)
			}
		}
	}
	if d.x.denies || s.effect == outcomeDeny {
		for _, o := range d.x.of(principal, place) {
			if compareRank(o.rank, s.rank) < 0 && o.effect != s.effect {
				out = append(out, o)
			}
		}
	}
	return out
}

// companions returns the classes of s that need a second statement: without it, y decides
// as x does, because of a statement of the same outcome or of none.
func (d *side) companions(s *statement, g *group) []*class {
	var candidates []*statement
	for _, t := range d.y.all(s.namespace) {
		if t.effect == s.effect || t.opaque != "" || compareRank(t.rank, s.rank) < 0 {
			continue
		}
		if compareRank(t.rank, s.rank) == 0 && d.xName == "a" {
			continue
		}
		if s.effect != d.none && !slices.ContainsFunc(g.against.same, func(e *statement) bool {
			return compareRank(e.rank, t.rank) > 0 && d.find([]*statement{s, t, e}, nil) != nil
		}) {
			continue
		}
		if d.overlaps(s, t) {
			candidates = append(candidates, t)
		}
	}
	byRank := make(map[string][]*statement)
	for _, t := range candidates {
		byRank[string(t.rank)] = append(byRank[string(t.rank)], t)
	}
	var out []*class
	for _, rank := range slices.Sorted(maps.Keys(byRank)) {
		if c := d.companionClass(s, byRank[rank], g); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// companionClass returns the class of requests that fit s and one of some statements of
// one rank.
func (d *side) companionClass(s *statement, list []*statement, g *group) *class {
	rank := list[0].rank
	lower := func(r *relevant) []*statement {
		return slices.Concat(r.lowerX, r.lowerY, slices.DeleteFunc(slices.Clone(r.same), func(e *statement) bool { return compareRank(e.rank, rank) >= 0 }),
			slices.DeleteFunc(slices.Clone(r.other), func(e *statement) bool {
				return compareRank(e.rank, rank) >= 0 || e.effect == list[0].effect
			}))
	}
	exceptions := lower(g.against)
	reduced := reduceBy(s, exceptions)
	if reduced == nil {
		return nil
	}
	first := g.principals[0]
	var kept []*member
	found := d.transition(s.effect, list[0].effect, new(request))
	found.request = nil
	for _, t := range list {
		var fits bool
		for _, q := range t.subjects {
			if d.filter.subject != "" && first != d.filter.subject && q != d.filter.subject {
				continue
			}
			own := lower(d.relevantTo(s, q))
			r := d.find([]*statement{reduced, t}, slices.Concat(exceptions, own), distinct(first, q)...)
			if r == nil {
				continue
			}
			fits = true
			exceptions = append(exceptions, own...)
			if found.request == nil {
				found.request = r.object(d.point)
			}
			if slices.Contains(g.principals, q) {
				found.affected[q] = true
			}
		}
		if fits {
			kept = append(kept, d.memberOf(t))
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return &class{point: d.point, all: [][]*member{{d.own(reduced)}, kept}, except: d.members(unique(g.each(exceptions))), transitions: []*transition{found}}
}

func unique(list []*statement) []*statement {
	seen := make(map[*statement]bool)
	return slices.DeleteFunc(slices.Clone(list), func(s *statement) bool {
		before := seen[s]
		seen[s] = true
		return before
	})
}
