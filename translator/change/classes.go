package change

import (
	"context"
	"maps"
	"slices"
	"strings"
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
	pods     []podChange
	changes  []string // what may happen; computed from transitions if the class is exact

	transitions []*transition
}

// member is a statement of a class, and the revisions that have it.
type member struct {
	s  *statement
	in []string
}

// transition is a pair of outcomes, with a request that goes through it.
type transition struct {
	from, to string
	request  map[string]any
	a, b     Verdict
	affected map[string]bool
}

// side is one direction of a comparison: the statements of x that y lacks.
type side struct {
	x, y   *space
	xName  string
	yName  string
	point  string
	none   string // the outcome of a request that no statement fits
	filter filter
	action string // at the point visibility

	ctx    context.Context
	judges judges

	cut     bool                  // a search ended early
	meet    map[[2]condition]bool // whether two conditions overlap, namespaces aside
	denials map[placed][]*statement
}

// space is what a side needs of a revision.
type space struct {
	everyone []*statement
	// of returns the statements of a principal in a namespace, all if it is empty.
	of func(principal, namespace string) []*statement
	// all returns the statements of every principal there.
	all func(namespace string) []*statement
	// in returns the statements of a principal in one place.
	in     func(principal, place string) []*statement
	world  *World
	denies bool // a statement of bindings may deny
}

// filter restricts a comparison to a principal and a namespace.
type filter struct{ subject, namespace string }

// relevant are the statements that decide requests of one statement by one principal.
type relevant struct {
	lowerX []*statement // of x, before the statement, with another outcome
	lowerY []*statement // of y, before it
	same   []*statement // of y, not before it, with the same outcome
	other  []*statement // of y, not before it, with another outcome
}

func (r *relevant) exceptions() []*statement { return slices.Concat(r.lowerX, r.lowerY, r.same) }

func compareRank(a, b []byte) int { return strings.Compare(string(a), string(b)) }

// sort puts a statement of x or y where it counts against s.
func (r *relevant) sort(s, t *statement, ofX, tieIsLower bool) {
	order := compareRank(t.rank, s.rank)
	switch {
	case ofX:
		if order < 0 && t.effect != s.effect {
			r.lowerX = append(r.lowerX, t)
		}
	case order < 0 || order == 0 && tieIsLower && t.effect != s.effect:
		r.lowerY = append(r.lowerY, t)
	case t.effect == s.effect:
		r.same = append(r.same, t)
	default:
		r.other = append(r.other, t)
	}
}

// overlaps reports whether a request fits both statements. Bindings share the conditions
// of their roles, so that conditions that never overlap are found once.
func (d *side) overlaps(s, t *statement) bool {
	if areApart(s, t) || areApart(t, s) {
		return false
	}
	key := [2]condition{s.condition, t.condition}
	meet, known := d.meet[key]
	if !known {
		bare, other := *s, *t
		bare.namespace, other.namespace = "", ""
		meet = d.meets(&bare, &other)
		if d.meet == nil {
			d.meet = make(map[[2]condition]bool)
		}
		d.meet[key] = meet
	}
	if !meet || s.namespace == "" && t.namespace == "" {
		return meet
	}
	return d.meets(s, t)
}

// areApart reports whether t never fits in the namespace of s.
func areApart(s, t *statement) bool {
	if s.namespace == "" {
		return false
	}
	r := request{namespace: s.namespace, verb: "*"}
	return t.namespace != "" && t.namespace != s.namespace || t.family == familyDeny && t.match(stageNamespace, &r) == 0
}

// meets reports whether a request fits both statements, or the search for one ended early.
func (d *side) meets(s, t *statement) bool {
	before := d.cut
	d.cut = false
	found := d.find([]*statement{s, t}, nil) != nil || d.cut
	d.cut = before
	return found
}

// find looks for a request of some principals.
func (d *side) find(must, mustNot []*statement, principals ...string) *request {
	base, ok := requestOf(d.point, principals)
	if !ok || d.cut { // a class is as wide as its statement from here on
		return nil
	}
	s := search{must: must, mustNot: mustNot, point: d.point, base: base}
	if d.filter.namespace != "" {
		s.pin = func(r *request) bool {
			r.namespace = d.filter.namespace
			return r.path == ""
		}
	}
	found := s.find()
	d.cut = d.cut || s.cut
	return found
}

// relevantTo collects what counts against s for a principal; "" is one that no document
// names.
func (d *side) relevantTo(s *statement, principal string) *relevant {
	out := new(relevant)
	collect := func(from *space, ofX bool) {
		list := d.everyone(s, from)
		if principal != "" {
			list = slices.Clone(list)
			for _, t := range from.of(principal, s.namespace) {
				if d.overlaps(s, t) {
					list = append(list, t)
				}
			}
		}
		for _, t := range list {
			if !ofX || compareRank(t.rank, s.rank) < 0 {
				out.sort(s, t, ofX, d.xName == "a")
			}
		}
	}
	collect(d.x, true)
	collect(d.y, false)
	return out
}

