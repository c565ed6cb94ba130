package shrink

import (
	"fmt"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// connect joins bindings with roles, and aggregated roles with what they collect.
func (m *Model) connect() error {
	for _, r := range m.roles {
		if !r.isAggregate {
			continue
		}
		if err := m.collect(r, r, map[*role]bool{r: true}); err != nil {
			return err
		}
	}
	t := tables.Of[*tables.Access](m.result.Tables)
	for _, b := range m.bindings {
		h := b.header
		row := t.Bindings.Find(tables.BindingKey(h.Family, h.Namespace, h.Name))
		if row == nil || m.roleOf[row.Role] == nil {
			continue // its role is missing, which a cluster ignores
		}
		b.role = m.roleOf[row.Role]
		b.role.own++
		for _, r := range append([]*role{b.role}, b.role.collects...) {
			r.bindings = append(r.bindings, b)
		}
	}
	for _, r := range m.roles {
		for _, one := range r.rules {
			if one.pool != nil && !one.isDeny {
				one.pool.rules = append(one.pool.rules, one)
			}
		}
	}
	return nil
}

// collect adds the roles that an aggregated one reaches through selectors.
func (m *Model) collect(root, from *role, met map[*role]bool) error {
	for _, d := range directory.DocumentsOf[*access.KubernetesRole](m.result.Directory) {
		if d.Meta() != from.header {
			continue
		}
		if d.Aggregation == nil {
			continue
		}
		for _, s := range d.Aggregation.Selectors {
			selector, err := syntax.CompileSelector(s)
			if err != nil {
				return err
			}
			for _, candidate := range directory.DocumentsOf[*access.KubernetesRole](m.result.Directory) {
				other := m.roleOf[tables.RoleKey(candidate.Family, candidate.Namespace, candidate.Name)]
				if candidate.Kind != "ClusterRole" || met[other] || !selector.Matches(labels(candidate.Labels)) {
					continue
				}
				met[other] = true
				other.isCollected = true
				if !other.isAggregate {
					root.collects = append(root.collects, other)
				} else if err := m.collect(root, other, met); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// labels implements the labels of a selector.
type labels map[string]string

// Has implements labels.Labels.
func (l labels) Has(key string) bool { _, ok := l[key]; return ok }

// Get implements labels.Labels.
func (l labels) Get(key string) string { return l[key] }

// Lookup implements labels.Labels.
func (l labels) Lookup(key string) (string, bool) { v, ok := l[key]; return v, ok }

// rulesOf returns the rules that a decision names by a binding and an index: several of an
// aggregated role, if roles that it collects have equal ones.
func (m *Model) rulesOf(b *binding, index int) []*rule {
	r := b.role
	if r == nil {
		return nil
	}
	if !r.isAggregate {
		if index < len(r.rules) {
			return r.rules[index : index+1]
		}
		return nil
	}
	t := tables.Of[*tables.Access](m.result.Tables)
	rows := t.Roles.At(tables.RoleKey(r.header.Family, r.header.Namespace, r.header.Name)).Kubernetes
	if index >= len(rows) {
		return nil
	}
	if m.equal[r] == nil {
		m.equal[r] = make(map[string][]*rule)
		for _, other := range r.collects {
			row := t.Roles.At(tables.RoleKey(other.header.Family, "", other.header.Name))
			for i := range row.Kubernetes {
				key := contentOf(&row.Kubernetes[i])
				m.equal[r][key] = append(m.equal[r][key], other.rules[i])
			}
		}
	}
	return m.equal[r][contentOf(&rows[index])]
}

func contentOf(r *tables.KubernetesRule) string {
	return fmt.Sprintf("%q %q %q %q %q", r.Verbs, r.Groups, r.Resources, r.Names, r.Paths)
}
