package lower

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/resolve"
)

func (l *lowerer) origin(r *resolve.Resolved) {
	for _, d := range r.OriginRoles {
		rules := make([]OriginRule, 0, len(d.Rules))
		for i := range d.Rules {
			rules = append(rules, l.originRule(i, &d.Rules[i]))
		}
		l.access.Roles[roleKey(&d.Header)] = Role{
			Family:    FamilyOrigin,
			Kind:      d.Kind,
			Namespace: d.Namespace,
			Name:      d.Name,
			Origin:    rules,
			Source:    source(d.At),
		}
		l.superfluousOrigin(d, rules)
	}
	for _, binding := range r.OriginBindings {
		d := binding.Document
		l.bind(Binding{
			Family:     FamilyOrigin,
			APIVersion: d.APIVersion,
			Kind:       d.Kind,
			Namespace:  d.Namespace,
			Name:       d.Name,
			Role:       roleKey(&binding.Role.Header),
			Cluster:    d.Namespace == r.Master,
			Source:     source(d.At),
		}, d.Users, d.Groups)
	}
}

func (l *lowerer) originRule(index int, rule *document.OriginRule) OriginRule {
	return OriginRule{
		Rule:         index,
		Source:       source(rule.At),
		Deny:         rule.Deny,
		Verbs:        entries(rule.Verbs),
		NotVerbs:     entries(rule.NotVerbs),
		Kinds:        entries(rule.Kinds),
		NotKinds:     entries(rule.NotKinds),
		Restrictions: l.restrictions(rule.Restrictions),
	}
}

// entries are the entries of a list sorted and each once, never nil. The list of
// the document stays as it is: it is read again when another file changes.
func entries(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}

func (l *lowerer) restrictions(r *document.Restrictions) *Restrictions {
	if r == nil {
		return nil
	}
	out := &Restrictions{Fields: r.Fields}
	for _, text := range r.Labels {
		out.Labels = append(out.Labels, labelEntry(text.Value))
	}
	switch r.Kind.Value {
	case "":
	case "sameMinionRestriction":
		out.SameMinion = true
	case "cel":
		out.Expression = r.Expression.Value
		l.expressions[r.Expression.Value] = true
	default:
		out.Extension = r.Kind.Value
		out.Params = r.Params
		l.extensions[r.Kind.Value] = true
	}
	return out
}

// labelEntry splits at the first "=": a value may hold more of them.
func labelEntry(text string) LabelEntry {
	key, value, hasValue := strings.Cut(text, "=")
	if !hasValue {
		return LabelEntry{Key: key}
	}
	return LabelEntry{Key: key, Value: &value}
}
