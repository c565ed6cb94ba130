package filter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// operator is the kind of an inner node, or leaf.
type operator uint8

const (
	constant operator = iota
	and
	or
	not
	leaf
)

// tree is a condition on a row. Trees are made by the functions of this file alone, which
// simplify by constants, and are not changed afterwards.
type tree struct {
	operator
	value bool // of a constant
	kids  []*tree
	*test // of a leaf
}

// testKind is what a leaf tests.
type testKind uint8

const (
	isIn       testKind = iota // the text of attr is one of values; "" stands for a missing one
	isLike                     // the text of attr matches glob
	isNumber                   // attr is one of numbers
	isBoolean                  // attr is value
	isMissing                  // attr has no value; not for texts
	isOfType                   // the value of attr in a JSON object is missing or of its type
	hasPair                    // the labels have the pair
	hasLabel                   // the labels have the key
	isUnknown                  // labels are not known
	listIsNull                 // the list is missing
	listIsStar                 // the list is ["*"]
	listHas                    // an element, which is not empty, fits each
	isOpaque                   // what no condition can say decides: the problem of glob
)

// test is a leaf.
type test struct {
	kind    testKind
	attr    attribute
	values  []string
	numbers []number
	glob    *pattern
	truth   bool // of isBoolean
	// fromGlob states that a pattern of a document became values of a boolean.
	fromGlob   *pattern
	key, label string // of labels
	each       *tree

	// column and second are set by bind: that of attr and of what is read where it is empty.
	// column is nil where the caller has mapped nothing.
	column, second *column
}

// pattern is a pattern of a document.
type pattern struct {
	pieces  []tables.Piece
	path    bool   // wildcards do not match a slash
	text    string // as written, for messages
	source  string // file:line of its rule
	problem string // the construct that no target can say; empty without one
	matches func(string) bool
}

// attribute is what a leaf reads.
type attribute struct {
	kind attributeKind
	key  string // of a field
	// identifier states that a field is read in place of the name or the namespace.
	identifier bool
	// or is read where this attribute is empty; nil without one.
	or *attribute
}

type attributeKind uint8

const (
	noAttribute attributeKind = iota
	nameAttribute
	namespaceAttribute
	fieldAttribute
	elementAttribute // an element of a list
	labelsAttribute
	namespaceLabelsAttribute
)

func (a attribute) String() string {
	switch a.kind {
	case nameAttribute:
		return "name"
	case namespaceAttribute:
		return "namespace"
	case fieldAttribute:
		return "fields." + a.key
	case labelsAttribute:
		return "labels"
	case namespaceLabelsAttribute:
		return "namespaceLabels"
	case elementAttribute:
		return "fields." + availableIn
	case noAttribute:
	}
	return ""
}

var (
	always = &tree{value: true}
	never  = &tree{}
)

func known(value bool) *tree {
	if value {
		return always
	}
	return never
}

func (t *tree) is(value bool) bool { return t.operator == constant && t.value == value }

func leafOf(l test) *tree { return &tree{operator: leaf, test: &l} }

func allOf(kids ...*tree) *tree { return join(and, kids) }
func anyOf(kids ...*tree) *tree { return join(or, kids) }

// join joins trees. One constant decides, the other one adds nothing; kids of the same
// operator are taken up, and lists of values of one attribute become one list.
func join(op operator, kids []*tree) *tree {
	decides := known(op == or)
	var out []*tree
	lists := make(map[attribute]int) // where the list of values of an attribute is
	merged := make(map[int]bool)     // of those, the ones that are of several leaves
	var add func(*tree) bool
	add = func(k *tree) bool {
		switch {
		case k.is(decides.value):
			return false
		case k.operator == constant:
			return true
		case k.operator == op:
			for _, kid := range k.kids {
				if !add(kid) {
					return false
				}
			}
			return true
		case op == or && k.operator == leaf && k.kind == isIn && k.attr.or == nil:
			if at, ok := lists[k.attr]; ok {
				if !merged[at] {
					own := *out[at].test
					own.values = slices.Clone(own.values)
					out[at], merged[at] = leafOf(own), true
				}
				out[at].values = append(out[at].values, k.values...)
				return true
			}
			lists[k.attr] = len(out)
		}
		out = append(out, k)
		return true
	}
	for _, k := range kids {
		if !add(k) {
			return decides
		}
	}
	for at := range merged {
		slices.Sort(out[at].values)
		out[at].values = slices.Compact(out[at].values)
	}
	switch len(out) {
	case 0:
		return known(op == and)
	case 1:
		return out[0]
	}
	return &tree{operator: op, kids: out}
}

