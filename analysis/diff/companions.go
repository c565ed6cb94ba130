package diff

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
)

// companionOutcomes returns how y may decide requests that s decides in x, beside the outcomes
// of the transitions that were found: another principal may hold a statement that decides so.
func (d *side) companionOutcomes(s *statement.Statement, found []*transition) []string {
	var possible []string
	switch {
	case d.point == statement.PointVisibility:
		possible = []string{statement.OutcomePartial, statement.OutcomeAllow, statement.OutcomeDeny}
	case s.Effect == statement.OutcomeDeny:
		possible = []string{statement.OutcomeAllow}
	case s.Step < 5:
		possible = []string{statement.OutcomeDeny}
	}
	return slices.DeleteFunc(possible, func(outcome string) bool {
		return outcome == s.Effect || slices.ContainsFunc(found, func(t *transition) bool { return t.other(d) == outcome })
	})
}

// other returns the outcome of y.
func (t *transition) other(d *side) string {
	if d.xName == "a" {
		return t.to
	}
	return t.from
}

// alike is what a companion's statement can be for a request to exist that fits it: its
// condition in a place, held by a user, a group or a node.
type alike struct {
	condition statement.Condition
	place     *statement.Place
	namespace string // empty unless the condition reads it
	holder    string
}

// holderOf returns what conditions, and a request of the first principal, tell apart of a
// principal.
func holderOf(principal, first string) string {
	switch {
	case principal == first, strings.HasPrefix(principal, statement.NodePrefix):
		return principal
	case strings.HasPrefix(principal, statement.UserPrefix):
		return statement.UserPrefix
	}
	return statement.GroupPrefix
}

