package gateway

import (
	"github.com/writ-policy/writ/translator/gateway/document"
)

// routeCycles finds the routes that are, through parentRefs to routes, their own
// parents. Two such routes that reach each other are in one cycle.
type routeCycles struct {
	byName   map[[3]string]int // index of a route by kind, namespace and name
	routes   []*document.Route
	cycle    []int // by route; routes of one cycle share a number, alone ones have their own
	reported map[int]bool
	// For the walk: when a route was met, the earliest it reaches, and the routes
	// whose cycle is open.
	met, low []int
	open     []int
	isOpen   []bool
	clock    int
}

func newRouteCycles(routes []*document.Route) *routeCycles {
	n := len(routes)
	r := &routeCycles{
		byName: make(map[[3]string]int, n), routes: routes, cycle: make([]int, n), reported: make(map[int]bool),
		met: make([]int, n), low: make([]int, n), isOpen: make([]bool, n),
	}
	for i, d := range routes {
		r.byName[[3]string{d.Kind, d.Namespace, d.Name}] = i
	}
	for i := range routes {
		if r.met[i] == 0 {
			r.walk(i)
		}
	}
	return r
}

// walk is Tarjan's search for strongly connected components.
func (r *routeCycles) walk(i int) {
	r.clock++
	r.met[i], r.low[i] = r.clock, r.clock
	r.open, r.isOpen[i] = append(r.open, i), true
	for k := range r.routes[i].Parents {
		j, ok := r.target(&r.routes[i].Parents[k])
		switch {
		case !ok:
		case r.met[j] == 0:
			r.walk(j)
			r.low[i] = min(r.low[i], r.low[j])
		case r.isOpen[j]:
			r.low[i] = min(r.low[i], r.met[j])
		}
	}
	for r.low[i] == r.met[i] {
		last := r.open[len(r.open)-1]
		r.open, r.isOpen[last] = r.open[:len(r.open)-1], false
		r.cycle[last] = i
		if last == i {
			return
		}
	}
}

// target is the route that a parentRef names.
func (r *routeCycles) target(p *document.ParentRef) (int, bool) {
	i, ok := r.byName[[3]string{p.Kind.Value, p.Namespace.Value, p.Name.Value}]
	return i, ok
}

// cycleOf returns the cycle that a parentRef is part of, as names in the order of
// positions, and whether the cycle is asked for the first time. It returns nil if the
// parentRef is not part of one.
func (r *routeCycles) cycleOf(d *document.Route, p *document.ParentRef) (names []string, first bool) {
	to, ok := r.target(p)
	from := r.byName[[3]string{d.Kind, d.Namespace, d.Name}]
	if !ok || r.cycle[from] != r.cycle[to] {
		return nil, false
	}
	cycle := r.cycle[from]
	if r.reported[cycle] {
		return []string{}, false
	}
	r.reported[cycle] = true
	const shown = 10 // a cycle can have thousands
	for i, route := range r.routes {
		if r.cycle[i] == cycle && len(names) < shown {
			names = append(names, route.Namespace+"/"+route.Name)
		}
	}
	return names, true
}
