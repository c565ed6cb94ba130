package reach

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// unreached is the distance of a node from which a goal is not reached.
const unreached = 1 << 30

// distances returns, by the number of a node, how many hops of a class or better it takes to
// a goal.
func (g *graph) distances(at []*node, class Class) []int {
	out := make([]int, len(g.order))
	for i := range out {
		out[i] = unreached
	}
	queue := slices.Clone(at)
	for _, n := range at {
		out[n.number] = 0
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, a := range n.back {
			cost := a.cost()
			if a.class() > class || out[n.number]+cost >= out[a.to.number] {
				continue
			}
			if out[a.to.number] = out[n.number] + cost; cost == 0 {
				queue = slices.Insert(queue, 0, a.to)
			} else {
				queue = append(queue, a.to)
			}
		}
	}
	return out
}

func (a arc) cost() int {
	if a.hop == nil {
		return 0
	}
	return 1
}

// inOrder returns the arcs of a node by edge, then by names.
func (n *node) inOrder() []arc {
	if !n.sorted {
		n.sorted = true
		keys := make(map[*hop]string, len(n.arcs))
		for _, a := range n.arcs {
			if a.hop != nil {
				keys[a.hop] = a.hop.edge + "\x00" + a.hop.text(&Identity{})
			}
		}
		slices.SortStableFunc(n.arcs, func(a, b arc) int {
			return cmp.Or(strings.Compare(keys[a.hop], keys[b.hop]), strings.Compare(a.to.name(), b.to.name()))
		})
	}
	return n.arcs
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
func route(n *node, distances []int, class Class) (out []arc) {
	for distances[n.number] > 0 || n.identity == nil {
		arcs := n.inOrder()
		i := slices.IndexFunc(arcs, func(a arc) bool {
			return a.class() <= class && distances[a.to.number] == distances[n.number]-a.cost()
		})
		out = append(out, arcs[i])
		n = arcs[i].to
	}
	return out
}

// walk is the beginning of a route, which may end at the goal.
type walk struct {
	arcs  []arc
	at    *node
	hops  int
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
// hops. None visits a node twice. distances are those of each class.
func routes(from *node, distances [][]int, most, maxHops int) (out []walk) {
	for class := range distances {
		if most == 1 {
			if d := distances[class][from.number]; d <= maxHops {
				return []walk{{arcs: route(from, distances[class], Class(class)), worst: Class(class)}}
			}
			continue
		}
		out = append(out, routesOf(from, distances[class], Class(class), most-len(out), maxHops)...)
		if len(out) >= most {
			break
		}
	}
	return out
}

// routesOf returns routes of exactly one class.
func routesOf(from *node, distances []int, class Class, most, maxHops int) (out []walk) {
	queue := &walks{{at: from, bound: distances[from.number]}}
	for looked := 0; queue.Len() > 0 && len(out) < most && looked < maxWalks; looked++ {
		w := heap.Pop(queue).(*walk)
		if w.bound > maxHops {
			break
		}
		if distances[w.at.number] == 0 && w.at.identity != nil {
			if w.worst == class {
				out = append(out, *w)
			}
			continue
		}
		for _, a := range w.at.inOrder() {
			left := distances[a.to.number]
			if a.class() > class || left == unreached || a.to == from || slices.ContainsFunc(w.arcs, func(b arc) bool { return b.to == a.to }) {
				continue
			}
			hops := w.hops + a.cost()
			heap.Push(queue, &walk{append(slices.Clip(w.arcs), a), a.to, hops, hops + left, max(w.worst, a.class()), looked})
		}
	}
	return out
}
