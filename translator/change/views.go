package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// viewSearch looks for requests about items and custom types that two revisions decide
// differently. What both decide follows from the statements that fit, in order, so each
// pair of such lists is tried once.
type viewSearch struct {
	a, b   map[string][]*statement // by principal
	tried  map[string]bool
	cut    []string // types of which a request may differ that is not tried
	anyway bool     // equal statements may decide differently: what identifies items differs
	out    []map[string]any
}

// viewRequests returns requests that may tell the revisions apart, and the types of which
// others may that it does not return.
func (c *comparison) viewRequests(changed, a, b []*statement, anyway bool) (requests []map[string]any, cut []string) {
	v := &viewSearch{a: bySubject(a), b: bySubject(b), tried: make(map[string]bool), anyway: anyway}
	custom := c.typesOf(slices.Concat(a, b))
	for _, principals := range c.viewers(v, changed, custom) {
		base, ok := requestOf(PointVisibility, principals)
		if !ok {
			continue
		}
		heldA, heldB := held(v.a, principals), held(v.b, principals)
		clusters, complete := clustersOf(slices.Concat(heldA, heldB))
		if !complete {
			v.cut = append(slices.Clone(custom), standardTypes[1:]...)
		}
		for i := range clusters {
			r := base
			r.cluster, r.clusterLabels = clusters[i].cluster, clusters[i].clusterLabels
			c.viewsOf(v, &r, custom, fittingViews(heldA, &r), fittingViews(heldB, &r))
		}
	}
	return v.out, v.cut
}

func bySubject(list []*statement) map[string][]*statement {
	out := make(map[string][]*statement)
	for _, s := range list {
		for _, p := range s.subjects {
			out[p] = append(out[p], s)
		}
	}
	return out
}

// held returns the statements of principals in the order of evaluation.
func held(by map[string][]*statement, principals []string) []*statement {
	var out []*statement
	for _, p := range principals {
		out = append(out, by[p]...)
	}
	out = unique(out)
	slices.SortStableFunc(out, func(s, t *statement) int { return compareRank(s.rank, t.rank) })
	return out
}

// fittingViews returns the statements that fit a request; without a cluster all may.
func fittingViews(list []*statement, r *request) []*statement {
	if r.cluster == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(s *statement) bool { return !s.fits(r) })
}

// viewsOf adds the requests of a subject about a cluster.
func (c *comparison) viewsOf(v *viewSearch, r *request, custom []string, a, b []*statement) {
	keyA, keyB := contentsOf(a), contentsOf(b)
	key := fmt.Sprint(r.cluster == "", "\x00", keyA, "\x00", keyB)
	if keyA == keyB && !v.anyway || v.tried[key] {
		return
	}
	v.tried[key] = true
	for _, action := range []string{actionView, actionMetrics} {
		for _, name := range custom {
			object := r.object(PointVisibility)
			object["type"], object["action"] = name, action
			v.out = append(v.out, object)
		}
	}
	if r.cluster == "" {
		return
	}
	all := slices.Concat(a, b)
	deciding := slices.Concat(a[:min(len(a), 1)], b[:min(len(b), 1)])
	for _, name := range append(slices.Clone(custom), standardTypes[1:]...) {
		of := deciding
		if slices.Contains(custom, name) {
			of = all
		}
		for _, item := range c.itemsOf(name, of) {
			object := r.object(PointVisibility)
			object["type"], object["action"], object["items"] = name, actionView, []any{item}
			v.out = append(v.out, object)
		}
	}
}

func contentsOf(list []*statement) string {
	var out strings.Builder
	for _, s := range list {
		out.WriteString(contentOf(s))
		out.Write(s.rank)
		out.WriteByte(0)
	}
	return out.String()
}

// typesOf returns the custom types.
func (c *comparison) typesOf(all []*statement) []string {
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
	return slices.DeleteFunc(tables.Entries(names), func(name string) bool { return slices.Contains(standardTypes, name) })
}

// clustersOf returns requests that differ in the cluster, none included. It returns false
// if a region of clusters may be missing.
func clustersOf(all []*statement) ([]request, bool) {
	find := search{must: all, point: PointVisibility}
	find.mention()
	out := []request{{}}
	seen := make(map[string]bool)
	var none request
	if find.values.clusterLabels.size(find.values.clusterLabels.keys) > maxLabelSets {
		return out, false
	}
	for _, name := range find.values.clusters.all() {
		for _, labels := range find.values.clusterLabels.sets(find.values.clusterLabels.keys) {
			r := none
			r.cluster, r.clusterLabels = name, labels
			signature := make([]byte, 0, len(all))
			for _, s := range all {
				signature = append(signature, s.match(stageCluster, &r))
			}
			if key := string(signature); name != "" && !seen[key] {
				seen[key] = true
				out = append(out, r)
			}
		}
	}
	return out, !find.values.isCut()
}

// maxHolders is how many principals with different statements are tried in threes.
const maxHolders = 12

