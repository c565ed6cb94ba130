package reach

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"
)

// unreached is the distance of a node from which a goal is not reached.
const unreached = 1 << 30

// distances are how many hops of one class or better it takes from each node to a goal, by the
// number of changes that they may make.
type distances struct {
	changes int             // most changes of a path
	hops    []int           // by the number of a node, then by that of changes
	at      map[*node]Class // the nodes at the goal, and how certain that is
}

// of returns the distance of a node from which so many changes may be made.
func (d *distances) of(n *node, changes int) int {
	if changes < 0 {
		return unreached
	}
	return d.hops[n.number*(d.changes+1)+changes]
}

// from returns the distance of a node from which a path begins.
func (d *distances) from(n *node) int { return d.of(n, d.changes) }

// place is a node of a path and the changes that may be made from there.
type place struct {
	*node
	changes int
}

// distances returns the distances to a goal that some nodes are at, each with a class.
func (g *graph) distances(at map[*node]Class, class Class) *distances {
	out := &distances{at: at}
	if g.hasChanges {
		out.changes = g.o.MaxChanges
	}
	out.hops = make([]int, len(g.order)*(out.changes+1))
	for i := range out.hops {
		out.hops[i] = unreached
	}
	// Places of one distance, and of the next one.
	var near, far []place
	reach := func(n *node, changes, hops int, list *[]place) {
		if at := &out.hops[n.number*(out.changes+1)+changes]; hops < *at {
			*at = hops
			*list = append(*list, place{n, changes})
		}
	}
	for n, certainty := range at {
		if certainty > class {
			continue
		}
		for changes := range out.changes + 1 {
			reach(n, changes, 0, &near)
		}
	}
	for hops := 0; len(near) > 0; hops++ {
		for len(near) > 0 {
			p := near[len(near)-1]
			near = near[:len(near)-1]
			if out.of(p.node, p.changes) < hops {
				continue
			}
			for _, a := range p.back {
				changes := p.changes + a.changes()
				switch {
				case a.class() > class || changes > out.changes:
				case a.cost() == 0:
					reach(a.to, changes, hops, &near)
				default:
					reach(a.to, changes, hops+1, &far)
				}
			}
		}
		near, far = far, near
	}
	return out
}

// changes returns how many documents an arc changes.
func (a arc) changes() int {
	if a.hop != nil && a.hop.change != nil {
		return 1
	}
	return 0
}

func (a arc) cost() int {
	if a.hop == nil {
		return 0
	}
	return 1
}

// inOrder returns the arcs of a node by edge, those of few requests first, then by names.
func (n *node) inOrder() []arc {
	if !n.sorted {
		n.sorted = true
		slices.SortStableFunc(n.arcs, compareArcs)
	}
	return n.arcs
}

func compareArcs(a, b arc) int {
	if order := strings.Compare(a.hop.key(), b.hop.key()); order != 0 {
		return order
	}
	return strings.Compare(a.to.name(), b.to.name())
}

// key orders the hops of a node.
func (h *hop) key() string {
	if h == nil {
		return ""
	}
	if h.order == "" {
		h.order = fmt.Sprintf("%s\x00%06d %s", h.edge, len(h.requests), h.text(&Identity{}))
	}
	return h.order
}

// first returns the first arc of a node, in order, that a condition accepts, with the one to the
// set that has it.
func (n *node) first(accepts func(arc) bool) (out []arc) {
	var best arc
	for _, a := range n.inOrder() {
		switch {
		case a.to.hasHops:
			if found := a.to.first(accepts); found != nil && (out == nil || compareArcs(found[0], best) < 0) {
				out, best = append([]arc{a}, found...), found[0]
			}
		case accepts(a) && (out == nil || compareArcs(a, best) < 0):
			out, best = []arc{a}, a
		}
	}
	return out
}

// name identifies what a node is among those that one hop leads to.
func (n *node) name() string {
	if n.identity == nil {
		return ""
	}
	return n.identity.key()
}

// route returns the first of the shortest routes from a node to a goal by the distances of a
// class.
func route(n *node, d *distances, class Class) (out []arc) {
	for changes := d.changes; d.of(n, changes) > 0 || n.identity == nil; {
		next := n.first(func(a arc) bool {
			return a.class() <= class && d.of(a.to, changes-a.changes()) == d.of(n, changes)-a.cost()
		})
		last := next[len(next)-1]
		out = append(out, next...)
		changes -= last.changes()
		n = last.to
	}
	return out
}

// walk is the beginning of a route, which may end at the goal.
type walk struct {
	arcs  []arc
	at    *node
	hops  int
	left  int // changes that may be made from there
	bound int // of the hops of all routes that begin with it
	worst Class
	order int // in which it was found
}

// walks is a heap of walks, the shortest first.
type walks []*walk

func (w walks) Len() int      { return len(w) }
func (w walks) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w walks) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(w[i].bound, w[j].bound), cmp.Compare(w[j].hops, w[i].hops), cmp.Compare(w[i].order, w[j].order)) < 0
}
func (w *walks) Push(x any) { *w = append(*w, x.(*walk)) }
func (w *walks) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// maxWalks bounds the walks that are looked at for one class of one pair.
const maxWalks = 100_000

// routes returns the most best routes from a node to a goal: by class, then by the number of
// hops. None visits a node twice. distances are those of each class. isCut states that there may be
// more, of which no more walks than a bound are looked at.
func routes(from *node, distances []*distances, most, maxHops, maxWalks int) (out []walk, isCut bool) {
	for class := range distances {
		if most == 1 {
			if distances[class].from(from) <= maxHops {
				return []walk{{arcs: route(from, distances[class], Class(class)), worst: Class(class)}}, false
			}
			continue
		}
		found, cut := routesOf(from, distances[class], Class(class), most-len(out), maxHops, maxWalks)
		out, isCut = append(out, found...), isCut || cut
		if len(out) >= most {
			break
		}
	}
	return out, isCut
}

// routesOf returns routes of exactly one class.
func routesOf(from *node, d *distances, class Class, most, maxHops, maxWalks int) (out []walk, isCut bool) {
	queue := &walks{{at: from, left: d.changes, bound: d.from(from)}}
	for looked := 0; queue.Len() > 0 && len(out) < most; looked++ {
		w := heap.Pop(queue).(*walk)
		if w.bound > maxHops {
			break
		}
		if looked == maxWalks {
			return out, true
		}
		if d.of(w.at, w.left) == 0 && w.at.identity != nil {
			if w.worst = max(w.worst, d.at[w.at]); w.worst == class {
				out = append(out, *w)
			}
			continue
		}
		for _, a := range w.at.inOrder() {
			left := d.of(a.to, w.left-a.changes())
			if a.class() > class || left == unreached || a.to == from || slices.ContainsFunc(w.arcs, func(b arc) bool { return b.to == a.to }) {
				continue
			}
			hops := w.hops + a.cost()
			heap.Push(queue, &walk{append(slices.Clip(w.arcs), a), a.to, hops, w.left - a.changes(), hops + left, max(w.worst, a.class()), looked})
		}
	}
	return out, false
}
