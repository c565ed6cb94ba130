package diff

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/tables"
)

// viewSearch looks for requests about items and custom types that two revisions decide
// differently. What both decide follows from the statements that fit, in order, so each
// pair of such lists is tried once.
type viewSearch struct {
	a, b   map[string][]*statement.Statement // by principal
	tried  map[string]*lone
	peers  map[string][]string // principals that hold the same statements, by the one that is tried
	cut    []string            // types of which a request may differ that is not tried
	anyway bool                // equal statements may decide differently: what identifies items differs
	out    []viewRequest
}

// viewRequest is a request, with those who are decided like it.
type viewRequest struct {
	object map[string]any
	like   *lone
}

// lone are the principals whose statements, alone, come to the same two lists.
type lone struct{ alone []string }

// viewRequests returns requests that may tell the revisions apart, and the types of which
// others may that it does not return.
func (c *comparison) viewRequests(changed, a, b []*statement.Statement, anyway bool) (requests []viewRequest, cut []string) {
	v := &viewSearch{a: bySubject(a), b: bySubject(b), tried: make(map[string]*lone), peers: make(map[string][]string), anyway: anyway}
	custom := c.typesOf(slices.Concat(a, b))
	for _, principals := range c.viewers(v, changed, custom) {
		base, ok := requestOf(c.unnamedUser, statement.PointVisibility, principals)
		if !ok {
			continue
		}
		heldA, heldB := held(v.a, principals), held(v.b, principals)
		var alone []string
		if len(principals) == 1 {
			alone = v.peers[principals[0]]
		}
		clusters, complete := c.clustersOf(slices.Concat(heldA, heldB))
		if !complete {
			v.cut = append(slices.Clone(custom), statement.StandardTypes[1:]...)
		}
		for i := range clusters {
			r := base
			r.Cluster, r.ClusterLabels = clusters[i].Cluster, clusters[i].ClusterLabels
			c.viewsOf(v, &r, alone, custom, fittingViews(heldA, &r), fittingViews(heldB, &r))
		}
	}
	return v.out, v.cut
}

func bySubject(list []*statement.Statement) map[string][]*statement.Statement {
	out := make(map[string][]*statement.Statement)
	for _, s := range list {
		for _, p := range s.Subjects {
			out[p] = append(out[p], s)
		}
	}
	return out
}

// held returns the statements of principals in the order of evaluation.
func held(by map[string][]*statement.Statement, principals []string) []*statement.Statement {
	var out []*statement.Statement
	for _, p := range principals {
		out = append(out, by[p]...)
	}
	out = unique(out)
	slices.SortStableFunc(out, func(s, t *statement.Statement) int { return bytes.Compare(s.Rank, t.Rank) })
	return out
}

// fittingViews returns the statements that fit a request; without a cluster all may.
func fittingViews(list []*statement.Statement, r *statement.Request) []*statement.Statement {
	if r.Cluster == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(s *statement.Statement) bool { return !s.Fits(r) })
}

// viewsOf adds the requests of a subject about a cluster, and those who alone are decided
// like it.
func (c *comparison) viewsOf(v *viewSearch, r *statement.Request, alone, custom []string, a, b []*statement.Statement) {
	keyA, keyB := contentsOf(a), contentsOf(b)
	key := fmt.Sprint(r.Cluster == "", "\x00", keyA, "\x00", keyB)
	if keyA == keyB && !v.anyway {
		return
	}
	like := v.tried[key]
	if like != nil {
		like.alone = append(like.alone, alone...)
		return
	}
	like = &lone{slices.Clone(alone)}
	v.tried[key] = like
	for _, action := range []string{actionView, actionMetrics} {
		for _, name := range custom {
			object := r.Object(statement.PointVisibility)
			object["type"], object["action"] = name, action
			v.out = append(v.out, viewRequest{object, like})
		}
	}
	if r.Cluster == "" {
		return
	}
	all := slices.Concat(a, b)
	actions := []string{actionView}
	if slices.ContainsFunc(all, func(s *statement.Statement) bool { return s.EffectOf(actionView) != s.EffectOf(actionMetrics) }) {
		actions = append(actions, actionMetrics) // a denied request hides its items
	}
	deciding := slices.Concat(a[:min(len(a), 1)], b[:min(len(b), 1)])
	for _, name := range append(slices.Clone(custom), statement.StandardTypes[1:]...) {
		of := deciding
		if slices.Contains(custom, name) {
			of = all
		}
		for _, item := range c.itemsOf(name, of) {
			for _, action := range actions {
				object := r.Object(statement.PointVisibility)
				object["type"], object["action"], object["items"] = name, action, []any{item}
				v.out = append(v.out, viewRequest{object, like})
			}
		}
	}
}