// companion looks for a principal whose statement gives requests of the class another
// outcome in y. For a statement that concerns everybody, all such principals are
// affected. Without one, the opaque statements that may do so are returned.
func (d *side) companion(s *statement.Statement, exceptions []*statement.Statement, g *group, outcome string) (*transition, []*statement.Statement) {
	first := g.principals[0]
	known := make(map[alike]bool)
	places := make(map[string]*statement.Places) // by rank
	var found *transition
	var opaque []*statement.Statement
	for t := range d.y.all(s.Namespace, outcome) {
		if t.Effect != outcome || bytes.Compare(t.Rank, s.Rank) < 0 || statement.AreApart(t, s) || !d.filter.admits(t) {
			continue
		}
		if t.Opaque != "" {
			if d.overlaps(s, t) {
				opaque = append(opaque, t)
			}
			continue
		}
		of := places[string(t.Rank)]
		if of == nil {
			of = statement.NewPlaces(slices.Concat([]*statement.Statement{s}, exceptions, before(g.against.other, t)))
			places[string(t.Rank)] = of
		}
		place, namespace := of.Of(cmp.Or(s.Namespace, t.Namespace)), ""
		if t.ReadsNamespace() {
			namespace = t.Namespace
		}
		for _, q := range t.Subjects {
			if found != nil && (first != "" || found.affected[q]) || d.filter.subject != "" && q != d.filter.subject {
				continue
			}
			own := d.against(s, t, q)
			key := alike{t.Condition, place, namespace, holderOf(q, first)}
			fits, isKnown := known[key]
			if !isKnown || len(own) > 0 {
				r := d.find([]*statement.Statement{s, t}, slices.Concat(place.Left[1:], own), distinct(first, q)...)
				fits = r != nil
				if fits && found == nil {
					found = d.transition(s.Effect, outcome, r)
				}
				if len(own) == 0 {
					known[key] = fits
				}
			}
			if fits && first == "" {
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
func (d *side) against(s, t *statement.Statement, principal string) []*statement.Statement {
	var out []*statement.Statement
	place := cmp.Or(s.Namespace, t.Namespace)
	if d.y.denies {
		out = before(d.y.of(principal, place), t)
	}
	isFirst := s.Step > 0 && s.Step <= statement.FirstStep && !d.x.lends // no statement of a principal is before it
	if !isFirst && (d.x.denies || s.Effect == statement.OutcomeDeny) {
		out = append(out, before(d.x.of(principal, place), s)...)
	}
	return out
}

// companions returns the classes of s that need a second statement: without it, y decides
// as x does, because of a statement of the same outcome or of none.
func (d *side) companions(s *statement.Statement, g *group) []*class {
	last := s.Rank // of the statements that a companion is before
	for _, e := range g.against.same {
		if bytes.Compare(e.Rank, last) > 0 {
			last = e.Rank
		}
	}
	if s.Effect != d.none && (bytes.Equal(last, s.Rank) || 0 < s.Step && last[0] <= statement.FirstStep) {
		return nil
	}
	other := "" // of several ones at the point visibility
	switch {
	case d.point == statement.PointVisibility:
	case s.Effect == statement.OutcomeAllow:
		other = statement.OutcomeDeny
	default:
		other = statement.OutcomeAllow
	}
	var candidates []*statement.Statement
	for t := range d.y.all(s.Namespace, other) {
		order := bytes.Compare(t.Rank, s.Rank)
		isBeforeS := order < 0 || order == 0 && d.xName == "a"
		isBehindLast := s.Effect != d.none && bytes.Compare(t.Rank, last) >= 0
		if t.Effect == s.Effect || t.Opaque != "" || isBeforeS || isBehindLast {
			continue
		}
		if s.Effect != d.none && !slices.ContainsFunc(g.against.same, func(e *statement.Statement) bool {
			return bytes.Compare(e.Rank, t.Rank) > 0 && d.find([]*statement.Statement{s, t, e}, nil) != nil
		}) {
			continue
		}
		if d.overlaps(s, t) {
			candidates = append(candidates, t)
		}
	}
	byRank := make(map[string][]*statement.Statement)
	for _, t := range candidates {
		key := string(t.Rank) + t.Effect // rules of one view have one rank, and each its outcome
		byRank[key] = append(byRank[key], t)
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
// one rank and outcome.
func (d *side) companionClass(s *statement.Statement, list []*statement.Statement, g *group) *class {
	rank := list[0].Rank
	lower := func(r *relevant) []*statement.Statement {
		return slices.Concat(r.lowerX, r.lowerY, slices.DeleteFunc(slices.Clone(r.same), func(e *statement.Statement) bool { return bytes.Compare(e.Rank, rank) >= 0 }),
			slices.DeleteFunc(slices.Clone(r.other), func(e *statement.Statement) bool {
				return bytes.Compare(e.Rank, rank) >= 0 || e.Effect == list[0].Effect
			}))
	}
	ofGroup := lower(g.against)
	exceptions := ofGroup // with those of the companions, which each apply to their own subjects
	reduced := reduceBy(s, ofGroup)
	if reduced == nil {
		return nil
	}
	first := g.principals[0]
	var kept []*member
	var fitting []*statement.Statement
	found := d.transition(s.Effect, list[0].Effect, new(statement.Request))
	found.request = nil
	for _, t := range list {
		part := *t // for those of its subjects who go through the transition
		part.Subjects = []string{}
		for _, q := range t.Subjects {
			if d.filter.subject != "" && first != d.filter.subject && q != d.filter.subject {
				continue
			}
			own := lower(d.relevantTo(s, q))
			r := d.find([]*statement.Statement{reduced, t}, slices.Concat(ofGroup, own), distinct(d.partner(g, q), q)...)
			if r == nil {
				continue
			}
			part.Subjects = append(part.Subjects, q)
			exceptions = slices.Concat(exceptions, own)
			found.prefer(r.Object(d.point))
			if slices.Contains(g.principals, q) {
				found.affected[q] = true
			}
		}
		if len(part.Subjects) > 0 {
			kept, fitting = append(kept, d.memberOf(&part)), append(fitting, t)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	exceptions = d.meeting(reduced, fitting, unique(g.withEquals(exceptions)))
	return &class{point: d.point, all: [][]*member{{d.own(reduced)}, kept}, except: d.members(exceptions), transitions: []*transition{found}}
}

// maxMeetings bounds the searches for exceptions that can be left out. It is far above what
// documents need.
const maxMeetings = 1 << 12

// meeting returns the exceptions that fit a request of s and of one of some statements, which
// no other exception fits that its subject holds in any case.
func (d *side) meeting(s *statement.Statement, list, exceptions []*statement.Statement) []*statement.Statement {
	if len(list)*len(exceptions) > maxMeetings {
		return exceptions
	}
	for i := 0; i < len(exceptions); {
		e := exceptions[i]
		rest := slices.Delete(slices.Clone(exceptions), i, i+1)
		others := slices.DeleteFunc(slices.Clone(rest), func(o *statement.Statement) bool { return !isForAll(o, e) && !isForAll(o, s) })
		if slices.ContainsFunc(list, func(t *statement.Statement) bool { return d.meets(others, s, t, e) }) {
			i++
		} else {
			exceptions = rest
		}
	}
	return exceptions
}

// isForAll reports whether a statement is for each principal of another one.
func isForAll(s, of *statement.Statement) bool {
	return s.Subjects == nil || of.Subjects != nil && !slices.ContainsFunc(of.Subjects, func(p string) bool { return !s.Holds([]string{p}) })
}

// partner returns a principal of the group that a request may hold beside q, q itself if it
// is one: a request has one user, and at the point visibility a service account.
func (d *side) partner(g *group, q string) string {
	if slices.Contains(g.principals, q) {
		return q
	}
	for _, p := range g.principals {
		if _, ok := statement.RequestOf(d.point, distinct(p, q)); ok {
			return p
		}
	}
	return g.principals[0]
}

func unique(list []*statement.Statement) []*statement.Statement {
	seen := make(map[*statement.Statement]bool)
	return slices.DeleteFunc(slices.Clone(list), func(s *statement.Statement) bool {
		before := seen[s]
		seen[s] = true
		return before
	})
}
