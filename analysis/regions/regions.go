// Package regions finds values that regular expressions tell apart. Expressions come in;
// one value for each region goes out: the values that the same expressions match.
package regions

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// automaton is a regular expression that reads a value rune by rune.
type automaton struct {
	prog *syntax.Prog
	// anchored is true if a match begins at the first rune.
	anchored bool
}

func newAutomaton(prog *syntax.Prog) automaton {
	a := automaton{prog: prog}
	next, matched := a.closure(nil, syntax.EmptyEndText)
	a.anchored = len(next) == 0 && !matched
	return a
}

// maxStates bounds the search for the regions of patterns.
const maxStates = 20000

// maxKept bounds the regions that are kept: proposals may bring patterns without end.
const maxKept = 1000

// kept are the regions of joined expressions; all go when there are too many.
var kept struct {
	mu      sync.Mutex
	regions map[string]foundRegions
}

// Of returns one value for each set of expressions that match it while the others
// do not. It returns false if the search was cut or an expression cannot be read: then
// regions may be missing. The values are shared and must not be modified.
func Of(expressions []string) ([]string, bool) {
	expressions = slices.Clone(expressions)
	slices.Sort(expressions)
	expressions = slices.Compact(expressions)
	key := strings.Join(expressions, "\x00")
	kept.mu.Lock()
	found, isKept := kept.regions[key]
	kept.mu.Unlock()
	if isKept {
		return found.values, found.complete
	}
	var automata []automaton
	complete := true
	for _, e := range expressions {
		parsed, err := syntax.Parse(e, syntax.Perl)
		if err != nil {
			complete = false
			continue
		}
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil || readsNeighbours(prog) {
			complete = false
			continue
		}
		automata = append(automata, newAutomaton(prog))
	}
	values, whole := walk(automata)
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.regions == nil || len(kept.regions) == maxKept {
		kept.regions = make(map[string]foundRegions)
	}
	kept.regions[key] = foundRegions{values, complete && whole}
	return values, complete && whole
}

type foundRegions struct {
	values   []string
	complete bool
}

// readsNeighbours reports whether an expression asks which runes are beside a place: for bounds
// of words and of lines.
func readsNeighbours(p *syntax.Prog) bool {
	const neighbours = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary | syntax.EmptyBeginLine | syntax.EmptyEndLine
	return slices.ContainsFunc(p.Inst, func(i syntax.Inst) bool {
		return i.Op == syntax.InstEmptyWidth && syntax.EmptyOp(i.Arg)&neighbours != 0
	})
}

// position is a state of all automata after a value. An expression matches anywhere in a
// value unless it is anchored.
type position struct {
	value  string
	states []state // of the automata that may match the value or a longer one, in their order
}

// state is the instructions that an automaton may execute next, and whether it has matched.
type state struct {
	automaton int
	next      []uint32
	done      bool
}

func walk(automata []automaton) ([]string, bool) {
	start := position{states: make([]state, len(automata))}
	for i := range automata {
		start.states[i].automaton = i
	}
	runes := alphabet(automata)
	seen, signatures := make(map[string]bool), make(map[string]bool)
	var found []string
	queue := []position{start}
	for i := 0; i < len(queue); i++ {
		if i > maxStates {
			return found, false
		}
		at := queue[i]
		if s := at.signature(automata); !signatures[s] {
			signatures[s] = true
			found = append(found, at.value)
		}
		ready := at.ready(automata)
		for _, c := range runes {
			to := position{value: at.value + string(c), states: step(automata, ready, c)}
			if key := to.key(); !seen[key] {
				seen[key] = true
				queue = append(queue, to)
			}
		}
	}
	return found, true
}

func (p *position) key() string {
	out := make([]byte, 0, 8*len(p.states)+1)
	for i := range p.states {
		s := &p.states[i]
		out = binary.AppendUvarint(out, uint64(s.automaton))
		if s.done {
			out = append(out, 1)
			continue
		}
		for _, pc := range s.next {
			out = binary.AppendUvarint(out, uint64(pc)+2)
		}
		out = append(out, 0)
	}
	if p.value == "" {
		out = append(out, 2)
	}
	return string(out)
}

