package access

import (
	"slices"

	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// change collects changes of the tables of roles and bindings. Removals must be recorded
// before additions, which may have the same name.
type change struct {
	roles    map[string]*tables.Role
	bindings map[string]*tables.Binding
	// subjects records whether a binding is in the list of a subject.
	subjects map[boundSubject]map[string]bool
}

// boundSubject is a subject and the namespace of its binding, "" for the whole cluster.
type boundSubject struct{ namespace, subject string }

func newChange() *change {
	return &change{
		roles:    make(map[string]*tables.Role),
		bindings: make(map[string]*tables.Binding),
		subjects: make(map[boundSubject]map[string]bool),
	}
}

func (c *change) removeRole(h *syntax.Header) { c.roles[roleKey(h)] = nil }

func (c *change) addRole(r tables.Role) { c.roles[tables.RoleKey(r.Family, r.Namespace, r.Name)] = &r }

// unbind removes a binding, and bind adds one, with an entry for each subject.
func (c *change) unbind(h *syntax.Header, cluster bool, users, groups []string) {
	key := tables.BindingKey(h.Family, h.Namespace, h.Name)
	c.bindings[key] = nil
	c.setListed(key, bindingScope(h.Namespace, cluster), users, groups, false)
}

func (c *change) bind(b tables.Binding, users, groups []string) {
	key := tables.BindingKey(b.Family, b.Namespace, b.Name)
	c.bindings[key] = &b
	c.setListed(key, bindingScope(b.Namespace, b.Cluster), users, groups, true)
}

// bindingScope returns the namespace in which a binding applies, "" for the whole cluster.
func bindingScope(namespace string, cluster bool) string {
	if cluster {
		return ""
	}
	return namespace
}

// setListed records whether the lists of the subjects have the binding.
func (c *change) setListed(key, namespace string, users, groups []string, listed bool) {
	note := func(subject string) {
		h := boundSubject{namespace, subject}
		if c.subjects[h] == nil {
			c.subjects[h] = make(map[string]bool, 1)
		}
		c.subjects[h][key] = listed
	}
	for _, user := range users {
		note(tables.User(user))
	}
	for _, group := range groups {
		note(tables.Group(group))
	}
}

// apply applies the changes. It does not modify existing maps.
func (c *change) apply(a *tables.Access) {
	a.Roles = a.Roles.With(c.roles)
	roles := tables.FinderOf(a.Roles)
	for _, b := range c.bindings {
		if b != nil {
			b.Role = roles.Own(b.Role)
		}
	}
	a.Bindings = a.Bindings.With(c.bindings)
	byNamespace := make(map[string]map[string]*[]string)
	for h, bindings := range c.subjects {
		if byNamespace[h.namespace] == nil {
			byNamespace[h.namespace] = make(map[string]*[]string)
		}
		byNamespace[h.namespace][h.subject] = listed(a.Subjects.In(h.namespace).At(h.subject), bindings)
	}
	a.Subjects.Cluster = a.Subjects.Cluster.With(byNamespace[""])
	delete(byNamespace, "")
	namespaces := make(map[string]*tables.Map[[]string], len(byNamespace))
	for namespace, subjects := range byNamespace {
		namespaces[namespace] = nil
		if local := a.Subjects.In(namespace).With(subjects); local.Len() > 0 {
			namespaces[namespace] = &local
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
