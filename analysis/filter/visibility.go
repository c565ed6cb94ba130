package filter

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/tables"
)

// The standard types, and the fields of their items that policies read.
const (
	typeNodes      = "nodes"
	typeNamespaces = "namespaces"
	typeOperators  = "operators"
	typePods       = "pods"
	typeAlerts     = "alerts"
	typeEvents     = "events"

	availableIn = "available_in_namespaces"
	displayName = "display_name"
	roles       = "roles"

	masterLabel = "node-role.kubernetes.io/"
)

// standardTypes are the types of which no document defines the fields.
var standardTypes = []string{typeNodes, typeNamespaces, typeOperators, typePods, typeAlerts, typeEvents}

var (
	itemName      = attribute{kind: nameAttribute}
	itemNamespace = attribute{kind: namespaceAttribute}
	itemLabels    = attribute{kind: labelsAttribute}
	element       = attribute{kind: elementAttribute}
)

func field(name string) attribute { return attribute{kind: fieldAttribute, key: name} }

// viewer makes the condition of one rule of a visibility policy.
type viewer struct {
	rule   *tables.VisibilityRule
	source *tables.MetricSource // of a custom type; nil without one
}

// standard is the condition that an item of a standard type is visible: its namespace must
// be, and the entry of its type must show it.
func (v *viewer) standard(typ string) *tree {
	entry, over := v.rule.Entries[typ], v.rule.Entries[typeNamespaces]
	if !over.Restricts() || !slices.Contains([]string{typePods, typeEvents, typeOperators, typeAlerts}, typ) {
		over = nil
	}
	name, labels := itemName, itemLabels
	switch typ {
	case typeNamespaces:
		name = attribute{kind: namespaceAttribute, or: &itemName}
	case typeOperators:
		display := field(displayName)
		name = attribute{kind: nameAttribute, or: &display}
		return v.operator(entry, over, name, labels)
	}
	var in *attribute
	if typ != typeNamespaces && typ != typeNodes {
		in = &itemNamespace
	}
	shown := always
	if over != nil {
		shown = v.entry(over, itemNamespace, noLabels, always)
		if typ == typeAlerts {
			shown = anyOf(isEmpty(itemNamespace), shown)
		} else {
			shown = allOf(notOf(isEmpty(itemNamespace)), shown)
		}
	}
	if entry == nil {
		return shown
	}
	excluded, gate := never, never
	if in != nil {
		excluded, gate = v.has(&entry.Namespaces.Denied, *in, true), v.has(&entry.Namespaces.Allowed, *in, true)
	}
	return allOf(shown, notOf(excluded), v.entry(entry, name, labels, gate))
}

// noLabels stands for labels that are not known and match nothing.
var noLabels attribute