// viewers returns the subjects to try: principals of a changed policy alone and together
// with another one. At a custom type two statements decide, one about the cluster and one
// about the type, so that threes are tried as well. Principals that hold the same
// statements stand for each other.
func (c *comparison) viewers(v *viewSearch, changed []*statement, custom []string) [][]string {
	holders := make(map[string]string)
	for _, p := range tables.Entries(slices.Concat(slices.Collect(maps.Keys(v.a)), slices.Collect(maps.Keys(v.b)))) {
		key := contentsOf(v.a[p]) + "\x00" + contentsOf(v.b[p])
		if _, known := holders[key]; !known || p == c.o.Subject { // groups come before users
			holders[key] = p
		}
	}
	all := slices.Sorted(maps.Values(holders))
	isChanged := func(p string) bool {
		return slices.ContainsFunc(changed, func(s *statement) bool { return s.holds([]string{p}) })
	}
	threes := len(custom) > 0 && len(all) <= maxHolders
	if !threes {
		v.cut = custom
	}
	var out [][]string
	seen := make(map[string]bool)
	add := func(principals ...string) {
		list := distinct(principals...)
		if key := strings.Join(list, "\x00"); !seen[key] && (c.o.Subject == "" || slices.Contains(list, c.o.Subject)) {
			seen[key] = true
			out = append(out, list)
		}
	}
	for _, p := range all {
		if !isChanged(p) {
			continue
		}
		add(p)
		for _, q := range all {
			add(p, q)
			for i := 0; threes && i < len(all); i++ {
				add(p, q, all[i])
			}
		}
	}
	slices.SortStableFunc(out, func(a, b []string) int { return len(a) - len(b) })
	return out
}

// itemValues are what the criteria of entries tell apart.
type itemValues struct {
	names, namespaces list
	labels            labelValues
	fields            map[string]*list

	nameCriteria, nameCriteriapaces []*tables.Criteria
	fieldCriteria                   map[string][]*tables.Criteria
}

// itemsOf returns items of a type around the criteria of its entries and of the entries
// for namespaces, which hide what is in them.
func (c *comparison) itemsOf(name string, all []*statement) []map[string]any {
	v := itemValues{fields: make(map[string]*list), fieldCriteria: make(map[string][]*tables.Criteria)}
	for _, s := range all {
		entries := s.condition.(*clusterRule).rule.Entries
		if e := entries["namespaces"]; e != nil {
			addCriteria(&v.namespaces, &e.Names)
			v.nameCriteriapaces = append(v.nameCriteriapaces, &e.Names)
		}
		if e := entries[name]; e != nil {
			v.add(e)
		}
	}
	c.identifiers(name, &v)
	return v.items(name)
}

// add adds the criteria of an entry.
func (v *itemValues) add(e *tables.VisibilityEntry) {
	addCriteria(&v.names, &e.Names)
	addCriteria(&v.namespaces, &e.Namespaces)
	v.nameCriteria, v.nameCriteriapaces = append(v.nameCriteria, &e.Names), append(v.nameCriteriapaces, &e.Namespaces)
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
		v.fieldCriteria[field] = append(v.fieldCriteria[field], &criteria)
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

// items returns an item for each combination of values that the criteria tell apart.
func (v *itemValues) items(typ string) []map[string]any {
	var out []map[string]any
	for _, name := range append(v.distinguished(&v.names, v.nameCriteria), "") {
		for _, namespace := range append(v.distinguished(&v.namespaces, v.nameCriteriapaces), "") {
			for _, set := range v.labels.sets(v.labels.keys) {
				item := map[string]any{"labels": set}
				if name != "" {
					item["name"] = name
				}
				if namespace != "" {
					item["namespace"] = namespace
				}
				out = append(out, v.withFields(item)...)
				if typ == "operators" && namespace == "" {
					out = append(out, with(item, "fields", map[string]any{"available_in_namespaces": []string{"*"}}))
				}
			}
		}
	}
	return out
}

// distinguished returns one value for each set of criteria that has it.
func (v *itemValues) distinguished(l *list, criteria []*tables.Criteria) []string {
	var out []string
	seen := make(map[string]bool)
	for _, value := range l.all(otherWord) {
		var key []byte
		for _, c := range criteria {
			for _, values := range []*tables.Values{&c.Allowed, &c.Denied} {
				key = append(key, one(values.Literals[value]), one(values.Has(value)))
			}
		}
		if value != "" && !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, value)
		}
	}
	return out
}

// identifiers adds the fields in which a metric source has the name and the namespace.
func (c *comparison) identifiers(name string, v *itemValues) {
	for _, w := range []*World{c.a.World, c.b.World} {
		t := tables.Of[*tables.Visibility](w.revision.Tables)
		if t == nil {
			continue
		}
		for _, source := range t.Sources {
			if source.Type != name {
				continue
			}
			v.identify(source.NameField, &v.names, v.nameCriteria)
			v.identify(source.NamespaceField, &v.namespaces, v.nameCriteriapaces)
		}
	}
}

func (v *itemValues) identify(field string, from *list, criteria []*tables.Criteria) {
	if field == "" {
		return
	}
	if v.fields[field] == nil {
		v.fields[field] = new(list)
	}
	v.fields[field].add(from.values...)
	v.fields[field].patterns = append(v.fields[field].patterns, from.patterns...)
	v.fieldCriteria[field] = append(v.fieldCriteria[field], criteria...)
}

// withFields returns an item with each combination of values of its fields.
func (v *itemValues) withFields(item map[string]any) []map[string]any {
	out := []map[string]any{item}
	for _, name := range sortedKeys(v.fields) {
		for _, before := range slices.Clone(out) {
			for _, value := range v.distinguished(v.fields[name], v.fieldCriteria[name]) {
				set := map[string]any{name: value}
				if earlier, ok := before["fields"].(map[string]any); ok {
					maps.Copy(set, earlier)
				}
				out = append(out, with(before, "fields", set))
			}
		}
	}
	return out
}
