package reach

import (
	"context"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/internal/progress"
)

// fewWorlds is up to how many worlds the paths of no subject are looked at before all hops are known.
const fewWorlds = 16

// explore finds what can be reached from the subjects, one hop after another, so that a subject is
// left out once its paths are known: other ones have more hops.
func (s *search) explore(ctx context.Context) error {
	if len(s.lent) > 0 || s.o.Paths > 1 { // who approves a session may be many hops away
		if err := s.exploreAll(ctx); err != nil {
			return err
		}
		s.connect()
		return nil
	}
	open, worlds := s.starts, s.few
	for hops := 0; hops < s.o.MaxHops && len(open) > 0; hops++ {
		if err := s.exploreWithin(ctx, open, hops); err != nil {
			return err
		}
		s.connect()
		if len(s.worlds) > worlds {
			worlds = len(s.worlds)
			open = s.open(open, hops+1)
		}
	}
	return nil
}

// exploreAll finds everything that can be reached.
func (s *search) exploreAll(ctx context.Context) error {
	for i := 0; i < len(s.order) || s.hasMore(); i++ {
		if err := s.leave(ctx, s.order[i]); err != nil {
			return err
		}
	}
	return nil
}

// exploreWithin leaves all nodes that some subjects reach in so many hops.
func (s *search) exploreWithin(ctx context.Context, from []start, hops int) error {
	seen := make(map[*node]bool)
	var near, far []*node
	for _, start := range from {
		near = append(near, start.node)
	}
	for ; len(near) > 0; hops-- {
		for len(near) > 0 {
			n := near[len(near)-1]
			near = near[:len(near)-1]
			if seen[n] {
				continue
			}
			seen[n] = true
			if err := s.leave(ctx, n); err != nil {
				return err
			}
			for _, a := range n.arcs {
				switch {
				case a.cost() == 0:
					near = append(near, a.to)
				case hops > 0:
					far = append(far, a.to)
				}
			}
		}
		near, far = far, nil
	}
	return nil
}

// leave finds the hops of a node, unless they are known, or the node is at each goal.
func (s *search) leave(ctx context.Context, n *node) error {
	if n.identity == nil || n.expanded || n.identity.sink {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(s.order) > s.o.MaxIdentities {
		return ErrTooManyIdentities
	}
	n.expanded = true
	progress.FromContext(ctx).Count(1, "identities")
	if s.isAtAll(n) || s.reused(n) {
		return nil
	}
	if err := s.expand(ctx, n); err != nil {
		return fmt.Errorf("%s: %w", n.identity.text(), err)
	}
	return nil
}

// connect adds to all nodes the arcs that lead to them.
func (g *graph) connect() {
	for _, n := range g.order {
		n.back = nil
	}
	for _, n := range g.order {
		for _, a := range n.arcs {
			a.to.back = append(a.to.back, arc{a.hop, n})
		}
	}
}

// open returns the subjects that may have a better path than those of so many hops: some goal is
// not reached with certainty by so few.
func (s *search) open(from []start, hops int) []start {
	isOpen := make([]bool, len(from))
	for i := range s.goals {
		at := s.nodesAt(i, Certain)
		if len(at) == 0 {
			return from
		}
		known := s.distances(at, Certain)
		for k, start := range from {
			isOpen[k] = isOpen[k] || known.from(start.node) > hops
		}
		if !slices.Contains(isOpen, false) {
			return from
		}
	}
	var out []start
	for k, start := range from {
		if isOpen[k] {
			out = append(out, start)
		}
	}
	return out
}