// everyone returns the statements of deny policies that overlap s.
func (d *side) everyone(s *statement, from *space) []*statement {
	key := placed{s.condition, s.namespace, from}
	if found, ok := d.denials[key]; ok {
		return found
	}
	var out []*statement
	for _, t := range from.everyone {
		if d.overlaps(s, t) {
			out = append(out, t)
		}
	}
	if d.denials == nil {
		d.denials = make(map[placed][]*statement)
	}
	d.denials[key] = out
	return out
}

// placed is a condition in a namespace, for what a revision states there.
type placed struct {
	condition condition
	namespace string
	from      *space
}

// signature identifies relevant statements by their content.
func (r *relevant) signature() string {
	var b strings.Builder
	for _, list := range [][]*statement{r.lowerX, r.lowerY, r.same, r.other} {
		contents := make([]string, 0, len(list))
		for _, s := range list {
			contents = append(contents, contentOf(s))
		}
		slices.Sort(contents)
		b.WriteString(strings.Join(slices.Compact(contents), "\x01"))
		b.WriteByte(2)
	}
	return b.String()
}

// group is the principals of a statement for which the same statements are relevant.
type group struct {
	principals []string
	against    *relevant
	statements []*relevant // of each principal
}

// groups splits the subjects of a statement.
func (d *side) groups(s *statement) []*group {
	if s.subjects == nil {
		return []*group{{principals: []string{""}, against: d.relevantTo(s, "")}}
	}
	by := make(map[string]*group)
	for _, p := range s.subjects {
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
	var out []*group
	for _, key := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[key])
	}
	return out
}

// classes returns the classes in which s is the lower deciding statement.
func (d *side) classes(s *statement) []*class {
	d.cut = false
	var out []*class
	for _, g := range d.groups(s) {
		part := *s
		if s.subjects != nil {
			part.subjects = g.principals
		}
		part.content = ""
		if s.opaque != "" {
			part.content = s.content
		}
		out = append(out, d.classesOf(&part, g)...)
	}
	if d.cut {
		return []*class{d.widest(s)}
	}
	return out
}

// widest returns the class of all requests that fit s: the search for those whose outcome
// changes ended early.
func (d *side) widest(s *statement) *class {
	k := &class{point: d.point, all: [][]*member{{d.own(s)}}, why: []string{whyPattern}, changes: d.possible(s)}
	d.cut = false
	if r := d.find([]*statement{s}, nil, s.subjects[:min(len(s.subjects), 1)]...); r != nil {
		d.record(k, r.object(d.point))
	}
	return k
}

func (d *side) classesOf(s *statement, g *group) []*class {
	if s.opaque != "" {
		return d.opaqueClass(s, nil, g.against.exceptions(), g)
	}
	var out []*class
	if s.effect != d.none {
		exceptions := slices.Concat(g.against.exceptions(), opaqueOf(g.against.other))
		if reduced := reduceBy(s, g.against.lowerY, g.against.same, g.against.lowerX); reduced != nil {
			out = append(out, d.plain(reduced, exceptions, g)...)
		}
	}
	return append(out, d.companions(s, g)...)
}

func opaqueOf(list []*statement) []*statement {
	return slices.DeleteFunc(slices.Clone(list), func(s *statement) bool { return s.opaque == "" })
}

func exactOf(list []*statement) []*statement {
	return slices.DeleteFunc(slices.Clone(list), func(s *statement) bool { return s.opaque != "" })
}

// reduceBy removes from the lists of s what other statements cover in its whole place. It
// returns nil if they cover all of it.
func reduceBy(s *statement, lists ...[]*statement) *statement {
	out := *s
	for changed := true; changed; {
		changed = false
		for _, list := range lists {
			for _, t := range list {
				if t.opaque != "" || t.namespace != "" && t.namespace != s.namespace {
					continue
				}
				reduced := out.condition.without(t.condition)
				if reduced == nil {
					return nil
				}
				if reduced != out.condition {
					if jsonOf(reduced) != jsonOf(out.condition) {
						changed = true
						out.condition, out.content = reduced, ""
					}
				}
			}
		}
	}
	return &out
}

func jsonOf(c condition) string {
	var s Statement
	c.describe(&s)
	return jsonText(s)
}

