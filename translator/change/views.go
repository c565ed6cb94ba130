package change

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// maxViews bounds the requests about items and custom types.
const maxViews = 60000

// viewRequests returns requests that may tell changed policies apart: the principals of
// each, clusters of each region of its selector, and items around the criteria of its
// entries.
func (c *comparison) viewRequests(changed, all []*statement) []map[string]any {
	custom, standard := c.typesOf(all)
	clusters := clustersOf(all)
	items := make(map[string][]map[string]any)
	for _, name := range append(slices.Clone(custom), standard[1:]...) {
		items[name] = c.itemsOf(name, all)
	}
	var out []map[string]any
	seen := make(map[string]bool)
	add := func(object map[string]any) {
		if key := string(encode(object)); !seen[key] && len(out) < maxViews {
			seen[key] = true
			out = append(out, object)
		}
	}
	for _, principals := range c.viewers(changed, all) {
		base := (&Question{}).base(principals)
		if base.user == "" {
			base.user = unnamed
		}
		for i := range clusters {
			r := base
			r.cluster, r.clusterLabels = clusters[i].cluster, clusters[i].clusterLabels
			if r.cluster != "" && !slices.ContainsFunc(changed, func(s *statement) bool { return s.holds(principals) && s.fits(&r) }) && !c.custom(changed) {
				continue
			}
			for _, action := range []string{actionView, actionMetrics} {
				for _, name := range custom {
					object := r.object(PointVisibility)
					object["type"], object["action"] = name, action
					add(object)
				}
			}
			if r.cluster == "" {
				continue
			}
			for _, name := range append(slices.Clone(custom), standard[1:]...) {
				for _, item := range items[name] {
					object := r.object(PointVisibility)
					object["type"], object["action"], object["items"] = name, actionView, []any{item}
					add(object)
				}
			}
		}
	}
	return out
}

// custom reports whether a changed policy has an entry for a custom type: the cluster may
// then be visible by another policy.
func (c *comparison) custom(changed []*statement) bool {
	return slices.ContainsFunc(changed, func(s *statement) bool {
		for _, e := range s.condition.(*clusterRule).rule.Entries {
			if e.Custom {
				return true
			}
		}
		return false
	})
}

func (c *comparison) typesOf(all []*statement) (custom, standard []string) {
	var names []string
	for _, s := range all {
		for name := range s.condition.(*clusterRule).rule.Entries {
			names = append(names, name)
		}
	}
	for _, w := range []*World{c.a.World, c.b.World} {
		if v := tables.Of[*tables.Visibility](w.revision.Tables); v != nil {
			for name := range v.Types {
				names = append(names, name)
			}
		}
	}
	names = slices.DeleteFunc(tables.Entries(names), func(name string) bool { return slices.Contains(standardTypes, name) })
	return names, standardTypes
}

// clustersOf returns requests that differ in the cluster, none included.
func clustersOf(all []*statement) []request {
	var v values
	for _, s := range all {
		s.condition.mention(&v)
	}
	v.clusters.add("", otherWord)
	var out []request
	seen := make(map[string]bool)
	for _, set := range v.clusterCandidates() {
		var r request
		set(&r)
		signature := make([]byte, 0, len(all))
		for _, s := range all {
			signature = append(signature, s.match(stageCluster, &r))
		}
		key := string(signature)
		if r.cluster == "" {
			key = "none"
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, r)
		}
	}
	return out
}

// viewers returns the principals to try: each subject of a changed policy alone, and with
// one subject of every other policy.
func (c *comparison) viewers(changed, all []*statement) [][]string {
	var out [][]string
	seen := make(map[string]bool)
	add := func(principals ...string) {
		list := distinct(principals...)
		users := 0
		for _, p := range list {
			if strings.HasPrefix(p, userPrefix) {
				users++
			}
		}
		if key := strings.Join(list, "\x00"); !seen[key] && users < 2 && (c.o.Subject == "" || slices.Contains(list, c.o.Subject)) {
			seen[key] = true
			out = append(out, list)
		}
	}
	for _, s := range changed {
		for _, p := range s.subjects[:min(len(s.subjects), longest)] {
			add(p)
		}
	}
	for _, s := range changed {
		if len(s.subjects) == 0 {
			continue
		}
		for _, t := range all {
			if len(t.subjects) > 0 && len(out) < 64 {
				add(s.subjects[0], t.subjects[0])
			}
		}
	}
	return out
}

