package visibility

import "github.com/writ-policy/writ/server/decision"

// showsCustom reports whether an item of a custom type meets all criteria of its
// entry. source is nil if no MetricSource defines the type.
func (e *entry) showsCustom(source *metricSource, item *decision.Item) bool {
	namespace, name := item.Namespace, item.Name
	if source != nil {
		namespace = source.identifier(source.NamespaceField, item, namespace)
		name = source.identifier(source.NameField, item, name)
	}
	if namespace == "" {
		if !e.Namespaces.Allowed.IsEmpty() {
			return false
		}
	} else if !permits(&e.Namespaces, namespace) {
		return false
	}
	if hasCriteria(&e.Names) && (name == "" || !permits(&e.Names, name)) {
		return false
	}
	if !hasPairs(item.Labels, e.Labels) {
		return false
	}
	for field, criteria := range e.Fields {
		text, ok := textForm(item.Fields[field])
		if !ok || !permits(&criteria, text) {
			return false
		}
	}
	return true
}

// identifier returns the item's own value or, if a field identifies the item, the
// value of that field, empty if it is missing.
func (s *metricSource) identifier(field string, item *decision.Item, own string) string {
	if field == "" {
		return own
	}
	text, _ := textForm(item.Fields[field])
	return text
}
