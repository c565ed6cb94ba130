package footprint

import (
	"strings"

	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/tables"
)

// Access is the footprint of the access point. Attributes that it does not have are read
// by no rule, or by Restrictions only.
type Access struct {
	// Verbs have patterns that end in "*".
	Verbs Attribute `json:"verbs"`
	// APIGroups have no patterns.
	APIGroups Attribute `json:"apiGroups"`
	// Resources are named by roles and deny policies, subresources left out. Rules can
	// match other words for the same kind, in any case. They have no patterns.
	Resources Attribute `json:"resources"`
	// Subresources are compared in any case. Patterns apply to requests for impersonation.
	Subresources Attribute `json:"subresources"`
	Names        Attribute `json:"names"`
	// Paths are nonResourceURLs: the pattern "/api/*" matches what begins with "/api/".
	Paths Attribute `json:"paths"`
	// Namespaces are those that deny policies name; those of bindings are the keys of
	// data.compiled.access.subjects.namespaces.
	Namespaces  Attribute `json:"namespaces"`
	Clusters    Attribute `json:"clusters"`
	Tenants     Attribute `json:"tenants"`
	Sessions    Attribute `json:"sessions"`
	Escalations Attribute `json:"escalations"`
	// Groups are those that escalations name, sorted.
	Groups []string `json:"groups,omitempty"`
	// Labels are those of the object, and NamespaceLabels those of its namespace.
	Labels          Labels `json:"labels,omitempty"`
	NamespaceLabels Labels `json:"namespaceLabels,omitempty"`
	// Selected are the fields that fieldsSelect names.
	Selected Labels `json:"selected,omitempty"`
	// Fields are the paths of fieldsMutatable, sorted.
	Fields []string `json:"fields,omitempty"`
	// Nodes is true if rules compare the nodes of requester and pod.
	Nodes bool `json:"nodes,omitempty"`
	// Pods is true if pod security reads pods.
	Pods bool `json:"pods,omitempty"`
	// Anything is true if an expression or an extension reads requests: rules that have
	// one can tell apart any two requests.
	Anything bool `json:"anything,omitempty"`
}

// Scope returns the attributes of f for tables.ScopeAttributes, in their order.
func (f *Access) Scope() [len(tables.ScopeAttributes)]*Attribute {
	return [...]*Attribute{
		tables.ScopeCluster: &f.Clusters, tables.ScopeTenant: &f.Tenants,
		tables.ScopeSession: &f.Sessions, tables.ScopeEscalation: &f.Escalations,
	}
}

// roleCounts counts what the rules of roles name.
type roleCounts struct {
	verbs, apiGroups, resources, subresources, names, fields counts
	paths, pathPrefixes                                      counts
	labels, selected                                         keyCounts
	nodes, anything                                          int
}

// labelCounts counts how many rules compare a label or field: with a value, or at all.
type labelCounts struct {
	values counts
	rules  int
}

// update counts the roles that differ from the earlier ones.
func (c *roleCounts) update(now, before tables.Map[tables.Role]) {
	now.Since(before, func(_ string, now, before *tables.Role) {
		c.addRole(before, -1)
		c.addRole(now, 1)
	})
}

func (c *roleCounts) addRole(r *tables.Role, n int) {
	if r == nil {
		return
	}
	var room rule.Lists
	for i := range r.Kubernetes {
		c.addLists(rule.Kubernetes(&r.Kubernetes[i], &room), n)
	}
	for i := range r.Origin {
		c.addLists(rule.Origin(&r.Origin[i], &room), n)
		if restrictions := r.Origin[i].Restrictions; restrictions != nil {
			c.addRestrictions(restrictions, n)
		}
	}
}

func (c *roleCounts) addLists(lists rule.Alternative, n int) {
	for i := range lists {
		for _, entries := range [...][]string{lists[i].Any, lists[i].Not} {
			switch lists[i].Of {
			case rule.Verb:
				c.verbs.addAll(entries, n)
			case rule.Group:
				c.apiGroups.addAll(entries, n)
			case rule.Name:
				c.names.addAll(entries, n)
			case rule.Target:
				for _, entry := range entries {
					c.addResource(entry, n)
				}
			case rule.Path:
				for _, path := range entries {
					c.addPath(path, n)
				}
			default: // roles have no lists of other attributes
			}
		}
	}
}

func (c *roleCounts) addPath(path string, n int) {
	if prefix, ok := strings.CutSuffix(path, "*"); ok {
		c.pathPrefixes.add(strings.TrimRight(prefix, "*")+"*", n)
	} else {
		c.paths.add(path, n)
	}
}

// addResource counts an entry "resource" or "resource/subresource". No resource of a
// request has a slash.
func (c *roleCounts) addResource(entry string, n int) {
	resource, subresource, found := strings.Cut(entry, "/")
	c.resources.add(resource, n)
	if found {
		c.subresources.add(subresource, n)
	}
}

func (c *roleCounts) addRestrictions(r *tables.Restrictions, n int) {
	reads := r.Reads()
	if reads&tables.ReadsNodes != 0 {
		c.nodes += n
	}
	if reads&tables.ReadsAll != 0 {
		c.anything += n
	}
	c.fields.addAll(r.Fields, n)
	c.labels.addEntries(r.Labels, n)
	c.selected.addEntries(r.Select, n)
}

// keyCounts counts how many rules compare each label or field.
type keyCounts map[string]*labelCounts

func (c *keyCounts) addEntries(entries []tables.Entry, n int) {
	for _, entry := range entries {
		if *c == nil {
			*c = make(keyCounts)
		}
		key := (*c)[entry.Key]
		if key == nil {
			key = new(labelCounts)
			(*c)[entry.Key] = key
		}
		if entry.Value != nil {
			key.values.add(*entry.Value, n)
		}
		if key.rules += n; key.rules == 0 {
			delete(*c, entry.Key)
		}
	}
}

// compared returns the values that each key is compared with; nil without any key.
func (c keyCounts) compared() Labels {
	if len(c) == 0 {
		return nil
	}
	out := make(Labels, len(c))
	for name, key := range c {
		out[name] = append([]string{}, key.values.values()...)
	}
	return out
}

// footprint returns what the counted rules tell apart.
func (c *roleCounts) footprint() Access {
	return Access{
		Verbs:        Attribute{Values: c.verbs.values()},
		APIGroups:    Attribute{Values: c.apiGroups.values()},
		Resources:    Attribute{Values: c.resources.values()},
		Subresources: Attribute{Values: c.subresources.values()},
		Names:        Attribute{Values: c.names.values()},
		Paths:        Attribute{Values: c.paths.values(), Patterns: c.pathPrefixes.values()},
		Fields:       c.fields.values(),
		Nodes:        c.nodes > 0,
		Anything:     c.anything > 0,
		Labels:       c.labels.compared(),
		Selected:     c.selected.compared(),
	}
}
