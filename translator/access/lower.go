package access

import (
	"maps"
	"reflect"
	"slices"

	"github.com/writ-policy/writ/internal/parallel"
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
	c := &change{make(map[string]*tables.Role), make(map[string]*tables.Binding), make(map[string]map[string]map[string]bool)}
	parallel.Run(func() {
		l.kubernetesBindings(c, r)
		l.originBindings(c, r)
	}, func() {
		l.kubernetesRoles(c, r)
		l.originRoles(c, r)
		l.access.Roles = l.access.Roles.With(c.roles)
	})
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
func bindingRow(d, role *syntax.Header, period *dates.Period, isCluster bool) *tables.Binding {
	return &tables.Binding{
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

func (l *lowerer) kubernetesRoles(c *change, r *Resolved) {
	removed, added := directory.Changes(l.seen.KubernetesRoles, r.KubernetesRoles, sameKubernetesRole)
	for _, role := range removed {
		c.roles[roleKey(role.Meta())] = nil
		delete(l.warnings, role.Document)
	}
	for _, role := range added {
		l.kubernetesRole(c, role)
	}
}

func (l *lowerer) kubernetesBindings(c *change, r *Resolved) {
	unbound, bound := directory.Changes(l.seen.KubernetesBindings, r.KubernetesBindings,
		func(a, b ResolvedKubernetesBinding) bool { return a.Document == b.Document && sameKey(a.Role, b.Role) })
	for _, binding := range unbound {
		d := binding.Document
		c.bind(&d.Header, nil, d.Kind == kindClusterRoleBinding, d.Users, d.Groups)
	}
	for _, binding := range bound {
		d := binding.Document
		isCluster := d.Kind == kindClusterRoleBinding
		row := bindingRow(&d.Header, binding.Role.Meta(), d.Dates.Period, isCluster)
		c.bind(&d.Header, row, isCluster, d.Users, d.Groups)
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
		rule := &role.Rules[i]
		// Entries stay in the order of the document, so that readers of the table recognise them.
		rules = append(rules, tables.KubernetesRule{
			Rule: i, Source: rule.At.Source(), KubernetesLists: rule.KubernetesLists,
		})
	}
	row := roleRow(&d.Header)
	row.Kubernetes = rules
	c.addRole(row)
	if d.Aggregation == nil {
		l.warn(d, superfluousKubernetes(d, rules))
	}
}

// change collects changes of the tables of roles and bindings, either on a goroutine of its own.
// Removals must be recorded before additions, which may have the same name.
type change struct {
	roles    map[string]*tables.Role
	bindings map[string]*tables.Binding
	// subjects records whether a binding is in the list of a subject, by the namespace of the
	// binding, "" for the whole cluster, and the subject.
	subjects map[string]map[string]map[string]bool
}

func (c *change) addRole(r tables.Role) { c.roles[tables.RoleKey(r.Family, r.Namespace, r.Name)] = &r }

// bind sets the row of a binding, nil removes it, with an entry for each subject. Its grants reach
// every namespace if isCluster is set.
func (c *change) bind(h *syntax.Header, row *tables.Binding, isCluster bool, users, groups []string) {
	key, namespace := tables.BindingKey(h.Family, h.Namespace, h.Name), h.Namespace
	c.bindings[key] = row
	if isCluster {
		namespace = ""
	}
	subjects := c.subjects[namespace]
	if subjects == nil {
		subjects = make(map[string]map[string]bool)
		c.subjects[namespace] = subjects
	}
	list := func(subject string) {
		if subjects[subject] == nil {
			subjects[subject] = make(map[string]bool, 1)
		}
		subjects[subject][key] = row != nil
	}
	for _, user := range users {
		list(tables.User(user))
	}
	for _, group := range groups {
		list(tables.Group(group))
	}
}

// apply applies the changes of bindings, after those of roles. It does not modify existing maps.
func (c *change) apply(a *tables.Access) {
	parallel.Run(func() { c.applySubjects(a) }, func() {
		roles := tables.FinderOf(a.Roles)
		for _, b := range c.bindings {
			if b != nil {
				b.Role = roles.Own(b.Role)
			}
		}
		a.Bindings = a.Bindings.With(c.bindings)
	})
}

func (c *change) applySubjects(a *tables.Access) {
	namespaces := make(map[string]*tables.Map[[]string], len(c.subjects))
	for namespace, subjects := range c.subjects {
		before, changes := a.Subjects.In(namespace), make(map[string]*[]string, len(subjects))
		for subject, bindings := range subjects {
			changes[subject] = listed(before.At(subject), bindings)
		}
		switch now := before.With(changes); {
		case namespace == "":
			a.Subjects.Cluster = now
		case now.Len() > 0:
			namespaces[namespace] = &now
		default:
			namespaces[namespace] = nil
		}
	}
	a.Subjects.Namespaces = a.Subjects.Namespaces.With(namespaces)
}

// listed returns the changed list of a subject's bindings, nil if it is empty. bindings
// states which ones the list must and must not have.
func listed(before []string, bindings map[string]bool) *[]string {
	list := make([]string, 0, len(before)+len(bindings))
	for _, key := range before {
		if _, changed := bindings[key]; !changed {
			list = append(list, key)
		}
	}
	for key, in := range bindings {
		if in {
			list = append(list, key)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return &list
}
