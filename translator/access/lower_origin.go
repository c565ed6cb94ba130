package access

import (
	"strings"

	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/tables"
)

func (l *lowerer) originRoles(c *change, r *Resolved) {
	removed, added := directory.Changes(l.seen.OriginRoles, r.OriginRoles,
		func(a, b *OriginRole) bool { return a == b })
	for _, d := range removed {
		c.roles[roleKey(&d.Header)] = nil
		delete(l.warnings, d)
		l.count(d, -1)
	}
	for _, d := range added {
		l.originRole(c, d)
		l.count(d, 1)
	}
}

func (l *lowerer) originBindings(c *change, r *Resolved) {
	unbound, bound := directory.Changes(l.seen.OriginBindings, r.OriginBindings,
		func(a, b ResolvedOriginBinding) bool { return a.Document == b.Document && sameKey(a.Role, b.Role) })
	for _, binding := range unbound {
		d := binding.Document
		c.bind(&d.Header, nil, d.Namespace == r.Master, d.Users, d.Groups)
	}
	for _, binding := range bound {
		d := binding.Document
		isCluster := d.Namespace == r.Master
		row := bindingRow(&d.Header, binding.Role.Meta(), d.Dates.Period, isCluster)
		c.bind(&d.Header, row, isCluster, d.Users, d.Groups)
	}
}

func (l *lowerer) originRole(c *change, d *OriginRole) {
	rules := make([]tables.OriginRule, 0, len(d.Rules))
	for i := range d.Rules {
		rules = append(rules, originRule(i, &d.Rules[i]))
	}
	row := roleRow(&d.Header)
	row.Origin = rules
	c.addRole(row)
	l.warn(d, superfluousOrigin(d, rules))
}

// count adds n to the numbers of rules for each extension and expression of a role.
func (l *lowerer) count(d *OriginRole, n int) {
	for i := range d.Rules {
		if r := restrictions(d.Rules[i].Restrictions); r != nil {
			count(l.extensions, r.Extension, n)
			count(l.expressions, r.Expression, n)
		}
	}
}

func originRule(index int, rule *OriginRule) tables.OriginRule {
	return tables.OriginRule{
		Rule:         index,
		Source:       rule.At.Source(),
		Deny:         rule.Deny,
		Verbs:        tables.Entries(rule.Verbs),
		NotVerbs:     tables.Entries(rule.NotVerbs),
		Kinds:        tables.Entries(rule.Kinds),
		NotKinds:     tables.Entries(rule.NotKinds),
		Restrictions: restrictions(rule.Restrictions),
	}
}

// restrictions lowers attributeRestrictions. It returns nil for a rule without restrictions.
func restrictions(r *Restrictions) *tables.Restrictions {
	if r == nil {
		return nil
	}
	out := &tables.Restrictions{Fields: r.Fields}
	for _, text := range r.Labels {
		out.Labels = append(out.Labels, entry(text.Value))
	}
	for _, text := range r.Select {
		out.Select = append(out.Select, entry(text.Value))
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

// entry splits at the first "=", because a value may contain "=".
func entry(text string) tables.Entry {
	key, value, hasValue := strings.Cut(text, "=")
	if !hasValue {
		return tables.Entry{Key: key}
	}
	return tables.Entry{Key: key, Value: &value}
}
