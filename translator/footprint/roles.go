package footprint

import (
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// roleCounts counts what the rules of roles name.
type roleCounts struct {
	verbs, apiGroups, resources, subresources, names, fields counts
	paths, pathPrefixes                                      counts
	labels                                                   map[string]*labelCounts
	nodes, anything                                          int
}

// labelCounts counts how many rules compare a label: with a value, or at all.
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
	for i := range r.Kubernetes {
		c.addKubernetes(&r.Kubernetes[i], n)
	}
	for i := range r.Origin {
		c.addOrigin(&r.Origin[i], n)
	}
}

func (c *roleCounts) addKubernetes(r *tables.KubernetesRule, n int) {
	c.verbs.addAll(r.Verbs, n)
	c.apiGroups.addAll(r.Groups, n)
	c.names.addAll(r.Names, n)
	for _, entry := range r.Resources {
		c.addResource(entry, n)
	}
	for _, path := range r.Paths {
		if prefix, ok := strings.CutSuffix(path, "*"); ok {
			c.pathPrefixes.add(strings.TrimRight(prefix, "*")+"*", n)
		} else {
			c.paths.add(path, n)
		}
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

func (c *roleCounts) addOrigin(r *tables.OriginRule, n int) {
	c.verbs.addAll(r.Verbs, n)
	c.verbs.addAll(r.NotVerbs, n)
	for _, list := range [...][]string{r.Kinds, r.NotKinds} {
		for _, entry := range list {
			c.addResource(entry, n)
		}
	}
	if r.Restrictions != nil {
		c.addRestrictions(r.Restrictions, n)
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
	for _, entry := range r.Labels {
		if c.labels == nil {
			c.labels = make(map[string]*labelCounts)
		}
		label := c.labels[entry.Key]
		if label == nil {
			label = new(labelCounts)
			c.labels[entry.Key] = label
		}
		if entry.Value != nil {
			label.values.add(*entry.Value, n)
		}
		if label.rules += n; label.rules == 0 {
			delete(c.labels, entry.Key)
		}
	}
}

// footprint returns what the counted rules tell apart.
func (c *roleCounts) footprint() Access {
	f := Access{
		Verbs:        Attribute{Values: c.verbs.values()},
		APIGroups:    Attribute{Values: c.apiGroups.values()},
		Resources:    Attribute{Values: c.resources.values()},
		Subresources: Attribute{Values: c.subresources.values()},
		Names:        Attribute{Values: c.names.values()},
		Paths:        Attribute{Values: c.paths.values(), Patterns: c.pathPrefixes.values()},
		Fields:       c.fields.values(),
		Nodes:        c.nodes > 0,
		Anything:     c.anything > 0,
	}
	if len(c.labels) > 0 {
		f.Labels = make(Labels, len(c.labels))
		for key, label := range c.labels {
			f.Labels[key] = append([]string{}, label.values.values()...)
		}
	}
	return f
}
