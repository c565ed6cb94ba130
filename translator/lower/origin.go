package lower

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/document"
	"github.com/writ-policy/writ/translator/resolve"
)

func (l *Lowerer) origin(c *change, r *resolve.Resolved) {
	gone, come := resolve.Changes(l.seen.OriginRoles, r.OriginRoles,
		func(a, b *document.OriginRole) bool { return a == b })
	for _, d := range gone {
		c.unrole(&d.Header)
		delete(l.warnings, d)
		l.count(d, -1)
	}
	for _, d := range come {
		l.originRole(c, d)
		l.count(d, 1)
	}
	unbound, bound := resolve.Changes(l.seen.OriginBindings, r.OriginBindings,
		func(a, b resolve.OriginBinding) bool { return a.Document == b.Document && sameKey(a.Role, b.Role) })
	for _, binding := range unbound {
		d := binding.Document
		c.unbind(&d.Header, d.Namespace == r.Master, d.Users, d.Groups)
	}
	for _, binding := range bound {
		d := binding.Document
		c.bind(Binding{
			Family:     FamilyOrigin,
			APIVersion: d.APIVersion,
			Kind:       d.Kind,
			Namespace:  d.Namespace,
			Name:       d.Name,
			Role:       roleKey(binding.Role.Meta()),
			Cluster:    d.Namespace == r.Master,
			Source:     source(d.At),
		}, d.Users, d.Groups)
	}
}

func (l *Lowerer) originRole(c *change, d *document.OriginRole) {
	rules := make([]OriginRule, 0, len(d.Rules))
	for i := range d.Rules {
		rules = append(rules, originRule(i, &d.Rules[i]))
	}
	c.role(Role{
		Family:    FamilyOrigin,
		Kind:      d.Kind,
		Namespace: d.Namespace,
		Name:      d.Name,
		Origin:    rules,
		Source:    source(d.At),
	})
	l.warn(d, superfluousOrigin(d, rules))
}

// count adds to how many rules have each extension and expression of a role.
func (l *Lowerer) count(d *document.OriginRole, n int) {
	for i := range d.Rules {
		if r := restrictions(d.Rules[i].Restrictions); r != nil {
			count(l.extensions, r.Extension, n)
			count(l.expressions, r.Expression, n)
		}
	}
}

func originRule(index int, rule *document.OriginRule) OriginRule {
	return OriginRule{
		Rule:         index,
		Source:       source(rule.At),
		Deny:         rule.Deny,
		Verbs:        entries(rule.Verbs),
		NotVerbs:     entries(rule.NotVerbs),
		Kinds:        entries(rule.Kinds),
		NotKinds:     entries(rule.NotKinds),
		Restrictions: restrictions(rule.Restrictions),
	}
}

// entries are the entries of a list sorted and each once, never nil. The list of
// the document stays as it is: it is read again when another file changes.
func entries(list []string) []string {
	out := append([]string{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}

func restrictions(r *document.Restrictions) *Restrictions {
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
	default:
		out.Extension = r.Kind.Value
		out.Params = r.Params
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
