package filter

import (
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// The largest class of a pattern that becomes alternatives, and how many there may be.
const (
	maxClass    = 64
	maxVariants = 256
)

// Asked is a request at the point access of which some members are open.
type Asked struct {
	Request *statement.Request
	Open    statement.Open
	// HasPod states that the request has a pod.
	HasPod bool
	// Holds reports whether a statement holds that an expression or an extension decides;
	// known is false if that depends on what is open. Nil knows none.
	Holds func(*statement.Statement) (holds, known bool)
}

// Allowed returns the condition that a request is allowed, and the statements that it is
// made of, in the order of evaluation. list has the statements of the principals of the
// request, and those of deny policies.
func Allowed(list []*statement.Statement, a Asked) (Condition, []*statement.Statement) {
	var all parts
	var used []*statement.Statement
	for _, s := range list {
		if t := a.fits(s); !t.is(false) {
			all.add(s, t)
			used = append(used, s)
		}
	}
	c := Condition{tree: all.allowed()}
	if !a.Open.Namespace {
		c.namespace = a.Request.Namespace
	}
	return c, used
}

// fits is the condition that a statement fits.
func (a Asked) fits(s *statement.Statement) *tree {
	rest, isExact, ok := s.Rest(a.Request, a.Open)
	if !ok {
		return never
	}
	source := s.Documents[0].Source
	t := allOf(a.place(&rest), a.namespaces(rest.Namespaces, source), a.names(&rest, source), a.object(&rest), pods(rest.Pods))
	switch {
	case s.ReadsPod() && a.HasPod:
		t = allOf(t, unsaid(podConstruct, source))
	case s.ReadsPod():
		t = allOf(t, known(!s.PodSecurity().FailOpen))
	case !isExact:
		t = allOf(t, unsaid(opaque, source))
	case s.IsOpaque():
		return a.settle(s, a.close(t), source)
	}
	return a.close(t)
}

// settle adds what an expression or an extension decides to a condition: a constant if what
// is open does not matter to it.
func (a Asked) settle(s *statement.Statement, t *tree, source string) *tree {
	if t.is(false) || a.Holds == nil {
		return allOf(t, unsaid(opaque, source))
	}
	if holds, isKnown := a.Holds(s); isKnown {
		return allOf(t, known(holds))
	}
	return allOf(t, unsaid(opaque, source))
}

// unsaid is what no condition can say.
func unsaid(construct, source string) *tree {
	return leafOf(test{kind: isOpaque, glob: &pattern{problem: construct, source: source}})
}

func (a Asked) place(rest *statement.Rest) *tree {
	if rest.Namespace == "" {
		return always
	}
	return isOneOf(itemNamespace, rest.Namespace)
}

// pods is true for one of some pods, and for every object if the list is empty.
func pods(list []tables.PodName) *tree {
	if len(list) == 0 {
		return always
	}
	var kids []*tree
	for _, p := range list {
		kids = append(kids, allOf(isOneOf(itemNamespace, p.Namespace), isOneOf(itemName, p.Name)))
	}
	return anyOf(kids...)
}

func (a Asked) names(rest *statement.Rest, source string) *tree {
	named := always
	if len(rest.Names) > 0 {
		named = isOneOf(itemName, rest.Names...)
	}
	p := rest.Patterns
	if p == nil {
		return named
	}
	globs := always
	if len(p.Globs) > 0 {
		globs = anyGlob(itemName, p.Globs, source)
	}
	return allOf(named, anyOf(allOf(isEmpty(itemName), known(p.NoName)), allOf(notOf(isEmpty(itemName)), globs)))
}

// anyGlob is true if a pattern matches.
func anyGlob(a attribute, globs []tables.PathGlob, source string) *tree {
	var kids []*tree
	for _, g := range globs {
		if g.MatchesAll() {
			return always
		}
		text := statement.GlobTexts([]tables.PathGlob{g})[0]
		variants, ok := g.Variants(maxClass, maxVariants)
		if !ok {
			kids = append(kids, leafOf(test{kind: isLike, attr: a, glob: &pattern{path: true, text: text, source: source, problem: globClass, matches: g.Match}}))
		}
		for _, pieces := range variants {
			p := &pattern{pieces: pieces, path: true, text: text, source: source, matches: g.Match}
			if len(variants) > 1 {
				p.matches = func(value string) bool { return matchesPieces(pieces, value) }
			}
			kids = append(kids, like(a, p))
		}
	}
	return anyOf(kids...)
}

// matchesPieces reports whether pieces of a path pattern match a value.
func matchesPieces(pieces []tables.Piece, value string) bool {
	var text string
	for _, p := range pieces {
		if text += pieceText(p); p.Kind == tables.PieceText {
			text = text[:len(text)-len(p.Text)] + tables.EscapePathGlob(p.Text)
		}
	}
	g, _, _ := tables.ParsePathGlob(text)
	return g.Match(value)
}

// namespaces is the condition of a deny policy on the namespace. Unknown labels fit.
func (a Asked) namespaces(f *tables.NamespaceFilter, source string) *tree {
	if f == nil {
		return always
	}
	labels := attribute{kind: namespaceLabelsAttribute}
	in := never
	if len(f.Terms) > 0 {
		in = leafOf(test{kind: isUnknown, attr: labels})
	}
	for _, term := range f.Terms {
		fits := always
		for _, q := range term {
			fits = allOf(fits, requirement(labels, q))
		}
		in = anyOf(in, fits)
	}
	if len(f.Patterns) > 0 {
		in = anyOf(anyGlob(itemNamespace, f.Patterns, source), in)
	}
	nowhere := len(f.Patterns) > 0 && slices.ContainsFunc(f.Patterns, func(g tables.PathGlob) bool { return g.Match("") })
	return anyOf(allOf(isEmpty(itemNamespace), known(nowhere)), allOf(notOf(isEmpty(itemNamespace)), in))
}

func requirement(labels attribute, q tables.LabelRequirement) *tree {
	one := never
	for _, v := range q.Values {
		one = anyOf(one, pair(labels, q.Key, &v))
	}
	switch q.Operator {
	case tables.In:
		return one
	case tables.NotIn:
		return notOf(one)
	case tables.Exists:
		return pair(labels, q.Key, nil)
	default: // DoesNotExist
		return notOf(pair(labels, q.Key, nil))
	}
}

// object is the condition on the labels and the fields of the object.
func (a Asked) object(rest *statement.Rest) *tree {
	out := always
	for _, e := range rest.Fields {
		of := itemName
		if e.Key == "metadata.namespace" {
			of = itemNamespace
		}
		out = allOf(out, anyOf(isOneOf(of, *e.Value), allOf(known(rest.OrNone), isEmpty(of))))
	}
	if len(rest.Labels) == 0 {
		return out
	}
	unknown, pairs := leafOf(test{kind: isUnknown, attr: itemLabels}), always
	for _, e := range rest.Labels {
		pairs = allOf(pairs, pair(itemLabels, e.Key, e.Value))
	}
	return allOf(out, anyOf(allOf(unknown, known(rest.Unlabeled)), allOf(notOf(unknown), pairs)))
}

// close replaces what is not open by its value.
func (a Asked) close(t *tree) *tree {
	if !a.Open.Name {
		t = narrow(t, itemName, a.Request.Name)
	}
	if !a.Open.Namespace {
		t = narrow(t, itemNamespace, a.Request.Namespace)
	}
	if !a.Open.NamespaceLabels {
		t = t.replace(func(l *test) *tree {
			labels := a.Request.NamespaceLabels
			if l.attr.kind != namespaceLabelsAttribute {
				return nil
			}
			value, ok := labels[l.key]
			switch l.kind {
			case isUnknown:
				return known(labels == nil)
			case hasPair:
				return known(ok && value == l.label)
			default:
				return known(ok)
			}
		})
	}
	return t
}
