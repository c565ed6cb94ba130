package filter

import (
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
)

// Places is the condition that a request is allowed, for one namespace after another: what
// depends on none is made once.
type Places struct {
	asked   Asked
	general parts
	at      map[string]*parts
}

// parts are conditions by the step of the statements that they are made of. At step 0 are
// those that hold before any denial.
type parts [7][]*tree

func (p *parts) add(s *statement.Statement, t *tree) { p[s.Step] = append(p[s.Step], t) }

// allowed is the condition of statements that are taken in the order of their steps.
func (p *parts) allowed() *tree {
	denied := anyOf(slices.Concat(p[1], p[2], p[3])...)
	granted := anyOf(anyOf(p[4]...), allOf(notOf(anyOf(p[5]...)), anyOf(p[6]...)))
	return anyOf(anyOf(p[0]...), allOf(notOf(denied), granted))
}

// PlacesOf returns the condition of statements on requests whose namespace, its labels and
// name are open. holds is that of Asked.
func PlacesOf(list []*statement.Statement, r *statement.Request, holds func(*statement.Statement) (holds, known bool)) *Places {
	p := &Places{asked: Asked{Request: r, Holds: holds, Open: statement.Open{Name: true, Namespace: true, NamespaceLabels: true}}, at: make(map[string]*parts)}
	for _, s := range list {
		t := p.asked.fits(s)
		if t.is(false) {
			continue
		}
		if s.Namespace == "" {
			p.general.add(s, t)
			continue
		}
		own := p.at[s.Namespace]
		if own == nil {
			own = new(parts)
			p.at[s.Namespace] = own
		}
		own.add(s, t)
	}
	return p
}

// In returns the names for which requests are allowed in a namespace with labels, nil if
// they are not known. An empty namespace is a request without one. The error is an
// *UntranslatableError: what decides is not a condition.
func (p *Places) In(namespace string, labels map[string]string) (Names, error) {
	return namesOf(p.within(namespace, labels))
}

// Named is In for requests with one name.
func (p *Places) Named(namespace, name string, labels map[string]string) (Names, error) {
	found, err := namesOf(narrow(p.within(namespace, labels), itemName, name))
	if found.IsAny {
		found = Names{List: []string{name}}
	}
	return found, err
}

// within is the condition on the name in a namespace.
func (p *Places) within(namespace string, labels map[string]string) *tree {
	var here parts
	p.general.in(namespace, labels, &here)
	if own := p.at[namespace]; own != nil && namespace != "" {
		own.in(namespace, labels, &here)
	}
	return here.allowed()
}

// in adds the conditions as they are in a namespace.
func (p *parts) in(namespace string, labels map[string]string, to *parts) {
	for step, kids := range p {
		for _, t := range kids {
			known := t.decide(namespace, labels)
			if known == maybe {
				t = t.replace(func(l *test) *tree {
					switch l.decide(namespace, labels) {
					case yes:
						return always
					case no:
						return never
					case maybe:
					}
					return nil
				})
			} else {
				t = map[truth]*tree{yes: always, no: never}[known]
			}
			if !t.is(false) {
				to[step] = append(to[step], t)
			}
		}
	}
}

// truth is the truth of a condition of which not everything is known.
type truth uint8

const (
	no truth = iota
	maybe
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// decide is replace for what a namespace and its labels decide alone, which is most, without
// making a tree.
func (t *tree) decide(namespace string, labels map[string]string) truth {
	switch t.operator {
	case constant:
		return truthOf(t.value)
	case not:
		return yes - t.kids[0].decide(namespace, labels)
	case leaf:
		return t.test.decide(namespace, labels)
	case and, or:
	}
	decides := truthOf(t.operator == or)
	out := yes - decides
	for _, k := range t.kids {
		switch found := k.decide(namespace, labels); found {
		case decides:
			return decides
		case maybe:
			out = maybe
		default:
		}
	}
	return out
}

func (l *test) decide(namespace string, labels map[string]string) truth {
	switch l.attr.kind {
	case namespaceAttribute:
		return truthOf(l.fitsText(namespace))
	case namespaceLabelsAttribute:
		return truthOf(l.fitsLabels(labels))
	default:
	}
	return maybe
}

// fitsText reports whether a leaf on a text holds for a value.
func (l *test) fitsText(value string) bool {
	if l.kind == isIn {
		_, found := slices.BinarySearch(l.values, value)
		return found
	}
	return l.glob.matches(value)
}

// fitsLabels reports whether a leaf on labels holds for some, which are nil if they are not
// known.
func (l *test) fitsLabels(labels map[string]string) bool {
	value, found := labels[l.key]
	switch l.kind {
	case isUnknown:
		return labels == nil
	case hasPair:
		return found && value == l.label
	default:
		return found
	}
}
