package diff

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
)

// side is one direction of a comparison: the statements of x that y lacks.
type side struct {
	x, y        *space
	xName       string
	yName       string
	point       string
	none        string // the outcome of a request that no statement fits
	filter      filter
	action      string // at the point visibility
	unnamedUser string // a user whom no revision names

	ctx    context.Context
	judges judges

	cut     bool                            // a search ended early
	meet    map[[2]statement.Condition]bool // whether two conditions overlap, namespaces aside
	meetIn  map[[2]statement.Condition]bool // the same in a namespace that neither reads
	denials map[placed][]*statement.Statement
}

// space is what a side needs of a revision.
type space struct {
	everyone []*statement.Statement
	// of returns the statements of a principal in a namespace, all if it is empty.
	of func(principal, namespace string) []*statement.Statement
	// all returns the statements of every principal there, at least those of an effect; all
	// if it is empty.
	all func(namespace, effect string) iter.Seq[*statement.Statement]
	// in returns the statements of a principal in one place.
	in     func(principal, place string) []*statement.Statement
	world  *statement.World
	denies bool // a statement of bindings or of sessions may deny
	lends  bool // there are sessions, which give statements of every step
}

// filter restricts a comparison to a principal and a namespace.
type filter struct{ subject, namespace string }

// relevant are the statements that decide requests of one statement by one principal.
type relevant struct {
	lowerX []*statement.Statement // of x, before the statement, with another outcome
	lowerY []*statement.Statement // of y, before it
	same   []*statement.Statement // of y, not before it, with the same outcome
	other  []*statement.Statement // of y, not before it, with another outcome
}

func (r *relevant) exceptions() []*statement.Statement {
	return slices.Concat(r.lowerX, r.lowerY, r.same)
}

// sort puts a statement of x or y where it counts against s.
func (r *relevant) sort(s, t *statement.Statement, ofX, tieIsLower bool) {
	order := bytes.Compare(t.Rank, s.Rank)
	switch {
	case ofX:
		if order < 0 && t.Effect != s.Effect {
			r.lowerX = append(r.lowerX, t)
		}
	case order < 0 || order == 0 && tieIsLower && t.Effect != s.Effect:
		r.lowerY = append(r.lowerY, t)
	case t.Effect == s.Effect:
		r.same = append(r.same, t)
	default:
		r.other = append(r.other, t)
	}
}

// overlaps reports whether a request fits both statements. Bindings share the conditions
// of their roles, so that conditions that never overlap are found once.
func (d *side) overlaps(s, t *statement.Statement) bool {
	if statement.AreApart(s, t) || statement.AreApart(t, s) {
		return false
	}
	key := [2]statement.Condition{s.Condition, t.Condition}
	meet, known := d.meet[key]
	if !known {
		bare, other := *s, *t
		bare.Namespace, other.Namespace = "", ""
		meet = d.meets(nil, &bare, &other)
		if d.meet == nil {
			d.meet = make(map[[2]statement.Condition]bool)
		}
		d.meet[key] = meet
	}
	if !meet || s.Namespace == "" && t.Namespace == "" {
		return meet
	}
	if s.ReadsNamespace() || t.ReadsNamespace() {
		return d.meets(nil, s, t)
	}
	if meet, known = d.meetIn[key]; !known { // in one namespace as in another
		meet = d.meets(nil, s, t)
		if d.meetIn == nil {
			d.meetIn = make(map[[2]statement.Condition]bool)
		}
		d.meetIn[key] = meet
	}
	return meet
}

// meets reports whether a request fits all statements and none of others, or the search for
// one ended early.
func (d *side) meets(others []*statement.Statement, list ...*statement.Statement) bool {
	before := d.cut
	d.cut = false
	found := d.find(list, others) != nil || d.cut
	d.cut = before
	return found
}

// find looks for a request of some principals.
func (d *side) find(must, mustNot []*statement.Statement, principals ...string) *statement.Request {
	base, ok := requestOf(d.unnamedUser, d.point, principals)
	if !ok || d.cut { // a class is as wide as its statement from here on
		return nil
	}
	base.Cluster = d.x.world.Access.Cluster
	s := statement.Search{Must: must, MustNot: mustNot, Point: d.point, Base: base}
	if d.filter.namespace != "" {
		s.Pin = func(r *statement.Request) bool {
			r.Namespace = d.filter.namespace
			return r.Path == ""
		}
	}
	found := s.Find()
	d.cut = d.cut || s.Cut
	return found
}

// relevantTo collects what counts against s for a principal; "" is one that no document
// names.
func (d *side) relevantTo(s *statement.Statement, principal string) *relevant {
	out := new(relevant)
	collect := func(from *space, ofX bool) {
		list := d.everyone(s, from)
		if principal != "" {
			list = slices.Clone(list)
			for _, t := range from.of(principal, s.Namespace) {
				if d.overlaps(s, t) {
					list = append(list, t)
				}
			}
		}
		for _, t := range list {
			if !ofX || bytes.Compare(t.Rank, s.Rank) < 0 {
				out.sort(s, t, ofX, d.xName == "a")
			}
		}
	}
	collect(d.x, true)
	collect(d.y, false)
	return out
}

// everyone returns the statements of deny policies that overlap s.
func (d *side) everyone(s *statement.Statement, from *space) []*statement.Statement {
	key := placed{s.Condition, s.Namespace, from}
	if found, ok := d.denials[key]; ok {
		return found
	}
	out := elements.Filter(from.everyone, func(t *statement.Statement) bool { return d.overlaps(s, t) })
	if d.denials == nil {
		d.denials = make(map[placed][]*statement.Statement)
	}
	d.denials[key] = out
	return out
}

// placed is a condition in a namespace, for what a revision states there.
type placed struct {
	condition statement.Condition
	namespace string
	from      *space
}

// signature identifies relevant statements by their content.
func (r *relevant) signature() string {
	var b strings.Builder
	for _, list := range [][]*statement.Statement{r.lowerX, r.lowerY, r.same, r.other} {
		contents := elements.Map(list, statement.ContentOf)
		slices.Sort(contents)
		b.WriteString(strings.Join(slices.Compact(contents), "\x01"))
		b.WriteByte(2)
	}
	return b.String()
}
