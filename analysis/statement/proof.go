package statement

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Proof is why a search finds no request: a tree that splits the requests by the values of
// keys. A node without Split is a leaf.
type Proof struct {
	Split    string
	Branches []Branch
	// By is the statement that decides a leaf: the requests of the leaf do not fit it, or if
	// Fits is set, all of them do. It is nil if no such request exists.
	By   *Statement
	Fits bool
	// IsPartial states that values of requests which no key has tell leaves apart: labels,
	// fields and the like. The tree shows one of them.
	IsPartial bool
}

// Branch is the requests of a node that have one of some values, or a value that fits all
// patterns and prefixes, and that no branch before it has.
type Branch struct {
	Values []string
	Like   []string // patterns as documents write them
	Prefix []string
	Rest   bool // all that no branch before it has
	Node   *Proof
}

// level records the values of one stage that a search tries.
type level struct {
	tried []tried
	nodes []*Proof // of the options
}

type tried struct {
	r    Request
	o    option
	leaf *Proof // nil for a value that an option stands for
}

// record adds a value. It does nothing if nothing is recorded.
func (l *level) record(r *Request, o option, ok bool) {
	switch {
	case l == nil:
	case ok:
		l.tried = append(l.tried, tried{r: *r, o: o})
	default:
		l.tried = append(l.tried, tried{r: *r, leaf: &Proof{By: o.by, Fits: o.fits}})
	}
}

// proof returns the tree of a stage, of which no option leads to a request.
func (s *Search) proof(at stage, l *level, options []option) *Proof {
	var of []valued
	for _, t := range l.tried {
		node := t.leaf
		if node == nil {
			node = l.nodes[slices.IndexFunc(options, func(o option) bool { return o.dominates(&t.o) })]
		}
		of = append(of, valued{t.r.Texts(), node})
	}
	if len(of) == 0 {
		return &Proof{}
	}
	return s.Values.split(keysOf(at), of)
}

// keysOf returns the keys of requests that a stage chooses.
func keysOf(at stage) (keys []string) {
	for _, member := range textMembers {
		if member.stage == at {
			keys = append(keys, member.name)
		}
	}
	return keys
}

// valued is the values of a request by key, and the proof that no request has them.
type valued struct {
	texts map[string]*string
	node  *Proof
}

// split returns a tree that tells values apart, by the first of some keys first.
func (v *Values) split(keys []string, of []valued) *Proof {
	first := of[0].node
	if !slices.ContainsFunc(of, func(o valued) bool { return !first.equals(o.node) }) {
		return first
	}
	if len(keys) == 0 {
		out := *first
		out.IsPartial = true
		return &out
	}
	var branches []Branch
	groups := make(map[string][]valued)
	for _, o := range of {
		b := v.branch(keys[0], *o.texts[keys[0]])
		id := JSONText(b)
		if groups[id] == nil {
			branches = append(branches, b)
		}
		groups[id] = append(groups[id], o)
	}
	for i, b := range branches {
		group := groups[JSONText(b)]
		if len(b.Values) == 0 && len(keys) == 1 {
			group = group[:1] // either of two values stands for all of the branch
		}
		branches[i].Node = v.split(keys[1:], group)
	}
	if len(branches) == 1 {
		return branches[0].Node
	}
	return &Proof{Split: keys[0], Branches: inOrderOfBranches(branches)}
}

// inOrderOfBranches returns values before patterns, and of these the narrowest first, so that
// each value belongs to the branch that it was tried for.
func inOrderOfBranches(list []Branch) []Branch {
	var out []Branch
	for _, b := range list {
		at := slices.IndexFunc(out, func(o Branch) bool { return len(o.Values) > 0 && o.Node.equals(b.Node) })
		if len(b.Values) > 0 && at >= 0 {
			out[at].Values = append(out[at].Values, b.Values...)
			continue
		}
		out = append(out, b)
	}
	width := func(b Branch) int {
		if len(b.Values) > 0 {
			return -1 << 20
		}
		return -len(b.Like) - len(b.Prefix)
	}
	slices.SortStableFunc(out, func(x, y Branch) int { return cmp.Compare(width(x), width(y)) })
	if !out[len(out)-1].Rest { // no other value is valid
		out = append(out, Branch{Rest: true, Node: &Proof{}})
	}
	return out
}

// branch returns the branch for a value of a key: the value alone if a statement names it, or
// all values that patterns fit as they fit this one.
func (v *Values) branch(key, value string) Branch {
	l := v.list(key)
	if value != l.other && !l.folded[value] && !l.isSample[value] {
		return Branch{Values: []string{value}}
	}
	var b Branch
	if l.folded[value] {
		b.Like = append(b.Like, anyCase(value))
	}
	for _, expression := range l.Patterns {
		if fits, err := regexp.MatchString(expression, value); err != nil || !fits {
			continue
		}
		if text, isWhole := tables.PatternOf(expression); isWhole {
			b.Like = append(b.Like, text)
		} else {
			b.Prefix = append(b.Prefix, text)
		}
	}
	if key == "path" && len(l.Patterns) == 0 {
		for _, prefix := range v.prefixes {
			if strings.HasPrefix(value, prefix) {
				b.Prefix = append(b.Prefix, prefix)
			}
		}
	}
	b.Like, b.Prefix = tables.Entries(b.Like), tables.Entries(b.Prefix)
	b.Rest = len(b.Like)+len(b.Prefix) == 0
	return b
}

// anyCase returns a pattern for a word in any case.
func anyCase(word string) string {
	var out strings.Builder
	for _, r := range word {
		if all := spellings(r); len(all) > 1 {
			out.WriteString("[" + string(all) + "]")
		} else {
			out.WriteString(tables.EscapePathGlob(string(r)))
		}
	}
	return out.String()
}

// equals reports whether two trees are the same.
func (p *Proof) equals(o *Proof) bool {
	if p == o {
		return true
	}
	return p.Split == o.Split && p.By == o.By && p.Fits == o.Fits && p.IsPartial == o.IsPartial && slices.EqualFunc(p.Branches, o.Branches, func(a, b Branch) bool {
		return a.Rest == b.Rest && slices.Equal(a.Values, b.Values) && slices.Equal(a.Like, b.Like) && slices.Equal(a.Prefix, b.Prefix) && a.Node.equals(b.Node)
	})
}
