package answers

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// maxNames is how many names are listed.
const maxNames = 20

// names are the names that documents have, by field, sorted. They are collected when they
// are first asked for.
type names struct {
	once   sync.Once
	fields map[string][]string
	// principals are those of bindings, in the order of their names. resources are pairs of
	// API group and resource, or resource and subresource, that rules name, and verbs pairs
	// of resource and verb.
	principals []string
	resources  [][2]string
	verbs      [][2]string
}

// standardTypes are the types of items that documents need not name.
var standardTypes = []string{"alerts", "events", "namespaces", "nodes", "operators", "pods"}

// Names implements console.Viewer.
func (v *viewer) Names(c console.Caller, field, prefix string) (*console.Names, error) {
	if err := v.admit(c); err != nil {
		return nil, err
	}
	n := v.names()
	list, ok := n.fields[field]
	if !ok {
		return nil, &console.Error{Reason: console.Invalid, Field: "field", Message: "field must be one of " + strings.Join(slices.Sorted(maps.Keys(n.fields)), ", ")}
	}
	if field == "cluster" {
		list = slices.Compact(sorted(slices.Concat(list, v.x.o.Clusters())))
	}
	return &console.Names{Names: search(list, prefix)}, nil
}

// names returns the names of the revision.
func (v *viewer) names() *names {
	n := &v.revision.names
	n.once.Do(func() { v.collect(n) })
	return n
}

// search returns the names of a sorted list that begin with a text and then those that
// contain it, in any case.
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

// isListed reports whether a sorted list has a name.
func isListed(list []string, name string) bool {
	_, found := slices.BinarySearch(list, name)
	return found
}

// sets are names by field, each once.
type sets map[string]map[string]struct{}

func (s sets) add(field string, names ...string) {
	if s[field] == nil {
		s[field] = make(map[string]struct{})
	}
	for _, name := range names {
		if name != "" && !strings.Contains(name, "*") {
			s[field][name] = struct{}{}
		}
	}
}

// compareNames orders principals by their names.
func compareNames(a, b string) int {
	_, nameA, _ := strings.Cut(a, ":")
	_, nameB, _ := strings.Cut(b, ":")
	return cmp.Or(strings.Compare(nameA, nameB), strings.Compare(a, b))
}

// addPrincipal adds a principal as a subject, and as a user or group.
func (s sets) addPrincipal(principal string) {
	if _, known := s["subject"][principal]; known {
		return
	}
	s.add("subject", principal)
	if of := tables.ParseSubject(principal); of.IsGroup {
		s.add("groups", of.Name)
	} else {
		s.add("user", of.Name)
	}
}

// collect collects the names of a revision.
func (v *viewer) collect(n *names) {
	s := sets{}
	s.add("verb", v.policies.Tables().Verbs...)
	s.add("type", standardTypes...)
	if access := tables.Of[*tables.Access](v.revision.tables); access != nil {
		s.addSubjects(access)
		n.principals = slices.SortedFunc(maps.Keys(s["subject"]), compareNames)
		n.resources, n.verbs = s.addRules(access)
	}
	for _, resources := range tables.OrEmpty(tables.Of[*tables.Deny](v.revision.tables)).Resources {
		s.add("resource", resources...)
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
	for _, field := range []string{
		"user", "groups", "subject", "verb", "resource", "apiGroup", "namespace", "cluster", "type", "role",
	} {
		n.fields[field] = slices.Sorted(maps.Keys(s[field]))
	}
}

// addSubjects adds the subjects of bindings, and their namespaces.
func (s sets) addSubjects(access *tables.Access) {
	for principal := range access.Subjects.Cluster.All() {
		s.addPrincipal(principal)
	}
	for namespace, subjects := range access.Subjects.Namespaces.All() {
		s.add("namespace", namespace)
		for principal := range subjects.All() {
			s.addPrincipal(principal)
		}
	}
}

// pluralOf is the plural of a kind of a document, which may be one already, and may have a
// subresource.
func pluralOf(kind string) string {
	main, sub, _ := strings.Cut(kind, "/")
	if strings.HasSuffix(main, "s") && !strings.HasSuffix(main, "ss") {
		return kind
	}
	return strings.TrimSuffix(tables.Plural(main)+"/"+sub, "/")
}

// addRules adds what rules name. It returns their pairs of API group and resource, and of
// resource and verb, sorted. Most rules name what another one does.
func (s sets) addRules(access *tables.Access) (resources, verbs [][2]string) {
	named, granted := make(map[[2]string]struct{}), make(map[[2]string]struct{})
	kinds := make(map[string]struct{}) // of Origin, in all spellings that a rule accepts
	add := func(groups, list, verbs []string) {
		s.add("apiGroup", groups...)
		for _, resource := range list {
			for _, verb := range verbs {
				granted[[2]string{resource, verb}] = struct{}{}
			}
			main, _, _ := strings.Cut(resource, "/")
			s.add("resource", main)
			for _, group := range groups {
				if !strings.Contains(group+resource, "*") {
					named[[2]string{group, resource}] = struct{}{}
				}
			}
		}
	}
	for _, role := range access.Roles.All() {
		s.add("namespace", role.Namespace)
		s.add("role", tables.FullName(role.Namespace, role.Name))
		for i := range role.Kubernetes {
			add(role.Kubernetes[i].Groups, role.Kubernetes[i].Resources, role.Kubernetes[i].Verbs)
		}
		for i := range role.Origin {
			add([]string{""}, role.Origin[i].Kinds, role.Origin[i].Verbs)
			for _, kind := range role.Origin[i].Kinds {
				kinds[kind] = struct{}{}
			}
			for _, kind := range role.Origin[i].NotKinds { // a row too, of what is excluded
				kinds[pluralOf(kind)] = struct{}{}
			}
		}
	}
	for kind := range kinds {
		if delete(named, [2]string{"", kind}); !strings.Contains(kind, "*") {
			named[[2]string{"", pluralOf(kind)}] = struct{}{} // requests name the plural
		}
	}
	byName := func(a, b [2]string) int { return cmp.Or(strings.Compare(a[1], b[1]), strings.Compare(a[0], b[0])) }
	return slices.SortedFunc(maps.Keys(named), byName), slices.SortedFunc(maps.Keys(granted), byName)
}
