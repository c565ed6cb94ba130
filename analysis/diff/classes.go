package diff

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
)

// class is a set of requests whose outcome changes.
type class struct {
	point    string
	all      [][]*member
	except   []*member
	why      []string
	question string
	types    []string
	actions  []string
	paths    []string
	rules    []string
	causes   []Cause // of a path; statements have those of other points
	pods     []podChange
	changes  []string // what may happen; computed from transitions if the class is exact

	at          time.Time // the first time at which the class holds
	transitions []*transition
}

// transition is a pair of outcomes, with a request that goes through it.
type transition struct {
	from, to string
	request  map[string]any
	a, b     statement.Verdict
	affected map[string]bool
}

// prefer takes a request as the witness if it holds fewer principals than the present one.
func (t *transition) prefer(request map[string]any) {
	if t.request == nil || len(holders(request)) < len(holders(t.request)) {
		t.request = request
	}
}

// holders returns the principals that a request of the point access holds.
func holders(request map[string]any) []string {
	user, _ := request["user"].(string)
	groups, _ := request["groups"].([]string)
	return statement.Principals(user, groups)
}

// group is the principals of a statement for which the same statements are relevant.
type group struct {
	principals []string
	against    *relevant
	statements []*relevant // of each principal
}

// groups splits the subjects of a statement.
func (d *side) groups(s *statement.Statement) []*group {
	if s.Subjects == nil { // everybody, or the one that is asked for
		p := d.filter.subject
		return []*group{{principals: []string{p}, against: d.relevantTo(s, p)}}
	}
	by := make(map[string]*group)
	for _, p := range s.Subjects {
		if d.filter.subject != "" && p != d.filter.subject {
			continue
		}
		r := d.relevantTo(s, p)
		key := r.signature()
		if by[key] == nil {
			by[key] = &group{against: r}
		}
		by[key].principals = append(by[key].principals, p)
		by[key].statements = append(by[key].statements, r)
	}
	return elements.Map(slices.Sorted(maps.Keys(by)), func(key string) *group { return by[key] })
}

// classes returns the classes in which s is the lower deciding statement.
func (d *side) classes(s *statement.Statement) []*class {
	d.cut = false
	var out []*class
	groups := d.groups(s)
	for _, g := range groups {
		part := *s
		if s.Subjects != nil {
			part.Subjects = g.principals
		}
		if len(groups) > 1 {
			part.Documents = d.documentsOf(s, g.principals)
		}
		part.Content = ""
		if s.Opaque != "" {
			part.Content = s.Content
		}
		out = append(out, d.classesOf(&part, g)...)
	}
	if d.cut {
		return []*class{d.widest(s)}
	}
	return out
}

// documentsOf returns the documents by which principals have a statement of x.
func (d *side) documentsOf(s *statement.Statement, principals []string) []statement.Document {
	var out []statement.Document
	for _, p := range principals {
		for _, t := range d.x.in(p, s.Namespace) {
			if statement.ContentOf(t) == statement.ContentOf(s) {
				out = append(out, t.Documents...)
			}
		}
	}
	return statement.SortedDocuments(out)
}

// widest returns the class of all requests that fit s: the search for those whose outcome
// changes ended early.
func (d *side) widest(s *statement.Statement) *class {
	k := &class{point: d.point, all: [][]*member{{d.own(s)}}, why: []string{statement.WhyPattern}, changes: d.possible(s)}
	d.cut = false
	if r := d.find([]*statement.Statement{s}, nil, s.Subjects[:min(len(s.Subjects), 1)]...); r != nil {
		d.record(k, r.Object(d.point))
	}
	return k
}

func (d *side) classesOf(s *statement.Statement, g *group) []*class {
	if s.Opaque != "" {
		return d.opaqueClass(s, nil, g.against.exceptions(), g)
	}
	var out []*class
	if s.Effect != d.none {
		exceptions := slices.Concat(g.against.exceptions(), opaqueOf(g.against.other))
		if reduced := reduceBy(s, g.against.lowerY, g.against.same, g.against.lowerX); reduced != nil {
			out = append(out, d.plain(reduced, exceptions, g)...)
		}
	}
	if s.Step == 0 && d.point == statement.PointAccess {
		out = append(out, d.lifted(s, g)...)
	}
	return append(out, d.companions(s, g)...)
}

// lifted returns the classes of requests that a DebugSession lets past a denial of y which
// comes before what y allows. Of all statements those of DebugSessions alone are before deny
// policies.
func (d *side) lifted(s *statement.Statement, g *group) []*class {
	var out []*class
	for _, t := range g.against.other {
		exceptions := slices.Concat(g.against.lowerX, g.against.lowerY)
		isBefore := false
		for _, e := range g.against.same {
			if bytes.Compare(e.Rank, t.Rank) < 0 {
				exceptions = append(exceptions, e)
			} else {
				isBefore = true
			}
		}
		switch {
		case !isBefore:
		case t.Opaque != "":
			out = append(out, d.opaqueClass(s, []*statement.Statement{t}, exceptions, g)...)
		default:
			r := d.find([]*statement.Statement{s, t}, exceptions, g.principals[0])
			if r == nil {
				continue
			}
			found := d.transition(s.Effect, t.Effect, r)
			for _, p := range g.principals {
				found.affected[p] = true
			}
			out = append(out, &class{point: d.point, all: [][]*member{{d.own(s)}, d.members(g.withEquals([]*statement.Statement{t}))}, except: d.members(g.withEquals(exceptions)), transitions: []*transition{found}})
		}
	}
	return out
}

