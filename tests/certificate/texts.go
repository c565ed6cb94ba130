package certificate

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// automaton is the automaton of a condition and, if it has texts alone, these.
type automaton struct {
	*syntax.Prog
	texts  []string
	points []rune // one character of each kind that it tells apart
}

var automata = make(map[string]*automaton)

func automatonOf(c condition) *automaton {
	id := strings.Join(c.any, "|")
	if automata[id] != nil {
		return automata[id]
	}
	a := new(automaton)
	for _, text := range c.any {
		if prefix, isAll := regexp.MustCompile(text).LiteralPrefix(); isAll {
			a.texts = append(a.texts, prefix)
		}
	}
	if len(a.texts) < len(c.any) {
		a.texts = nil
	}
	parsed, _ := syntax.Parse("(?s:[^\\x00-\\x{10FFFF}]|"+id+")", syntax.Perl)
	a.Prog, _ = syntax.Compile(parsed.Simplify())
	for _, in := range a.Inst {
		for _, c := range in.Rune {
			a.points = append(a.points, max(c-1, 0), c, c+1)
		}
	}
	automata[id] = a
	return a
}

func (a *automaton) step(set []uint32, c rune) (next []uint32) {
	for _, pc := range set {
		if in := &a.Inst[pc]; in.Op != syntax.InstMatch && in.MatchRune(c) {
			next = closed(a.Prog, next, in.Out)
		}
	}
	slices.Sort(next)
	return next
}

// hasNoText reports whether no text meets all conditions: it tries the texts of a condition, or
// follows all automata at once.
func hasNoText(conditions []condition) bool {
	all, start := make([]*automaton, len(conditions)), make([][]uint32, len(conditions))
	points := []rune{'\u2603'}
	var texts []string
	for i, c := range conditions {
		all[i] = automatonOf(c)
		start[i] = closed(all[i].Prog, nil, uint32(all[i].Start))
		points = append(points, all[i].points...)
		if !c.not && all[i].texts != nil {
			texts = all[i].texts
		}
	}
	meets := func(state [][]uint32) bool {
		for i, c := range conditions {
			if c.not == slices.ContainsFunc(state[i], func(pc uint32) bool { return all[i].Inst[pc].Op == syntax.InstMatch }) {
				return false
			}
		}
		return true
	}
	step := func(state [][]uint32, c rune) [][]uint32 {
		next := make([][]uint32, len(all))
		for i, a := range all {
			next[i] = a.step(state[i], c)
		}
		return next
	}
	for _, text := range texts {
		state := start
		for _, c := range text {
			state = step(state, c)
		}
		if meets(state) {
			return false
		}
	}
	if texts != nil {
		return true
	}
	slices.Sort(points)
	points = slices.Compact(points)
	seen := map[string]bool{fmt.Sprint(start): true}
	for queue := [][][]uint32{start}; len(queue) > 0; queue = queue[1:] {
		if meets(queue[0]) {
			return false
		}
		for _, c := range points {
			next := step(queue[0], c)
			if id := fmt.Sprint(next); !seen[id] {
				seen[id], queue = true, append(queue, next)
			}
		}
	}
	return true
}

// closed adds an instruction and those that follow it without a character.
func closed(p *syntax.Prog, set []uint32, pc uint32) []uint32 {
	switch in := &p.Inst[pc]; {
	case slices.Contains(set, pc) || in.Op == syntax.InstFail:
		return set
	case in.Op == syntax.InstAlt || in.Op == syntax.InstAltMatch:
		return closed(p, closed(p, set, in.Out), in.Arg)
	case in.Op == syntax.InstCapture || in.Op == syntax.InstNop || in.Op == syntax.InstEmptyWidth:
		return closed(p, set, in.Out)
	}
	return append(set, pc)
}
