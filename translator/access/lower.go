package access

import (
	"maps"
	"reflect"
	"slices"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/extension"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// lowerer creates the tables of one directory and updates them when documents change. The
// tables do not depend on earlier revisions. All revisions must have the same master
// namespace. The zero value has no documents. It is not safe for concurrent use.
type lowerer struct {
	seen   Resolved      // the last revision
	access tables.Access // of seen
	// extensions and expressions hold the number of rules that use each one.
	extensions, expressions map[string]int
	// warnings holds the warnings of each role that has any.
	warnings map[syntax.Document]diag.List
}

// lower returns the tables of the documents.
func (l *lowerer) lower(r *Resolved) (*tables.Access, diag.List) {
	if l.warnings == nil {
		l.extensions, l.expressions = make(map[string]int), make(map[string]int)
		l.warnings = make(map[syntax.Document]diag.List)
	}
	c := newChange()
	l.kubernetes(c, r)
	l.origin(c, r)
	l.seen = *r
	l.access.Master, l.access.Cluster, l.access.ImpliedGroups = r.Master, r.Cluster, r.ImpliedGroups
	c.apply(&l.access)
	l.access.Extensions = slices.AppendSeq([]string{}, maps.Keys(l.extensions))
	slices.Sort(l.access.Extensions)
	l.access.Expressions = slices.AppendSeq([]string{}, maps.Keys(l.expressions))
	slices.Sort(l.access.Expressions)
	// Modules that no rule names count too: other modules may call them.
	l.access.ReadsClock = len(l.access.Extensions) > 0 &&
		slices.ContainsFunc(r.Extensions, func(e *extension.Extension) bool { return e.ReadsClock })

	var list diag.List
	if !r.Partial { // the rules of invalid documents are missing
		for _, warnings := range l.warnings {
			list = append(list, warnings...)
		}
	}
	made := l.access
	return &made, list
}

// warn stores the warnings of a role for as long as the role exists.
func (l *lowerer) warn(role syntax.Document, warnings diag.List) {
	if len(warnings) > 0 {
		l.warnings[role] = warnings
	}
}

// count adds n to the number of rules that use word; the empty word is ignored.
func count(words map[string]int, word string, n int) {
	if word == "" {
		return
	}
	if words[word] += n; words[word] == 0 {
		delete(words, word)
	}
}

// sameKey reports whether two role documents have the same key.
func sameKey[D interface {
	comparable
	syntax.Document
}](a, b D) bool {
	return a == b || roleKey(a.Meta()) == roleKey(b.Meta())
}

// roleKey returns the key of a role document.
func roleKey(h *syntax.Header) string { return tables.RoleKey(h.Family, h.Namespace, h.Name) }

// roleRow returns the row of a role, without rules.
func roleRow(d *syntax.Header) tables.Role {
	return tables.Role{Family: d.Family, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name, Source: d.At.Source()}
}

// bindingRow returns the row of a binding to a role, which holds in a period. Its grants
// reach every namespace if isCluster is set.
func bindingRow(d, role *syntax.Header, period *dates.Period, isCluster bool) tables.Binding {
	return tables.Binding{
		Family:     d.Family,
		APIVersion: d.APIVersion,
		Kind:       d.Kind,
		Namespace:  d.Namespace,
		Name:       d.Name,
		Role:       roleKey(role),
		Cluster:    isCluster,
		Stock:      d.Stock,
		Dates:      period,
		Source:     d.At.Source(),
	}
}

const (
	kindRoleBinding        = "RoleBinding"
	kindClusterRoleBinding = "ClusterRoleBinding"
)

func (l *lowerer) kubernetes(c *change, r *Resolved) {
	removed, added := directory.Changes(l.seen.KubernetesRoles, r.KubernetesRoles, sameKubernetesRole)
	for _, role := range removed {
		c.removeRole(role.Meta())
		delete(l.warnings, role.Document)
	}
	for _, role := range added {
		l.kubernetesRole(c, role)
	}
	unbound, bound := directory.Changes(l.seen.KubernetesBindings, r.KubernetesBindings,
		func(a, b ResolvedKubernetesBinding) bool { return a.Document == b.Document && sameKey(a.Role, b.Role) })
	for _, binding := range unbound {
		d := binding.Document
		c.unbind(&d.Header, d.Kind == kindClusterRoleBinding, d.Users, d.Groups)
	}
	for _, binding := range bound {
		d := binding.Document
		c.bind(bindingRow(&d.Header, binding.Role.Meta(), d.Dates.Period, d.Kind == kindClusterRoleBinding), d.Users, d.Groups)
	}
}

// sameKubernetesRole reports whether two resolved roles are equal. Only the rules of an
// aggregated role can differ for the same document.
func sameKubernetesRole(a, b ResolvedKubernetesRole) bool {
	return a.Document == b.Document && (a.Document.Aggregation == nil || reflect.DeepEqual(a.Rules, b.Rules))
}

func (l *lowerer) kubernetesRole(c *change, role ResolvedKubernetesRole) {
	d := role.Document
	rules := make([]tables.KubernetesRule, 0, len(role.Rules))
	for i := range role.Rules {
		rules = append(rules, kubernetesRule(i, &role.Rules[i]))
	}
	row := roleRow(&d.Header)
	row.Kubernetes = rules
	c.addRole(row)
	if d.Aggregation == nil {
		l.warn(d, superfluousKubernetes(d, rules))
	}
}

// kubernetesRule lowers a rule. Entries stay in the order of the document, so that
// readers of the table recognise them.
func kubernetesRule(index int, rule *KubernetesRule) tables.KubernetesRule {
	return tables.KubernetesRule{
		Rule: index, Source: rule.At.Source(), KubernetesLists: rule.KubernetesLists,
	}
}