// itemValues are what the criteria of entries tell apart.
type itemValues struct {
	names, namespaces list
	labels            labelValues
	fields            map[string]*list
}

// itemsOf returns items of a type around the criteria of its entries and of the entries
// for namespaces, which hide what is in them.
func (c *comparison) itemsOf(name string, all []*statement) []map[string]any {
	v := itemValues{fields: make(map[string]*list)}
	for _, s := range all {
		entries := s.condition.(*clusterRule).rule.Entries
		if e := entries["namespaces"]; e != nil {
			addCriteria(&v.namespaces, &e.Names)
		}
		if e := entries[name]; e != nil {
			v.add(e)
		}
	}
	c.identifiers(name, v.fields, &v.names, &v.namespaces)
	return v.items()
}

// add adds the criteria of an entry.
func (v *itemValues) add(e *tables.VisibilityEntry) {
	addCriteria(&v.names, &e.Names)
	addCriteria(&v.namespaces, &e.Namespaces)
	for _, labels := range []map[string]string{e.Labels, e.HideByLabels} {
		for _, key := range sortedKeys(labels) {
			v.labels.add(key, labels[key])
		}
	}
	if e.HideMasters {
		v.labels.add("node-role.kubernetes.io/master", "")
	}
	for _, field := range sortedKeys(e.Fields) {
		if v.fields[field] == nil {
			v.fields[field] = new(list)
		}
		criteria := e.Fields[field]
		addCriteria(v.fields[field], &criteria)
	}
}

func addCriteria(to *list, c *tables.Criteria) {
	for _, values := range []*tables.Values{&c.Allowed, &c.Denied} {
		to.add(sortedKeys(values.Literals)...)
		for _, g := range values.Patterns {
			if text, err := g.MarshalText(); err == nil {
				to.patterns = append(to.patterns, string(text))
			}
		}
	}
}

// maxItems bounds the items of one type.
const maxItems = 400

func (v *itemValues) items() []map[string]any {
	var out []map[string]any
	for _, name := range append(v.names.all(otherWord), "") {
		for _, namespace := range append(v.namespaces.all(otherWord), "") {
			for _, set := range v.labels.sets()[1:] {
				item := map[string]any{"labels": set}
				if name != "" {
					item["name"] = name
				}
				if namespace != "" {
					item["namespace"] = namespace
				}
				if out = append(out, withFields(item, v.fields)...); len(out) > maxItems {
					return out
				}
			}
		}
	}
	return out
}

// identifiers adds the fields in which a metric source has the name and the namespace.
func (c *comparison) identifiers(name string, fields map[string]*list, names, namespaces *list) {
	for _, w := range []*World{c.a.World, c.b.World} {
		v := tables.Of[*tables.Visibility](w.revision.Tables)
		if v == nil {
			continue
		}
		for _, source := range v.Sources {
			if source.Type != name {
				continue
			}
			for field, from := range map[string]*list{source.NameField: names, source.NamespaceField: namespaces} {
				if field != "" {
					if fields[field] == nil {
						fields[field] = new(list)
					}
					fields[field].add(from.values...)
					fields[field].patterns = append(fields[field].patterns, from.patterns...)
				}
			}
		}
	}
}

// withFields returns variants of an item: all fields with the first value, and each field
// with each value.
func withFields(item map[string]any, fields map[string]*list) []map[string]any {
	if len(fields) == 0 {
		return []map[string]any{item}
	}
	out := []map[string]any{item}
	for _, name := range sortedKeys(fields) {
		var grown []map[string]any
		for _, value := range fields[name].all(otherWord) {
			for _, one := range out {
				set := map[string]any{name: value}
				if earlier, ok := one["fields"].(map[string]any); ok {
					for k, v := range earlier {
						set[k] = v
					}
				}
				grown = append(grown, with(one, "fields", set))
			}
		}
		if out = append(out, grown...); len(out) > 300 {
			return out[:300]
		}
	}
	return out
}