func contentsOf(list []*statement.Statement) string {
	var out strings.Builder
	for _, s := range list {
		out.WriteString(statement.ContentOf(s))
		out.Write(s.Rank)
		out.WriteByte(0)
	}
	return out.String()
}

// typesOf returns the custom types.
func (c *comparison) typesOf(all []*statement.Statement) []string {
	var names []string
	for _, s := range all {
		names = slices.AppendSeq(names, maps.Keys(s.VisibilityRule().Entries))
	}
	for _, w := range []*statement.World{c.a.World, c.b.World} {
		if v := tables.Of[*tables.Visibility](w.Revision.Tables); v != nil {
			names = slices.AppendSeq(names, maps.Keys(v.Types))
		}
	}
	return slices.DeleteFunc(tables.Entries(names), func(name string) bool { return slices.Contains(statement.StandardTypes, name) })
}

// clustersOf returns requests that differ in the cluster, none included. It returns false
// if a region of clusters may be missing.
func (c *comparison) clustersOf(all []*statement.Statement) ([]statement.Request, bool) {
	find := statement.Search{Must: all, Point: statement.PointVisibility}
	find.Mention()
	out := []statement.Request{{}}
	seen := make(map[string]bool)
	var none statement.Request
	if find.Values.ClusterLabels.Size(find.Values.ClusterLabels.Keys) > statement.MaxLabelSets {
		return out, false
	}
	for _, name := range find.Values.Clusters().All() {
		if tables.CheckCluster(c.a.World.Access.Cluster, name) != nil {
			continue
		}
		for _, labels := range find.Values.ClusterLabels.Sets(find.Values.ClusterLabels.Keys) {
			r := none
			r.Cluster, r.ClusterLabels = name, labels
			signature := elements.Map(all, func(s *statement.Statement) byte { return s.Match(statement.StageCluster, &r) })
			if key := string(signature); name != "" && !seen[key] {
				seen[key] = true
				out = append(out, r)
			}
		}
	}
	return out, !find.Values.IsCut()
}

// maxHolders is how many principals with different statements are tried in threes.
const maxHolders = 12