func (p *position) flags() syntax.EmptyOp {
	if p.value == "" {
		return syntax.EmptyBeginText
	}
	return 0
}

// signature identifies the expressions that match the value as it is.
func (p *position) signature(automata []automaton) string {
	var out []byte
	for i := range p.states {
		s := &p.states[i]
		matched := s.done
		if !matched {
			_, matched = automata[s.automaton].closure(s.next, p.flags()|syntax.EmptyEndText)
		}
		if matched {
			out = binary.AppendUvarint(out, uint64(s.automaton))
		}
	}
	return string(out)
}

// ready returns the states before a rune: their instructions read one.
func (p *position) ready(automata []automaton) []state {
	out := make([]state, 0, len(p.states))
	for _, s := range p.states {
		if !s.done {
			s.next, s.done = automata[s.automaton].closure(s.next, p.flags())
		}
		if s.done || len(s.next) > 0 || !automata[s.automaton].anchored {
			out = append(out, s)
		}
	}
	return out
}

// step returns the states after a rune.
func step(automata []automaton, ready []state, c rune) []state {
	out := make([]state, 0, len(ready))
	for _, s := range ready {
		a := &automata[s.automaton]
		to := state{automaton: s.automaton, done: s.done}
		for _, pc := range s.next {
			if inst := &a.prog.Inst[pc]; !s.done && inst.MatchRune(c) {
				to.next = append(to.next, inst.Out)
			}
		}
		if slices.Sort(to.next); len(to.next) > 0 || to.done || !a.anchored {
			to.next = slices.Compact(to.next)
			out = append(out, to)
		}
	}
	return out
}

// closure returns the rune instructions that are reachable, and whether the end is. A
// match may begin anywhere.
func (a automaton) closure(from []uint32, flags syntax.EmptyOp) (ready []uint32, matched bool) {
	seen := make([]bool, len(a.prog.Inst))
	var visit func(pc uint32)
	visit = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch inst := &a.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(inst.Out)
			visit(inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			visit(inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags == 0 {
				visit(inst.Out)
			}
		case syntax.InstMatch:
			matched = true
		case syntax.InstFail:
		default:
			ready = append(ready, pc)
		}
	}
	for _, pc := range from {
		visit(pc)
	}
	visit(uint32(a.prog.Start))
	return ready, matched
}

// alphabet returns a rune for each set of runes that the expressions do not tell apart.
func alphabet(automata []automaton) []rune {
	cuts := []rune{0, '-', '/', '0', '9' + 1, 'a', 'z' + 1, '\n', '\n' + 1}
	for _, a := range automata {
		for i := range a.prog.Inst {
			inst := &a.prog.Inst[i]
			if inst.Op != syntax.InstRune && inst.Op != syntax.InstRune1 {
				continue
			}
			for _, r := range inst.Rune {
				cuts = append(cuts, r, r+1)
			}
			if len(inst.Rune) == 1 && syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
				for r := unicode.SimpleFold(inst.Rune[0]); r != inst.Rune[0]; r = unicode.SimpleFold(r) {
					cuts = append(cuts, r, r+1)
				}
			}
		}
	}
	slices.Sort(cuts)
	cuts = append(slices.Compact(cuts), unicode.MaxRune+1)
	var out []rune
	for i, lo := range cuts[:len(cuts)-1] {
		hi := cuts[i+1] - 1
		if c := niceRune(lo, hi); c >= 0 {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b rune) int { return ugliness(a) - ugliness(b) })
	return out
}

// niceRune returns a rune of a range that prints, or else the first one; -1 for a range
// without any.
func niceRune(lo, hi rune) rune {
	for _, c := range "x1-eu/" {
		if lo <= c && c <= hi {
			return c
		}
	}
	for _, unprintable := range [][2]rune{{0, 0x1f}, {0x7f, 0x9f}, {0xd800, 0xdfff}} {
		if after := unprintable[1] + 1; lo >= unprintable[0] && lo < after && hi >= after && lo != '\n' {
			return after
		}
	}
	if lo > hi || !utf8.ValidRune(lo) {
		return -1
	}
	return lo
}

func ugliness(c rune) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 0
	case c >= '0' && c <= '9', c == '-':
		return 1
	case c > 0x20 && c < 0x7f:
		return 2
	}
	return 3
}
