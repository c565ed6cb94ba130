// Package selector derives what the label or field selector of a request states about all
// objects that it selects.
//
// The library states the same in rego/writ/access/selectors,
// which decides; what compares requests or searches for them needs it in Go.
//
// The values of a key that all its requirements leave are a finite set, or all but a finite
// set, and keys do not depend on each other, so that this is exact.
package selector

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// The keys of a request's attributes that have a selector, each a list of requirements.
const (
	LabelKey = "labelSelector"
	FieldKey = "fieldSelector"
)

// The operators of requirements.
const (
	in           = "In"
	notIn        = "NotIn"
	exists       = "Exists"
	doesNotExist = "DoesNotExist"
)

// Requirement is one condition of a selector on a label or on a field.
type Requirement struct {
	Key, Operator string
	Values        []string
}

// Is returns the requirement that a key has a value.
func Is(key, value string) Requirement { return Requirement{key, in, []string{value}} }

// Counts reports whether servers apply selectors to a request.
func Counts(verb, resource, subresource string) bool {
	return resource != "" && subresource == "" &&
		slices.ContainsFunc([]string{"list", "watch", "deletecollection"}, func(v string) bool { return strings.EqualFold(verb, v) })
}

// Labels returns the requirements that the attributes of a request have on labels. One that
// cannot be read is left out.
func Labels(attributes map[string]any) []Requirement {
	return read(attributes[LabelKey], in, notIn, exists, doesNotExist)
}

// Fields returns those on fields.
func Fields(attributes map[string]any) []Requirement { return read(attributes[FieldKey], in, notIn) }

// Written returns requirements as attributes of a request have them.
func Written(requirements []Requirement) []any {
	out := make([]any, 0, len(requirements))
	for _, q := range requirements {
		values := make([]any, 0, len(q.Values))
		for _, v := range q.Values {
			values = append(values, v)
		}
		out = append(out, map[string]any{"key": q.Key, "operator": q.Operator, "values": values})
	}
	return out
}

func read(selector any, operators ...string) (out []Requirement) {
	list, _ := selector.([]any)
	for _, element := range list {
		object, _ := element.(map[string]any)
		key, _ := object["key"].(string)
		operator, _ := object["operator"].(string)
		values, ok := texts(object["values"])
		hasValues := operator == in || operator == notIn
		if ok && key != "" && slices.Contains(operators, operator) && hasValues == (len(values) > 0) {
			out = append(out, Requirement{key, operator, values})
		}
	}
	return out
}

// texts returns a list of strings. nil is an empty one.
func texts(value any) (out []string, ok bool) {
	list, isList := value.([]any)
	for _, element := range list {
		text, ok := element.(string)
		if !ok {
			return nil, false
		}
		out = append(out, text)
	}
	return out, isList || value == nil
}

// Verdict is what holds of the selected objects.
type Verdict int

// The verdicts. Of a selector that selects nothing, nothing is known.
const (
	Unknown Verdict = iota
	None            // of no object
	All             // of every object
)

// Selection is what requirements leave of each key that they name.
type Selection map[string]*left

// left is the values that are left: the listed ones, or all but the listed ones.
type left struct {
	values []string
	isOnly bool // only the listed values are left
	absent bool // the key may be absent
}

// OfLabels returns what requirements on labels leave.
func OfLabels(requirements []Requirement) Selection { return leave(requirements, true) }

// OfFields returns what requirements on fields leave, and the name and the namespace of the
// request where they are not empty. A field is never absent.
func OfFields(requirements []Requirement, name, namespace string) Selection {
	all := slices.Clip(requirements)
	if name != "" {
		all = append(all, Is("metadata.name", name))
	}
	if namespace != "" {
		all = append(all, Is("metadata.namespace", namespace))
	}
	return leave(all, false)
}

func leave(requirements []Requirement, absent bool) Selection {
	s := make(Selection)
	for _, q := range requirements {
		l := s[q.Key]
		if l == nil {
			l = &left{absent: absent}
			s[q.Key] = l
		}
		l.narrow(q)
	}
	return s
}

func (l *left) narrow(q Requirement) {
	listed := func(v string) bool { return slices.Contains(q.Values, v) }
	l.absent = l.absent && (q.Operator == notIn || q.Operator == doesNotExist)
	switch {
	case q.Operator == exists:
	case q.Operator != notIn && l.isOnly: // what is left of both; of none for DoesNotExist
		l.values = slices.DeleteFunc(l.values, func(v string) bool { return !listed(v) })
	case q.Operator != notIn:
		excluded := l.values
		l.values, l.isOnly = slices.DeleteFunc(slices.Clone(q.Values), func(v string) bool { return slices.Contains(excluded, v) }), true
	case l.isOnly:
		l.values = slices.DeleteFunc(l.values, listed)
	default:
		l.values = append(l.values, q.Values...)
	}
}

// IsEmpty reports whether the selection states nothing: no requirement, or no object that
// meets all.
func (s Selection) IsEmpty() bool {
	for _, l := range s {
		if l.isOnly && len(l.values) == 0 && !l.absent {
			return true
		}
	}
	return len(s) == 0
}

// Has reports whether the selected objects have all entries, which are labels or fields.
func (s Selection) Has(entries []tables.Entry) Verdict {
	if s.IsEmpty() {
		return Unknown
	}
	together := All
	for i, e := range entries {
		switch v := s.has(e); {
		case v == None || slices.ContainsFunc(entries[:i], func(o tables.Entry) bool { return contradict(e, o) }):
			return None
		case v == Unknown:
			together = Unknown
		}
	}
	return together
}

// contradict reports whether no object has both entries.
func contradict(a, b tables.Entry) bool {
	return a.Key == b.Key && a.Value != nil && b.Value != nil && *a.Value != *b.Value
}

func (s Selection) has(e tables.Entry) Verdict {
	l := s[e.Key]
	switch {
	case l == nil:
		return Unknown
	case e.Value == nil && !l.absent:
		return All
	case e.Value == nil && l.isOnly && len(l.values) == 0:
		return None
	case e.Value == nil:
		return Unknown
	case l.isOnly != slices.Contains(l.values, *e.Value):
		return None
	case l.isOnly && !l.absent && !slices.ContainsFunc(l.values, func(v string) bool { return v != *e.Value }):
		return All
	}
	return Unknown
}