func notOf(t *tree) *tree {
	switch t.operator {
	case constant:
		return known(!t.value)
	case not:
		return t.kids[0]
	case and, or, leaf:
	}
	return &tree{operator: not, kids: []*tree{t}}
}

// isOneOf is true if the attribute has one of some values; "" stands for a missing one.
func isOneOf(a attribute, values ...string) *tree {
	if len(values) == 0 {
		return never
	}
	values = slices.Clone(values)
	slices.Sort(values)
	return leafOf(test{kind: isIn, attr: a, values: slices.Compact(values)})
}

func isEmpty(a attribute) *tree { return isOneOf(a, "") }

// like is true if the value of an attribute, or "" for a missing one, matches a pattern.
func like(a attribute, p *pattern) *tree {
	literal := len(p.pieces) <= 1 && p.problem == ""
	for _, piece := range p.pieces {
		literal = literal && piece.Kind == tables.PieceText
	}
	switch {
	case literal && len(p.pieces) == 0:
		return isEmpty(a)
	case literal:
		return isOneOf(a, p.pieces[0].Text)
	case p.problem == "" && !p.path && len(p.pieces) == 1 && p.pieces[0].Kind == tables.PieceRun:
		return always
	}
	l := leafOf(test{kind: isLike, attr: a, glob: p})
	if p.problem == "" && p.matches("") {
		return anyOf(isEmpty(a), l)
	}
	return l
}

// pair is true if labels have a pair, or only its key if the value is nil.
func pair(labels attribute, key string, value *string) *tree {
	if value == nil {
		return leafOf(test{kind: hasLabel, attr: labels, key: key})
	}
	return leafOf(test{kind: hasPair, attr: labels, key: key, label: *value})
}

// replace returns the tree with each leaf replaced by what f returns for it; nil keeps it.
func (t *tree) replace(f func(*test) *tree) *tree {
	switch t.operator {
	case constant:
		return t
	case not:
		return notOf(t.kids[0].replace(f))
	case leaf:
		if t.kind == listHas {
			l := *t.test
			if l.each = t.each.replace(f); l.each.is(false) {
				return never
			}
			t = leafOf(l)
		}
		return cmp.Or(f(t.test), t)
	case and, or:
	}
	kids := make([]*tree, len(t.kids))
	for i, k := range t.kids {
		kids[i] = k.replace(f)
	}
	return join(t.operator, kids)
}

// walk calls f with each leaf.
func (t *tree) walk(f func(*test)) {
	switch t.operator {
	case leaf:
		if f(t.test); t.test.each != nil {
			t.test.each.walk(f)
		}
	case and, or, not:
		for _, k := range t.kids {
			k.walk(f)
		}
	case constant:
	}
}

// number is a literal of a document that a number can equal.
type number struct {
	text  string
	value any // an int64 or a float64
}

// runsOf returns the texts of a pattern between its runs, as many as it has runs and one.
func (p *pattern) runsOf() []string {
	out := []string{""}
	for _, piece := range p.pieces {
		if piece.Kind == tables.PieceRun {
			out = append(out, "")
		} else {
			out[len(out)-1] += piece.Text
		}
	}
	return out
}

// hasOne reports whether a wildcard stands for one character.
func (p *pattern) hasOne() bool {
	return slices.ContainsFunc(p.pieces, func(piece tables.Piece) bool { return piece.Kind == tables.PieceOne })
}

// slashes is how many slashes a value that a path pattern matches has.
func (p *pattern) slashes() int {
	n := 0
	for _, piece := range p.pieces {
		n += strings.Count(piece.Text, "/")
	}
	return n
}