func opaqueOf(list []*statement.Statement) []*statement.Statement {
	return slices.DeleteFunc(slices.Clone(list), func(s *statement.Statement) bool { return s.Opaque == "" })
}

func exactOf(list []*statement.Statement) []*statement.Statement {
	return slices.DeleteFunc(slices.Clone(list), func(s *statement.Statement) bool { return s.Opaque != "" })
}

// reduceBy removes from the lists of s what other statements cover in its whole place. It
// returns nil if they cover all of it.
func reduceBy(s *statement.Statement, lists ...[]*statement.Statement) *statement.Statement {
	out := *s
	for changed := true; changed; {
		changed = false
		for _, list := range lists {
			for _, t := range list {
				if t.Opaque != "" || t.Namespace != "" && t.Namespace != s.Namespace {
					continue
				}
				reduced := out.Condition.Without(t.Condition)
				if reduced == nil {
					return nil
				}
				if reduced != out.Condition && statement.JSONOf(reduced) != statement.JSONOf(out.Condition) {
					changed = true
					out.Condition, out.Content = reduced, ""
				}
			}
		}
	}
	return &out
}

// plain returns the class of s without exceptions, and an inexact one of those requests
// that an opaque exception concerns.
func (d *side) plain(s *statement.Statement, exceptions []*statement.Statement, g *group) []*class {
	p := g.principals[0]
	found := d.transitions(s, exceptions, g)
	exceptions = d.needed(s, exceptions, p)
	for _, missing := range d.companionOutcomes(s, found) {
		t, opaque := d.companion(s, exceptions, g, missing)
		if t != nil {
			found = append(found, t)
		} else {
			exceptions = append(exceptions, opaque...)
		}
	}
	var out []*class
	if len(found) > 0 {
		out = append(out, &class{point: d.point, all: [][]*member{{d.own(s)}}, except: d.members(g.withEquals(exceptions)), transitions: found})
	}
	if opaque := opaqueOf(exceptions); len(opaque) > 0 {
		out = append(out, d.opaqueClass(s, opaque, exactOf(exceptions), g)...)
	}
	return out
}

// needed returns the exceptions that cannot be left out.
func (d *side) needed(s *statement.Statement, exceptions []*statement.Statement, p string) []*statement.Statement {
	var kept []*statement.Statement
	seen := make(map[string]bool)
	for _, t := range exceptions {
		if !d.overlaps(s, t) {
			continue
		}
		if key := statement.ContentOf(t); !seen[key] {
			seen[key] = true
			kept = append(kept, t)
		}
	}
	const many = 64
	if len(kept) > many {
		return kept
	}
	for i := 0; i < len(kept); {
		rest := slices.Delete(slices.Clone(kept), i, i+1)
		if d.find([]*statement.Statement{s, kept[i]}, rest, nonEmpty(p)...) == nil {
			kept = rest
		} else {
			i++
		}
	}
	return kept
}

func nonEmpty(principals ...string) []string {
	return slices.DeleteFunc(principals, func(p string) bool { return p == "" })
}

// transitions finds the pairs of outcomes that principals of the group go through alone.
func (d *side) transitions(s *statement.Statement, exceptions []*statement.Statement, g *group) []*transition {
	var out []*transition
	p := g.principals[0]
	add := func(outcome string, r *statement.Request) {
		t := d.transition(s.Effect, outcome, r)
		for _, principal := range g.principals {
			if principal != "" {
				t.affected[principal] = true
			}
		}
		out = append(out, t)
	}
	if r := d.find([]*statement.Statement{s}, slices.Concat(exceptions, g.against.other), nonEmpty(p)...); r != nil {
		add(d.none, r)
	}
	done := map[string]bool{d.none: len(out) > 0}
	for _, t := range g.against.other {
		if done[t.Effect] || t.Opaque != "" {
			continue
		}
		if r := d.find([]*statement.Statement{s, t}, slices.Concat(exceptions, before(g.against.other, t)), nonEmpty(p)...); r != nil {
			done[t.Effect] = true
			add(t.Effect, r)
		}
	}
	return out
}

// before returns the statements of a list with a lower rank than t and another outcome.
func before(list []*statement.Statement, t *statement.Statement) []*statement.Statement {
	return elements.Filter(list, func(s *statement.Statement) bool { return bytes.Compare(s.Rank, t.Rank) < 0 && s.Effect != t.Effect })
}

// transition orients a pair of outcomes: x is the revision that has the statement.
func (d *side) transition(inX, inY string, r *statement.Request) *transition {
	t := &transition{from: inY, to: inX, request: r.Object(d.point), affected: make(map[string]bool)}
	if d.xName == "a" {
		t.from, t.to = inX, inY
	}
	return t
}