// viewers returns the subjects to try: principals of a changed policy alone and together
// with another one. At a custom type two statements decide, one about the cluster and one
// about the type, so that threes are tried as well. Principals that hold the same
// statements stand for each other.
func (c *comparison) viewers(v *viewSearch, changed []*statement.Statement, custom []string) [][]string {
	holders, same := make(map[string]string), make(map[string][]string)
	for _, p := range tables.Entries(slices.Concat(slices.Collect(maps.Keys(v.a)), slices.Collect(maps.Keys(v.b)))) {
		key := contentsOf(v.a[p]) + "\x00" + contentsOf(v.b[p])
		same[key] = append(same[key], p)
		if _, known := holders[key]; !known || p == c.o.Subject { // groups come before users
			holders[key] = p
		}
	}
	for key, p := range holders {
		v.peers[p] = same[key]
	}
	all := slices.Sorted(maps.Values(holders))
	isChanged := func(p string) bool {
		return slices.ContainsFunc(changed, func(s *statement.Statement) bool { return s.Holds([]string{p}) })
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
	names, namespaces statement.List
	labels            statement.LabelValues
	fields            map[string]*statement.List

	nameCriteria, namespaceCriteria []*tables.Criteria
	fieldCriteria                   map[string][]*tables.Criteria
}

// itemsOf returns items of a type that its visibility entries may tell apart: with names,
// namespaces, labels and fields that match their criteria, and that do not. Entries for
// namespaces count, because they hide what is in a namespace.
func (c *comparison) itemsOf(name string, all []*statement.Statement) []map[string]any {
	v := itemValues{fields: make(map[string]*statement.List), fieldCriteria: make(map[string][]*tables.Criteria)}
	for _, s := range all {
		entries := s.VisibilityRule().Entries
		if e := entries["namespaces"]; e != nil {
			v.namespaces.AddCriteria(&e.Names)
			v.namespaceCriteria = append(v.namespaceCriteria, &e.Names)
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
	v.names.AddCriteria(&e.Names)
	v.namespaces.AddCriteria(&e.Namespaces)
	v.nameCriteria, v.namespaceCriteria = append(v.nameCriteria, &e.Names), append(v.namespaceCriteria, &e.Namespaces)
	for _, labels := range []map[string]string{e.Labels, e.HideByLabels} {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			v.labels.Add(key, labels[key])
		}
	}
	if e.HideMasters {
		v.labels.Add("node-role.kubernetes.io/master", "")
	}
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		if v.fields[field] == nil {
			v.fields[field] = new(statement.List)
		}
		criteria := e.Fields[field]
		v.fields[field].AddCriteria(&criteria)
		v.fieldCriteria[field] = append(v.fieldCriteria[field], &criteria)
	}
}

// items returns an item for each combination of values that the criteria tell apart.
func (v *itemValues) items(typ string) []map[string]any {
	var out []map[string]any
	for _, name := range append(v.distinguished(&v.names, v.nameCriteria), "") {
		for _, namespace := range append(v.distinguished(&v.namespaces, v.namespaceCriteria), "") {
			for _, set := range v.labels.Sets(v.labels.Keys) {
				item := map[string]any{"labels": set}
				if name != "" {
					item["name"] = name
				}
				if namespace != "" {
					item["namespace"] = namespace
				}
				out = append(out, v.withFields(item)...)
				if typ == "operators" && namespace == "" {
					out = append(out, statement.With(item, "fields", map[string]any{"available_in_namespaces": []string{"*"}}))
				}
			}
		}
	}
	return out
}

// distinguished returns one value for each set of criteria that has it.
func (v *itemValues) distinguished(l *statement.List, criteria []*tables.Criteria) []string {
	var out []string
	seen := make(map[string]bool)
	for _, value := range l.All(statement.OtherWord) {
		var key []byte
		for _, c := range criteria {
			for _, values := range []*tables.Values{&c.Allowed, &c.Denied} {
				key = append(key, statement.Bit(values.Literals[value]), statement.Bit(values.Has(value)))
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
	for _, w := range []*statement.World{c.a.World, c.b.World} {
		t := tables.Of[*tables.Visibility](w.Revision.Tables)
		if t == nil {
			continue
		}
		for _, source := range t.Sources {
			if source.Type != name {
				continue
			}
			v.identify(source.NameField, &v.names, v.nameCriteria)
			v.identify(source.NamespaceField, &v.namespaces, v.namespaceCriteria)
		}
	}
}

func (v *itemValues) identify(field string, from *statement.List, criteria []*tables.Criteria) {
	if field == "" {
		return
	}
	if v.fields[field] == nil {
		v.fields[field] = new(statement.List)
	}
	v.fields[field].Add(from.Values...)
	v.fields[field].Patterns = append(v.fields[field].Patterns, from.Patterns...)
	v.fieldCriteria[field] = append(v.fieldCriteria[field], criteria...)
}

// withFields returns an item with each combination of values of its fields.
func (v *itemValues) withFields(item map[string]any) []map[string]any {
	out := []map[string]any{item}
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		for _, before := range slices.Clone(out) {
			for _, value := range v.distinguished(v.fields[name], v.fieldCriteria[name]) {
				set := map[string]any{name: value}
				if earlier, ok := before["fields"].(map[string]any); ok {
					maps.Copy(set, earlier)
				}
				out = append(out, statement.With(before, "fields", set))
			}
		}
	}
	return out
}
