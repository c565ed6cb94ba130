package statement

import (
	"reflect"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/selector"
	"github.com/writ-policy/writ/translator/tables"
)

// OriginRule is a writ.dev rule. Its lists are those of a table's row or shorter.
type OriginRule struct {
	deny                             bool
	Verbs, NotVerbs, Kinds, NotKinds []string
	restrictions                     *tables.Restrictions
}

func newOriginRule(r *tables.OriginRule) *OriginRule {
	return &OriginRule{r.Deny, r.Verbs, r.NotVerbs, r.Kinds, r.NotKinds, r.Restrictions}
}

// opaque returns why the rule does not decide by its lists alone, or "".
func (o *OriginRule) opaque() string {
	switch {
	case o.restrictions == nil:
		return ""
	case o.restrictions.Expression != "":
		return WhyCEL
	case o.restrictions.Extension != "":
		return whyExtension + o.restrictions.Extension
	}
	return ""
}

// The bits of stageTarget: the kinds match as they are, and for a request without a
// subresource also if its verb stands for one.
const (
	bitPlain = 1 << iota
	bitExec
	bitProxy
)

// Match implements Condition.
func (o *OriginRule) Match(at stage, r *Request) uint8 {
	switch at {
	case stageTarget:
		if r.Path != "" {
			return 0
		}
		bits := Bit(o.matchKinds(r.Resource, r.Subresource)) * bitPlain
		if r.Subresource == "" {
			bits |= Bit(o.matchKinds(r.Resource, "exec")) * bitExec
			bits |= Bit(o.matchKinds(r.Resource, "proxy")) * bitProxy
		}
		return bits
	case stageVerb:
		sub := impliedSubresource(r.Verb, r.Subresource)
		return Bit(o.matchVerbs(r.Verb, sub) && o.matchKinds(r.Resource, sub))
	case stageGroup:
		if o.restrictions != nil && o.restrictions.SameMinion {
			return Bit(r.Group == "" && isKind("pods", r.Resource))
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

// impliedSubresource returns the subresource of a request; the verbs exec and proxy
// stand for one.
func impliedSubresource(verb, subresource string) string {
	if v := strings.ToLower(verb); subresource == "" && (v == "exec" || v == "proxy") {
		return v
	}
	return subresource
}

func (o *OriginRule) matchVerbs(verb, subresource string) bool {
	carried := tables.OriginVerbs(verb, subresource)
	if carried[0] == "*" { // not for a subresource that stands for a verb
		return o.matchWhole(o.Verbs, o.NotVerbs)
	}
	covers := func(entry string) bool { return entry == "*" || slices.Contains(carried, entry) }
	return slices.ContainsFunc(o.Verbs, covers) && !slices.ContainsFunc(o.NotVerbs, covers)
}

// matchWhole matches a request for "*": an allow rule must cover everything, a deny rule
// anything.
func (o *OriginRule) matchWhole(entries, negated []string) bool {
	if o.deny {
		return len(entries) > 0 && !slices.Contains(negated, "*")
	}
	return slices.Contains(entries, "*") && len(negated) == 0
}

func (o *OriginRule) matchKinds(resource, subresource string) bool {
	if resource == "*" {
		return o.matchWhole(o.Kinds, o.NotKinds)
	}
	covers := func(entry string) bool { return coversKind(entry, resource, subresource) }
	return slices.ContainsFunc(o.Kinds, covers) && !slices.ContainsFunc(o.NotKinds, covers)
}

func coversKind(entry, resource, subresource string) bool {
	kind, sub, slash := strings.Cut(entry, "/")
	return (!slash || strings.EqualFold(sub, subresource)) && (kind == "*" || isKind(kind, resource))
}

// isKind reports whether a lower-case word names the kind of a resource.
func isKind(word, resource string) bool {
	resource = strings.ToLower(resource)
	return word == resource || isPlural(resource, word) || isPlural(word, resource)
}

// isPlural compares lengths and beginnings first: a plural has one or two letters more, and
// only the last letter of its word may be another one in it.
func isPlural(plural, word string) bool {
	more := len(plural) - len(word)
	return (more == 1 || more == 2) && strings.HasPrefix(plural, word[:max(0, len(word)-1)]) && tables.Plural(word) == plural
}

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
	return Bit(t == isTrue || o.deny && t == isUndecidable)
}

func (o *OriginRule) labels(r *Request) truth {
	switch {
	case o.restrictions == nil || len(o.restrictions.Labels) == 0:
		return isTrue
	case r.Labels == nil && selector.Counts(r.Verb, r.Resource, r.Subresource):
		return selector.OfLabels(r.LabelSelector).Has(o.restrictions.Labels)
	case r.Labels == nil:
		return isUndecidable
	}
	for _, entry := range o.restrictions.Labels {
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
	for _, verb := range tables.OriginVerbs(r.Verb, impliedSubresource(r.Verb, r.Subresource)) {
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
	if o.restrictions == nil || len(o.restrictions.Fields) == 0 {
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
		if !coversField(o.restrictions.Fields, path) {
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
	if o.restrictions == nil || len(o.restrictions.Select) == 0 {
		return isTrue
	}
	return fieldsOf(r).Has(o.restrictions.Select)
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
	if o.restrictions == nil || !o.restrictions.SameMinion {
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
	switch r := o.restrictions; {
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
	return ok && o.restrictions != nil && o.restrictions.SameMinion
}

// Mention implements Condition.
func (o *OriginRule) Mention(v *Values) {
	v.folds = true
	for _, verb := range slices.Concat(o.Verbs, o.NotVerbs) {
		v.addWord(&v.verbs, verb)
		if verb == "update" || verb == "delete" {
			v.verbs.Add("patch", "deletecollection")
		}
	}
	v.verbs.Add("exec", "proxy")
	for _, entry := range slices.Concat(o.Kinds, o.NotKinds) {
		v.addKind(entry)
	}
	v.subresources.Add("exec", "proxy")
	if r := o.restrictions; r != nil {
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

func (o *OriginRule) rule() any {
	rule := map[string]any{"verbs": tables.Negated(o.Verbs, o.NotVerbs), "resourceKinds": tables.Negated(o.Kinds, o.NotKinds)}
	if o.deny {
		rule["deny"] = true
	}
	if o.restrictions != nil {
		rule["attributeRestrictions"] = o.restrictions.Written()
	}
	return rule
}

// Without implements Condition.
func (o *OriginRule) Without(other Condition) Condition {
	p, ok := other.(*OriginRule)
	if !ok || p.deny != o.deny || p.restrictions != nil && !reflect.DeepEqual(p.restrictions, o.restrictions) ||
		!isSubset(p.NotVerbs, o.NotVerbs) || !isSubset(p.NotKinds, o.NotKinds) {
		return o
	}
	out := *o
	covers := func(v string) bool {
		kind, sub, slash := strings.Cut(v, "/")
		return HasWord(p.Kinds, v) || slash && (slices.Contains(p.Kinds, kind) || slices.Contains(p.Kinds, "*/"+sub))
	}
	if !reduce(dimension{&out.Verbs, func(v string) bool { return HasWord(p.Verbs, v) }}, dimension{&out.Kinds, covers}) {
		return nil
	}
	return &out
}

func isSubset(list, of []string) bool {
	return !slices.ContainsFunc(list, func(v string) bool { return !slices.Contains(of, v) })
}
