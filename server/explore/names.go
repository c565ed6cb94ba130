package explore

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/server/view"
	"github.com/writ-policy/writ/translator/tables"
)

// maxNames is how many names are listed.
const maxNames = 20

// names are the names that documents have, by field, sorted. They are collected when they
// are first asked for.
type names struct {
	once   sync.Once
	fields map[string][]string
	// principals are those of bindings, resources pairs of API group and resource that
	// rules name.
	principals []string
	resources  [][2]string
}

// standardTypes are the types of items that documents need not name.
var standardTypes = []string{"alerts", "events", "namespaces", "nodes", "operators", "pods"}

// Names implements view.Viewer.
func (v *viewer) Names(c view.Caller, field, prefix string) (*view.Names, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	n := v.names()
	list, ok := n.fields[field]
	if !ok {
		return nil, &view.Error{Reason: view.Invalid, Field: "field", Message: "field must be one of " + strings.Join(slices.Sorted(maps.Keys(n.fields)), ", ")}
	}
	if field == "cluster" {
		list = slices.Compact(sorted(slices.Concat(list, v.x.o.Clusters())))
	}
	return &view.Names{Names: search(list, prefix)}, nil
}

// names returns the names of the revision.
func (v *viewer) names() *names {
	n := &v.revision.names
	n.once.Do(func() { v.collect(n) })
	return n
}

// search returns the names that begin with a text and then those that contain it, in any
// case.
func search(list []string, text string) []string {
	text = strings.ToLower(text)
	first, second := []string{}, []string{}
	for _, name := range list {
		switch at := strings.Index(strings.ToLower(name), text); {
		case at == 0:
			first = append(first, name)
		case at > 0 && len(second) < maxNames:
			second = append(second, name)
		}
		if len(first) == maxNames {
			break
		}
	}
	first = append(first, second...)
	return first[:min(len(first), maxNames)]
}

// sets collects names by field, some of them several times.
type sets map[string][]string

func (s sets) add(field string, names ...string) {
	for _, name := range names {
		if name != "" && !strings.Contains(name, "*") {
			s[field] = append(s[field], name)
		}
	}
}

// sorted returns the names of a field, each once.
func (s sets) sorted(field string) []string {
	names := s[field]
	slices.Sort(names)
	return slices.Clip(slices.Compact(names))
}

func (s sets) addPrincipal(principal string) {
	s.add("subject", principal)
	if user, ok := strings.CutPrefix(principal, "user:"); ok {
		s.add("user", user)
	}
	if group, ok := strings.CutPrefix(principal, "group:"); ok {
		s.add("groups", group)
	}
}

// collect collects the names of a revision.
func (v *viewer) collect(n *names) {
	s := sets{}
	s.add("verb", v.policies.Verbs()...)
	s.add("type", standardTypes...)
	if access := tables.Of[*tables.Access](v.revision.tables); access != nil {
		s.addAccess(access)
		n.principals = slices.Clone(s.sorted("subject"))
		n.resources = resourcesOf(access)
	}
	if deny := tables.Of[*tables.Deny](v.revision.tables); deny != nil {
		for _, resources := range deny.Resources {
			s.add("resource", resources...)
		}
	}
	if visibility := tables.Of[*tables.Visibility](v.revision.tables); visibility != nil {
		s.add("type", slices.Collect(maps.Keys(visibility.Types))...)
		for i := range visibility.Policies {
			p := &visibility.Policies[i]
			for _, key := range p.SubjectKeys() {
				s.addPrincipal(key)
			}
			for _, rule := range p.Rules {
				s.add("cluster", rule.Names...)
			}
		}
	}
	n.fields = make(map[string][]string)
	for _, field := range []string{"user", "groups", "subject", "verb", "resource", "apiGroup", "namespace", "cluster", "type"} {
		n.fields[field] = s.sorted(field)
	}
}

// resourcesOf returns the pairs of API group and resource that rules name, sorted.
func resourcesOf(access *tables.Access) [][2]string {
	found := make(map[[2]string]struct{})
	add := func(groups, resources []string) {
		for _, group := range groups {
			for _, resource := range resources {
				if resource, _, _ = strings.Cut(resource, "/"); !strings.Contains(group+resource, "*") {
					found[[2]string{group, resource}] = struct{}{}
				}
			}
		}
	}
	for _, role := range access.Roles.All() {
		for i := range role.Kubernetes {
			add(role.Kubernetes[i].Groups, role.Kubernetes[i].Resources)
		}
		for i := range role.Origin {
			add([]string{""}, role.Origin[i].Kinds)
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b [2]string) int { return strings.Compare(a[1]+"\x00"+a[0], b[1]+"\x00"+b[0]) })
}

func (s sets) addAccess(access *tables.Access) {
	for principal := range access.Subjects.Cluster.All() {
		s.addPrincipal(principal)
	}
	for namespace, subjects := range access.Subjects.Namespaces.All() {
		s.add("namespace", namespace)
		for principal := range subjects.All() {
			s.addPrincipal(principal)
		}
	}
	for _, role := range access.Roles.All() {
		s.add("namespace", role.Namespace)
		for _, rule := range role.Kubernetes {
			s.add("apiGroup", rule.Groups...)
			s.addResources(rule.Resources)
		}
		for _, rule := range role.Origin {
			s.addResources(rule.Kinds)
		}
	}
}

// addResources adds resources without their subresources.
func (s sets) addResources(list []string) {
	for _, resource := range list {
		resource, _, _ = strings.Cut(resource, "/")
		s.add("resource", resource)
	}
}
