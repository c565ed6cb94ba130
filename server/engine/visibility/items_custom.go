package visibility

import (
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// hidesCustom returns the criterion of its entry that an item of a custom type does not
// meet. source is nil if no MetricSource defines the type.
func (e *entry) hidesCustom(source *metricSource, item *decision.Item) (hidden criterion) {
	namespace, name := item.Namespace, item.Name
	if source != nil {
		namespace = source.identifier(source.NamespaceField, item, namespace)
		name = source.identifier(source.NameField, item, name)
	}
	if namespace == "" {
		if !e.Namespaces.Allowed.IsEmpty() {
			return withoutNamespace
		}
	} else if part := hidesValue(&e.Namespaces, namespace); part != "" {
		return criterion{field: "namespaces", part: part}
	}
	if name == "" && hasCriteria(&e.Names) {
		return withoutName
	}
	if part := hidesValue(&e.Names, name); part != "" {
		return criterion{field: "names", part: part}
	}
	if !tables.HasPairs(item.Labels, e.Labels) {
		return criterion{field: "labels"}
	}
	for field, criteria := range e.Fields {
		text, ok := textForm(item.Fields[field])
		part := "the item has no such text"
		if ok {
			part = hidesValue(&criteria, text)
		}
		// The first field in order, so that equal items have equal explanations.
		if part != "" && (!hidden.hides() || field < hidden.key) {
			hidden = criterion{field: "fields", key: field, part: part}
		}
	}
	return hidden
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
