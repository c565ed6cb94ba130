package reach

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// Compare returns the pairs of a subject and an administrator that are reached in one of two
// revisions only, or in another class there. Subjects and namespaces are those that either
// revision names: that one is named is not a path.
func Compare(ctx context.Context, a, b Options) (*diff.Reach, error) {
	c := &comparer{ctx: ctx, differing: diff.Differing(a.World, b.World)}
	var known, from, namespaces []string
	for _, o := range []*Options{&a, &b} {
		g := newGraph(o)
		known, from = append(known, g.subjects(true)...), append(from, g.subjects(o.System)...)
		namespaces = append(namespaces, g.namespaces...)
	}
	to := []string{ClusterAdmin}
	for _, namespace := range tables.Entries(namespaces) {
		known = append(known, accountUser(namespace, "default"))
		if a.Namespace == "" || a.Namespace == namespace {
			to = append(to, namespaceAdmin+namespace)
		}
	}
	for i, o := range []*Options{&a, &b} {
		o.Known, o.From, o.To = tables.Entries(slices.Concat(o.Known, known)), tables.Entries(from), to
		if i == 1 {
			o.before = c.sides[0].graph
		}
		s, err := begin(o)
		if err != nil {
			return nil, err
		}
		if err := s.explore(ctx); err != nil {
			return nil, err
		}
		c.sides[i] = s
	}
	return c.compare()
}

// comparer compares what is reached in two revisions.
type comparer struct {
	ctx       context.Context
	sides     [2]*search // of a and b
	differing []diff.Cause
}

func (c *comparer) compare() (*diff.Reach, error) {
	out := &diff.Reach{Opened: []diff.ReachChange{}, Closed: []diff.ReachChange{}, Changed: []diff.ReachChange{}}
	for i := range c.sides[0].goals {
		before, after := c.sides[0].towards(i), c.sides[1].towards(i)
		for n := range c.sides[0].starts {
			was, is := c.sides[0].classOf(n, before), c.sides[1].classOf(n, after)
			if was == is {
				continue
			}
			change, err := c.change(n, i, [2][]*distances{before, after}, [2]Class{was, is})
			if err != nil {
				return nil, err
			}
			switch {
			case was == never:
				out.Opened = append(out.Opened, *change)
			case is == never:
				out.Closed = append(out.Closed, *change)
			default:
				out.Changed = append(out.Changed, *change)
			}
		}
	}
	return out, nil
}

// path returns the best path of a pair in one revision.
func (c *comparer) path(side, n, goal int, distances []*distances) (*Path, error) {
	s := c.sides[side]
	found, _ := routes(s.starts[n].node, distances, 1, s.o.MaxHops, maxWalks)
	w := found[0]
	p, err := s.graph.path(c.ctx, s.starts[n], &s.goals[goal], w.arcs)
	if err == nil {
		p.Class = w.worst
	}
	return p, err
}

// change returns how a pair differs, by the distances and the classes of both revisions. What
// causes it is found on the better path.
func (c *comparer) change(n, goal int, distances [2][]*distances, classes [2]Class) (*diff.ReachChange, error) {
	was, is := classes[0], classes[1]
	better, shown := 1, 1
	if was < is {
		better = 0
	}
	if is == never {
		shown = 0
	}
	p, err := c.path(shown, n, goal, distances[shown])
	if err != nil {
		return nil, err
	}
	out := &diff.ReachChange{From: p.From, To: p.To, Hops: p.Hops, Pair: diff.ReachPair{From: p.Subject, To: p.To}, Lines: p.lines(), Change: diff.ReachGain}
	if better == 0 {
		out.Change = diff.ReachLoss
	}
	if out.Text = fmt.Sprintf("%s reaches %s in %s, %s", p.Subject, p.To, diag.Counted(len(p.Hops), "hop"), p.Class); len(p.Hops) == 0 {
		out.Text = p.Sentence()
	}
	switch {
	case was == never:
		out.Class, out.Text = is.String(), "opened: "+out.Text
	case is == never:
		out.Class, out.Text = was.String(), "closed: "+out.Text
	default:
		out.Was, out.Is, out.Text = was.String(), is.String(), out.Text+", was "+was.String()
	}
	if shown != better {
		if p, err = c.path(better, n, goal, distances[better]); err != nil {
			return nil, err
		}
	}
	out.Causes, err = c.causes(p, &c.sides[better].goals[goal], better)
	return out, err
}

