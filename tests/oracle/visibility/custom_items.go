package visibility

import "slices"

// fillCustom is sections 8 and 9.
func (w *World) fillCustom(d *Decision, r Request, v verdict) {
	entry, source := v.entry.effective(), w.source(r.Type)
	d.Decision = "allow"
	if entry.Visibility == "filtered" {
		d.Decision, d.Filters[r.Type] = "partial", v.entry.filter("filtered")
	}
	if r.Cluster.Name == "" {
		return
	}
	var shown []Item
	if r.Items != nil {
		for i, item := range *r.Items {
			if entry.showsCustom(source, item) {
				d.Visible, shown = append(d.Visible, i), append(shown, item)
			}
		}
	}
	if slices.Contains(d.Permissions, "viewMetrics") {
		d.Aggregations = chosen(entry, w.values(r, source, d.Decision, shown))
	}
}

func (w *World) source(kind string) *MetricSource {
	for _, s := range w.Sources {
		if s.Type != "" && s.Type == kind {
			return s
		}
	}
	return nil
}

// showsCustom is section 8.
func (e *Entry) showsCustom(source *MetricSource, item Item) bool {
	name, namespace := item.Name, item.Namespace
	if source != nil && source.NameField != "" {
		name, _ = textOf(item.Fields[source.NameField])
	}
	if source != nil && source.NamespaceField != "" {
		namespace, _ = textOf(item.Fields[source.NamespaceField])
	}
	if namespace == "" && len(e.Namespaces.Allowed) > 0 || namespace != "" && !e.Namespaces.passes(namespace) {
		return false
	}
	if e.Names.given() && (name == "" || !e.Names.passes(name)) {
		return false
	}
	if !allPairs(e.Labels, item.Labels) {
		return false
	}
	for field, c := range e.Fields {
		text, ok := textOf(item.Fields[field])
		if c.given() && (!ok || !c.passes(text)) {
			return false
		}
	}
	return true
}
