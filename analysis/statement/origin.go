package statement

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// OriginRule is a writ.dev rule. Its lists are those of a table's row or shorter.
type OriginRule tables.OriginRule

func (o *OriginRule) row() *tables.OriginRule { return (*tables.OriginRule)(o) }

// opaque returns why the rule does not decide by its lists alone, or "".
func (o *OriginRule) opaque() string {
	switch {
	case o.Restrictions == nil:
		return ""
	case o.Restrictions.Expression != "":
		return WhyCEL
	case o.Restrictions.Extension != "":
		return whyExtension + o.Restrictions.Extension
	}
	return ""
}

// Match implements Condition.
func (o *OriginRule) Match(at stage, r *Request) uint8 {
	switch at {
	case stageTarget:
		return byVerb(r, func(r *Request) bool { return o.match(r, attributesOf[at]) })
	case stageVerb:
		return Bit(o.match(r, until(at)))
	case stageGroup:
		if o.Restrictions != nil && o.Restrictions.SameMinion {
			return Bit(r.Group == "" && isPod(r))
		}
	case stageLabels:
		return o.verdict(o.labels(r))
	case stageFields:
		return o.verdict(o.fields(r))
	case stageSelected:
		return o.verdict(o.selected(r))
	case stageNodes:
		return o.verdict(o.holdsOnNode(r))
	}
	return 1
}

func (o *OriginRule) match(r *Request, of rule.Attributes) bool {
	var room rule.Lists
	return rule.Origin(o.row(), &room).MatchOf(r.origin(), of) != rule.No
}

// isPod reports whether a request is for the kind pods, in any case and number.
func isPod(r *Request) bool { return rule.SameKind("pods", strings.ToLower(r.Resource)) }

// truth is the value of a restriction.
type truth = selector.Verdict

const (
	isFalse       = selector.None
	isUndecidable = selector.Unknown
	isTrue        = selector.All
)

// verdict is how a restriction counts: an undecidable one must not allow, and must not
// let a denial be escaped.
func (o *OriginRule) verdict(t truth) uint8 {
	return Bit(t == isTrue || o.Deny && t == isUndecidable)
}

func (o *OriginRule) labels(r *Request) truth {
	switch {
	case o.Restrictions == nil || len(o.Restrictions.Labels) == 0:
		return isTrue
	case r.Labels == nil && selector.Counts(r.Verb, r.Resource, r.Subresource):
		return selector.OfLabels(r.LabelSelector).Has(o.Restrictions.Labels)
	case r.Labels == nil:
		return isUndecidable
	}
	for _, entry := range o.Restrictions.Labels {
		if value, ok := r.Labels[entry.Key]; !ok || entry.Value != nil && *entry.Value != value {
			return isFalse
		}
	}
	return isTrue
}

// The classes of verbs for fieldsMutatable.
const (
	verbOther = iota
	verbReads
	verbMutates
)

func verbClass(r *Request) int {
	class := verbOther
	for _, verb := range rule.Carried(r.Verb, rule.Subresource(r.Verb, r.Subresource)) {
		switch verb {
		case "get", "list", "watch":
			return verbReads
		case "update", "create":
			class = verbMutates
		}
	}
	return class
}

func (o *OriginRule) fields(r *Request) truth {
	if o.Restrictions == nil || len(o.Restrictions.Fields) == 0 {
		return isTrue
	}
	switch verbClass(r) {
	case verbReads:
		return isTrue
	case verbOther:
		return isFalse
	}
	if r.Fields == nil {
		return isUndecidable
	}
	for _, path := range r.Fields {
		if !coversField(o.Restrictions.Fields, path) {
			return isFalse
		}
	}
	return isTrue
}

func coversField(fields []string, path string) bool {
	return slices.ContainsFunc(fields, func(f string) bool {
		rest, ok := strings.CutPrefix(path, f)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// selected reports whether the objects of the request have the fields of fieldsSelect.
func (o *OriginRule) selected(r *Request) truth {
	if o.Restrictions == nil || len(o.Restrictions.Select) == 0 {
		return isTrue
	}
	return fieldsOf(r).Has(o.Restrictions.Select)
}

func fieldsOf(r *Request) selector.Selection {
	var requirements []selector.Requirement
	if selector.Counts(r.Verb, r.Resource, r.Subresource) {
		requirements = r.FieldSelector
	}
	return selector.OfFields(requirements, r.Name, r.Namespace)
}

const nodePrefix = "system:node:"

// NodePrefix begins the principals that are nodes.
const NodePrefix = UserPrefix + nodePrefix

// holdsOnNode reports whether sameMinionRestriction holds: the pod of the request is on the
// node of the user, who is a node or states one.
func (o *OriginRule) holdsOnNode(r *Request) truth {
	if o.Restrictions == nil || !o.Restrictions.SameMinion {
		return isTrue
	}
	own, isNode := strings.CutPrefix(r.User, nodePrefix)
	if !isNode {
		own = r.Minion
	}
	switch {
	case own == "":
		return isUndecidable
	case r.PodMinion == "":
		return fieldsOf(r).Has([]tables.Entry{{Key: "spec.nodeName", Value: &own}})
	}
	if own == r.PodMinion {
		return isTrue
	}
	return isFalse
}

func (o *OriginRule) filter() *tables.NamespaceFilter { return nil }

func (o *OriginRule) last() stage {
	switch r := o.Restrictions; {
	case r == nil:
		return stageVerb
	case r.SameMinion:
		return stageNodes
	case len(r.Select) > 0:
		return stageSelected
	case len(r.Fields) > 0:
		return stageFields
	case len(r.Labels) > 0:
		return stageLabels
	}
	return stageVerb
}

// ReadsUser reports whether a restriction compares the node that the user is.
func (s *Statement) ReadsUser() bool {
	o, ok := s.Rule().(*OriginRule)
	return ok && o.Restrictions != nil && o.Restrictions.SameMinion
}

// Mention implements Condition.
func (o *OriginRule) Mention(v *Values) {
	v.addLists(rule.Origin(o.row(), new(rule.Lists)), true)
	v.streams = true
	v.subresources.addFolded(rule.Streams...)
	if r := o.Restrictions; r != nil {
		for _, entry := range r.Labels {
			if entry.Value == nil {
				v.labels.Add(entry.Key, "")
			} else {
				v.labels.Add(entry.Key, *entry.Value)
			}
		}
		v.fields.Add(r.Fields...)
		for _, entry := range r.Select {
			v.selected.Add(entry.Key, *entry.Value)
			switch entry.Key {
			case "metadata.name":
				v.names.Add(*entry.Value)
			case "metadata.namespace":
				v.namespaces.Add(*entry.Value)
			}
		}
		if r.SameMinion {
			v.nodes, v.reads = true, true
		}
		v.reads = v.reads || len(r.Fields) > 0
	}
}

// Describe implements Condition.
func (o *OriginRule) Describe(s *JSON) { s.Rule = o.rule() }

func (o *OriginRule) rule() *Row {
	written := &Row{Verbs: tables.Negated(o.Verbs, o.NotVerbs), ResourceKinds: tables.Negated(o.Kinds, o.NotKinds), Deny: o.Deny}
	if o.Restrictions != nil {
		written.AttributeRestrictions, written.restrictions = o.Restrictions.Written(), o.Restrictions
	}
	return written
}

// Without implements Condition.
func (o *OriginRule) Without(other Condition) Condition {
	p, ok := other.(*OriginRule)
	if !ok {
		return o
	}
	left := rule.WithoutOrigin(o.row(), p.row())
	if left == nil {
		return nil
	}
	return (*OriginRule)(left)
}