// causes returns the documents that differ and without which a path of one revision is not
// one in the other.
func (c *comparer) causes(p *Path, to *goal, side int) ([]diff.Cause, error) {
	own, other := c.sides[side].graph, c.sides[1-side].graph
	w, v, as := own.worlds[""], other.worlds[""], p.From
	var out, all []diff.Cause
	compare := func(i *Identity, object map[string]any) error {
		for _, r := range i.checked(object) {
			allowed, granted, err := w.decides(c.ctx, r)
			if err != nil {
				return err
			}
			before, denied, err := v.decides(c.ctx, r)
			if err != nil {
				return err
			}
			all = append(all, c.of(w, granted)...)
			switch {
			case before == allowed:
			case before == statement.OutcomeDeny && len(c.of(v, denied)) > 0:
				out = append(out, c.of(v, denied)...)
			default:
				out = append(out, c.of(w, granted)...)
			}
		}
		return nil
	}
	for i := range p.Hops {
		h := &p.Hops[i]
		for _, object := range h.Requests {
			if err := compare(h.As, merged(object, merged(own.o.Stated, h.Facts))); err != nil {
				return nil, err
			}
		}
		if h.lent != nil {
			out = append(out, c.lending(h.lent, side)...)
		}
		if h.change == nil {
			as = h.Becomes
			continue
		}
		out = append(out, c.role(w, h.change.role)...)
		w, v = own.after(w, *h.change), other.after(v, *h.change)
	}
	if r := to.request(); r != nil && !as.sink && !as.holds(statement.GroupPrefix+masters) {
		if err := compare(as, r); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		out = append(all, c.denials()...) // what a condition of the same requests depends on
	}
	slices.SortFunc(out, func(a, b diff.Cause) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return append([]diff.Cause{}, slices.Compact(out)...), nil
}

// denials returns the deny policies that differ.
func (c *comparer) denials() []diff.Cause {
	return elements.Filter(c.differing, func(one diff.Cause) bool { return one.Kind == kindDenyPolicy })
}

// decides returns the outcome of a request in a world, and the document that decides it.
func (w *world) decides(ctx context.Context, r map[string]any) (outcome string, by *statement.Document, err error) {
	found, exact := w.decisive(r, principalsOf(r))
	if !exact || w.sealed {
		judge, err := w.documents(ctx)
		if err != nil {
			return "", nil, err
		}
		v, err := judge(ctx, statement.PointAccess, statement.Encode(r))
		if err != nil {
			return "", nil, err
		}
		by, err = w.matched(&v)
		return v.Outcome, by, err
	}
	if found == nil {
		return statement.OutcomeNone, nil, nil
	}
	return found.Effect, &found.Documents[0], nil
}

// of returns a document and its role, of those that differ.
func (c *comparer) of(w *world, d *statement.Document) (out []diff.Cause) {
	if d == nil {
		return nil
	}
	for _, one := range c.differing {
		if one.Kind == d.Kind && one.Namespace == d.Namespace && one.Name == d.Name {
			out = append(out, one)
		}
	}
	return append(out, c.role(w, d.Role)...)
}

// role returns a role if it differs.
func (c *comparer) role(w *world, key string) (out []diff.Cause) {
	if key == "" {
		return nil
	}
	role := w.role(key)
	for _, one := range c.differing {
		if role.Name != "" && one.Kind == cmp.Or(role.Kind, kindRole) && one.Namespace == role.Namespace && one.Name == role.Name {
			out = append(out, one)
		}
	}
	return out
}

// lending returns the escalation of a hop if it is not the same in the other revision.
func (c *comparer) lending(l *lending, side int) []diff.Cause {
	at := func(g *graph) (source, text string) {
		if t := tables.Of[*tables.Requestable](g.o.World.Whole().Revision.Tables); t != nil {
			for _, e := range t.Escalations {
				if e.Namespace == l.Namespace && e.Name == l.Name {
					source, e.Source = e.Source, ""
					return source, statement.JSONText(e)
				}
			}
		}
		return "", ""
	}
	source, own := at(c.sides[side].graph)
	_, other := at(c.sides[1-side].graph)
	cause := diff.Cause{In: [2]string{"a", "b"}[side], What: "changed", Kind: kindEscalation, Namespace: l.Namespace, Name: l.Name, Source: source}
	switch {
	case own == other:
		return nil
	case other == "":
		cause.What = [2]string{"removed", "added"}[side]
	}
	return []diff.Cause{cause}
}
