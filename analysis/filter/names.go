package filter

import (
	"reflect"
	"regexp"
	"slices"

	"github.com/writ-policy/writ/analysis/regions"
)

// Names are the names for which requests are allowed in a place. The zero value is empty.
type Names struct {
	IsAny bool     // every name, and none
	List  []string // exactly these, sorted; nil if another member says it
	names *tree    // the condition on the name where it is neither; nil otherwise
}

// IsEmpty reports whether no request is allowed.
func (n *Names) IsEmpty() bool { return !n.IsAny && n.List == nil && n.names == nil }

// UCAST returns the condition on the name, where neither IsAny nor List has it. The error is
// an *UntranslatableError.
func (n *Names) UCAST() (*Node, error) { return residualOf(n.names) }

// residualOf prints a condition on the name or the namespace.
func residualOf(t *tree) (*Node, error) {
	columns, _ := ParseColumns(nil)
	return printUCAST(bind(t, columns), "ucast+all", "all")
}

// opaqueIn returns the error for what no condition can say in a tree, nil for nothing.
func opaqueIn(t *tree) error {
	refused := refusals{target: "a list"}
	t.walk(func(l *test) {
		if l.kind == isOpaque {
			refused.check(l)
		}
	})
	return refused.err()
}

// namesOf finds the names for which a condition on the name alone holds.
func namesOf(t *tree) (Names, error) {
	switch {
	case t.is(true):
		return Names{IsAny: true}, nil
	case t.is(false):
		return Names{}, nil
	}
	if err := opaqueIn(t); err != nil {
		return Names{}, err
	}
	holds := func(name string) bool { return narrow(t, itemName, name).is(true) }
	if found, bounded := valuesOf(t, itemName); bounded {
		var list []string
		for name := range found {
			if holds(name) {
				list = append(list, name)
			}
		}
		if slices.Sort(list); len(list) == 0 || list[0] != "" {
			return Names{List: list}, nil
		}
	}
	if fits, isWhole := anyName(t, holds); fits || !isWhole {
		return Names{names: t}, nil
	}
	return Names{}, nil
}

// otherName is a name that documents hardly have.
const otherName = "writ.other-0"

// anyName reports whether a condition holds for some name; isWhole is false if not all kinds
// of names could be tried.
func anyName(t *tree, holds func(string) bool) (fits, isWhole bool) {
	if holds("") || holds(otherName) {
		return true, true
	}
	samples, isWhole := sampleNames(t)
	return slices.ContainsFunc(samples, holds), isWhole
}

// sampleNames returns a name of each kind that a condition tells apart, the missing one
// included. It returns false if there are too many kinds.
func sampleNames(t *tree) ([]string, bool) {
	out, expressions := []string{"", otherName}, []string{}
	t.walk(func(l *test) {
		switch {
		case l.attr.kind != nameAttribute:
		case l.kind == isIn:
			out = append(out, l.values...)
			for _, v := range l.values {
				expressions = append(expressions, "^(?s:"+regexp.QuoteMeta(v)+")$")
			}
		case l.kind == isLike:
			expressions = append(expressions, l.glob.expression())
		}
	})
	if len(expressions) > maxVariants {
		return out, false
	}
	found, isWhole := regions.Of(expressions)
	out = append(out, found...)
	slices.Sort(out)
	return slices.Compact(out), isWhole
}

// expression returns a pattern as a regular expression for the whole value.
func (p *pattern) expression() string {
	run, one := ".*", "."
	if p.path {
		run, one = "[^/]*", "[^/]"
	}
	return "^(?s:" + patternWith(p, run, one, regexp.QuoteMeta) + ")$"
}

// Others returns the condition on the namespace for which requests with some name are
// allowed, in a namespace that is not listed: named has those that documents name, and
// whether they are listed. The labels of namespaces are not known.
func (p *Places) Others(named map[string]bool) (Kind, *Node, error) {
	isNamed := func(namespace string) bool { _, found := named[namespace]; return found || namespace == "" }
	here := p.general.allowed().replace(func(l *test) *tree {
		switch {
		case l.attr.kind == namespaceLabelsAttribute:
			return known(l.fitsLabels(nil))
		case l.kind == isIn && l.attr == itemNamespace:
			return isOneOf(itemNamespace, slices.DeleteFunc(slices.Clone(l.values), isNamed)...)
		}
		return nil
	})
	if err := opaqueIn(here); err != nil {
		return Never, nil, err
	}
	samples, isWhole := sampleNames(here)
	if !isWhole {
		return Never, nil, refusalOf("a list", tooLarge, "name")
	}
	var kids []*tree
	for _, name := range samples {
		kid := narrow(here, itemName, name)
		if !slices.ContainsFunc(kids, func(other *tree) bool { return reflect.DeepEqual(kid, other) }) {
			kids = append(kids, kid)
		}
	}
	out := anyOf(kids...)
	hidden := []string{""}
	for namespace, isListed := range named {
		if !isListed && narrow(out, itemNamespace, namespace).is(true) {
			hidden = append(hidden, namespace)
		}
	}
	switch {
	case out.is(false):
		return Never, nil, nil
	case out.is(true) && len(hidden) == 1:
		return Always, nil, nil
	}
	node, err := residualOf(allOf(notOf(isOneOf(itemNamespace, hidden...)), out))
	return Conditional, node, err
}
