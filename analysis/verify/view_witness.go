package verify

import (
	"maps"
	"slices"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// viewSize is how much a request states of its cluster and its item.
func (d *draft) viewSize() int {
	out := len(d.r.ClusterLabels)
	if items, _ := d.r.Facts["items"].([]any); len(items) == 1 {
		out += size(items[0])
	}
	return out
}

// polishView makes a witness at the point visibility as small and as ordinary as it can be.
func (d *draft) polishView() {
	clusters, labels := d.clusterWords()
	for range 2 {
		if d.check == nil {
			d.fewerPrincipals()
		}
		d.reduce(d.r.ClusterLabels, labels, func(r *statement.Request, to map[string]string) { r.ClusterLabels = to })
		d.choose("cluster", clusters)
		d.polishItem()
	}
}

// clusterWords returns the names of clusters to try, and the values of each of their labels.
func (d *draft) clusterWords() (names []string, labels map[string][]string) {
	labels = make(map[string][]string)
	var documents, samples []string
	for _, c := range d.classes() {
		names = append(names, c.Texts["cluster"].Words()...)
		samples = append(samples, c.Texts["cluster"].Samples()...)
		addTerms(labels, c.Labels["clusterLabels"])
	}
	for _, w := range d.p.worlds() {
		for _, s := range w.action(view).index.of(d.held) {
			documents = append(documents, s.Words()["cluster"]...)
			if given := s.VisibilityRule().Labels; given != nil {
				for key, value := range *given {
					labels[key] = append(labels[key], value)
				}
			}
		}
	}
	names = tables.Once(slices.Concat(names, documents, samples, []string{assertion.MadeUp}))
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), labels
}

// classes returns those of the request, and those that are left out.
func (d *draft) classes() []*assertion.Class {
	out := slices.Concat(d.p.a.Of, d.p.out)
	if d.class != nil {
		out = append([]*assertion.Class{d.class}, out...)
	}
	return out
}

// addTerms adds the values of labels that a class compares with.
func addTerms(to map[string][]string, l *assertion.Labels) {
	if l == nil {
		return
	}
	for _, t := range l.Terms {
		to[t.Key] = slices.Concat(to[t.Key], t.Value.Words(), t.Value.Samples())
	}
}

// reduce takes away labels, and gives those that are left the first value that keeps the
// witness.
func (d *draft) reduce(labels map[string]string, words map[string][]string, set func(*statement.Request, map[string]string)) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		without := maps.Clone(labels)
		delete(without, key)
		if d.change(func(r *statement.Request) { set(r, without) }) {
			labels = without
			continue
		}
		for _, value := range append(slices.Clone(words[key]), assertion.MadeUp) {
			with := maps.Clone(labels)
			with[key] = value
			if value == labels[key] || d.change(func(r *statement.Request) { set(r, with) }) {
				labels = with
				break
			}
		}
	}
}

// polishItem takes away members of the item, and gives it plainer ones.
func (d *draft) polishItem() {
	items, _ := d.r.Facts["items"].([]any)
	if len(items) != 1 {
		return
	}
	put := func(item map[string]any) bool {
		return d.change(func(r *statement.Request) { r.Facts["items"] = []any{item} })
	}
	item := items[0].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(item)) {
		without := maps.Clone(item)
		delete(without, key)
		if put(without) {
			item = without
		}
	}
	labels, words := make(map[string][]string), make(map[string][]string)
	for _, c := range d.classes() {
		if c.Item == nil {
			continue
		}
		addTerms(labels, c.Item.Labels["labels"])
		for _, key := range []string{"name", "namespace"} {
			words[key] = slices.Concat(words[key], c.Item.Texts[key].Words(), c.Item.Texts[key].Samples())
		}
	}
	for _, key := range []string{"name", "namespace"} {
		for _, value := range append(words[key], assertion.MadeUp) {
			if item[key] == nil || value == "" {
				break
			}
			if with := statement.With(item, key, value); put(with) {
				item = with
				break
			}
		}
	}
	if given, _ := item["labels"].(map[string]string); given != nil {
		d.reduce(given, labels, func(r *statement.Request, to map[string]string) {
			r.Facts["items"] = []any{statement.With(item, "labels", to)}
		})
	}
}