// plain returns the class of s without exceptions, and an inexact one of those requests
// that an opaque exception concerns.
func (d *side) plain(s *statement, exceptions []*statement, g *group) []*class {
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
		out = append(out, &class{point: d.point, all: [][]*member{{d.own(s)}}, except: d.members(g.each(exceptions)), transitions: found})
	}
	if opaque := opaqueOf(exceptions); len(opaque) > 0 {
		out = append(out, d.opaqueClass(s, opaque, exactOf(exceptions), g)...)
	}
	return out
}

// needed returns the exceptions that cannot be left out.
func (d *side) needed(s *statement, exceptions []*statement, p string) []*statement {
	var kept []*statement
	seen := make(map[string]bool)
	for _, t := range exceptions {
		if !d.overlaps(s, t) {
			continue
		}
		if key := contentOf(t); !seen[key] {
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
		if d.find([]*statement{s, kept[i]}, rest, nonEmpty(p)...) == nil {
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
func (d *side) transitions(s *statement, exceptions []*statement, g *group) []*transition {
	var out []*transition
	p := g.principals[0]
	add := func(outcome string, r *request) {
		t := d.transition(s.effect, outcome, r)
		for _, principal := range g.principals {
			if principal != "" {
				t.affected[principal] = true
			}
		}
		out = append(out, t)
	}
	if r := d.find([]*statement{s}, slices.Concat(exceptions, g.against.other), nonEmpty(p)...); r != nil {
		add(d.none, r)
	}
	done := map[string]bool{d.none: len(out) > 0}
	for _, t := range g.against.other {
		if done[t.effect] || t.opaque != "" {
			continue
		}
		if r := d.find([]*statement{s, t}, slices.Concat(exceptions, before(g.against.other, t)), nonEmpty(p)...); r != nil {
			done[t.effect] = true
			add(t.effect, r)
		}
	}
	return out
}

// before returns the statements of a list with a lower rank than t and another outcome.
func before(list []*statement, t *statement) []*statement {
	var out []*statement
	for _, s := range list {
		if compareRank(s.rank, t.rank) < 0 && s.effect != t.effect {
			out = append(out, s)
		}
	}
	return out
}

// transition orients a pair of outcomes: x is the revision that has the statement.
func (d *side) transition(inX, inY string, r *request) *transition {
	t := &transition{from: inY, to: inX, request: r.object(d.point), affected: make(map[string]bool)}
	if d.xName == "a" {
		t.from, t.to = inX, inY
	}
	return t
}

func (d *side) own(s *statement) *member { return &member{s: named(s, d.xName), in: []string{d.xName}} }

// named returns a copy whose documents name their revision.
func named(s *statement, in ...string) *statement {
	out := *s
	out.documents = nil
	for _, d := range s.documents {
		for _, name := range in {
			d.In = name
			out.documents = append(out.documents, d)
		}
	}
	return &out
}

// each returns the statements of all principals of the group that equal those of the
// first one in a list.
func (g *group) each(list []*statement) []*statement {
	wanted := make(map[string]bool, len(list))
	seen := make(map[*statement]bool)
	out := slices.Clone(list)
	for _, s := range list {
		wanted[contentOf(s)], seen[s] = true, true
	}
	for _, r := range g.statements {
		for _, s := range slices.Concat(r.lowerX, r.lowerY, r.same, r.other) {
			if wanted[contentOf(s)] && !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// members returns statements as those of a class. A statement that both revisions have is
// one member.
func (d *side) members(list []*statement) []*member {
	out := make([]*member, 0, len(list))
	for _, t := range list {
		out = append(out, d.memberOf(t))
	}
	return out
}

func (d *side) memberOf(t *statement) *member {
	inX, inY := d.x.find(t), d.y.find(t)
	var documents []Document
	m := &member{}
	for _, found := range []struct {
		name string
		list []*statement
	}{{d.xName, inX}, {d.yName, inY}} {
		if len(found.list) == 0 {
			continue
		}
		m.in = append(m.in, found.name)
		for _, s := range found.list {
			documents = append(documents, named(s, found.name).documents...)
		}
	}
	slices.Sort(m.in)
	copied := *t
	copied.documents = sortedDocuments(documents)
	m.s = &copied
	return m
}

// find returns the statements of a space with the content of t for all of its subjects,
// nil if some subject has none.
func (w *space) find(t *statement) []*statement {
	var out []*statement
	if t.subjects == nil {
		for _, s := range w.everyone {
			if contentOf(s) == contentOf(t) {
				out = append(out, s)
			}
		}
		return out
	}
	for _, p := range t.subjects {
		found := false
		for _, s := range w.in(p, t.namespace) {
			if contentOf(s) == contentOf(t) {
				found = true
				if !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
		if !found {
			return nil
		}
	}
	return out
}