// entry is the condition that an entry shows an item, its denied namespaces aside: gate
// states whether the item is in an allowed namespace.
func (v *viewer) entry(e *tables.VisibilityEntry, name, labels attribute, gate *tree) *tree {
	excluded := []*tree{v.has(&e.Names.Denied, name, true)}
	var pairs *tree
	if labels == noLabels {
		pairs = never
	} else {
		if e.HideMasters {
			for _, role := range []string{"master", "control-plane"} {
				excluded = append(excluded, pair(labels, masterLabel+role, nil), leafOf(test{kind: listHas, attr: field(roles), each: isOneOf(element, role)}))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(e.HideByLabels)) {
			value := e.HideByLabels[key]
			excluded = append(excluded, pair(labels, key, &value))
		}
		pairs = v.pairs(e.Labels)
	}
	shown := never
	switch e.Visibility {
	case "all":
		shown = always
	case "filtered":
		namesGiven, labelsGiven, gateGiven := !e.Names.Allowed.IsEmpty(), len(e.Labels) > 0, !e.Namespaces.Allowed.IsEmpty()
		if gateGiven {
			shown = gate
		} else {
			shown = always
		}
		switch {
		case namesGiven && labelsGiven:
			shown = allOf(shown, anyOf(v.has(&e.Names.Allowed, name, true), pairs))
		case namesGiven:
			shown = allOf(shown, v.has(&e.Names.Allowed, name, true))
		case labelsGiven:
			shown = allOf(shown, pairs)
		case !gateGiven:
			shown = never
		}
	}
	if !e.Names.Denied.IsEmpty() || e.Visibility != "all" && !e.Names.Allowed.IsEmpty() {
		shown = allOf(notOf(isEmpty(name)), shown)
	}
	return allOf(notOf(anyOf(excluded...)), shown)
}

// operator is standard for operators, which are in a list of namespaces or in all.
func (v *viewer) operator(e, over *tables.VisibilityEntry, name, labels attribute) *tree {
	list := field(availableIn)
	// fits is the condition on a namespace of an operator, gated on one that is allowed.
	fits := func(namespace attribute) *tree {
		out := []*tree{}
		if over != nil {
			out = append(out, v.entry(over, namespace, noLabels, always))
		}
		if e != nil {
			out = append(out, notOf(v.has(&e.Namespaces.Denied, namespace, true)))
			if !e.Namespaces.Allowed.IsEmpty() && e.Visibility == "filtered" {
				out = append(out, v.has(&e.Namespaces.Allowed, namespace, true))
			}
		}
		return allOf(out...)
	}
	// Without any namespace nothing is struck out, and none is shown or allowed.
	alone := known(over == nil && (e == nil || e.Namespaces.Allowed.IsEmpty() || e.Visibility != "filtered"))
	null, star := leafOf(test{kind: listIsNull, attr: list}), leafOf(test{kind: listIsStar, attr: list})
	some := func(each *tree) *tree { return leafOf(test{kind: listHas, attr: list, each: each}) }
	own := anyOf(allOf(isEmpty(itemNamespace), alone), allOf(notOf(isEmpty(itemNamespace)), fits(itemNamespace)))
	in := always
	if each := fits(element); !each.is(true) || alone.is(false) {
		in = anyOf(allOf(null, own), allOf(star, known(over == nil || over.Visibility != "none")),
			allOf(notOf(null), notOf(star), anyOf(some(each), allOf(notOf(some(always)), alone))))
	}
	if e == nil {
		return in
	}
	return allOf(in, v.entry(e, name, labels, always))
}

// custom is the condition that an entry shows an item of a custom type: it must pass four
// gates.
func (v *viewer) custom(e *tables.VisibilityEntry) *tree {
	namespace, name := itemNamespace, itemName
	if v.source != nil && v.source.NamespaceField != "" {
		namespace = attribute{kind: fieldAttribute, key: v.source.NamespaceField, identifier: true}
	}
	if v.source != nil && v.source.NameField != "" {
		name = attribute{kind: fieldAttribute, key: v.source.NameField, identifier: true}
	}
	gates := []*tree{v.permits(&e.Namespaces, namespace, true), v.permits(&e.Names, name, true), v.pairs(e.Labels)}
	if !e.Names.Denied.IsEmpty() || !e.Names.Allowed.IsEmpty() {
		gates = append(gates, notOf(isEmpty(name)))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Fields)) {
		criteria := e.Fields[key]
		gates = append(gates, leafOf(test{kind: isOfType, attr: field(key)}), v.permits(&criteria, field(key), false))
	}
	return allOf(gates...)
}

// permits is true if criteria do not deny a value and, if they allow some, allow it.
func (v *viewer) permits(c *tables.Criteria, a attribute, present bool) *tree {
	permitted := notOf(v.has(&c.Denied, a, present))
	if c.Allowed.IsEmpty() {
		return permitted
	}
	return allOf(permitted, v.has(&c.Allowed, a, present))
}

// has is true if a value is among literals and patterns. A missing one is the empty text,
// or none of them if present is set.
func (v *viewer) has(values *tables.Values, a attribute, present bool) *tree {
	kids := []*tree{isOneOf(a, slices.Collect(maps.Keys(values.Literals))...)}
	for _, g := range values.Patterns {
		t := like(a, v.pattern(g))
		if present && g.Match("") {
			t = notOf(isEmpty(a))
		}
		kids = append(kids, t)
	}
	return anyOf(kids...)
}

func (v *viewer) pattern(g tables.Glob) *pattern {
	p := &pattern{pieces: g.Pieces(), source: v.rule.Source, matches: g.Match}
	for _, piece := range p.pieces {
		p.text += pieceText(piece)
	}
	return p
}

func pieceText(p tables.Piece) string {
	switch p.Kind {
	case tables.PieceRun:
		return "*"
	case tables.PieceOne:
		return "?"
	case tables.PieceText:
	}
	return p.Text
}

// pairs is true if the item has all pairs.
func (v *viewer) pairs(labels map[string]string) *tree {
	out := always
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		out = allOf(out, pair(itemLabels, key, &value))
	}
	return out
}
