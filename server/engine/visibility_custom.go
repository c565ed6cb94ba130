package engine

import "github.com/writ-policy/writ/server/decision"

// shows reports whether an item of a custom type passes all gates of its entry.
// source is nil where no MetricSource has the type.
func (v *viewEntry) showsCustom(source *viewSource, item *decision.Item) bool {
	namespace, name := item.Namespace, item.Name
	if source != nil {
		namespace = source.identifier(source.NamespaceField, item, namespace)
		name = source.identifier(source.NameField, item, name)
	}
	if namespace == "" {
		if v.namespaces.allows {
			return false
		}
	} else if !v.namespaces.passes(namespace) {
		return false
	}
	if v.names.given && (name == "" || !v.names.passes(name)) {
		return false
	}
	if !hasPairs(item.Labels, v.Labels) {
		return false
	}
	for field, wanted := range v.fields {
		text, ok := textForm(item.Fields[field])
		if !ok || !wanted.passes(text) {
			return false
		}
	}
	return true
}

// identifier is an item's own value, or that of the field that identifies it:
// then a missing value is none, without a fallback.
func (s *viewSource) identifier(field string, item *decision.Item, own string) string {
	if field == "" {
		return own
	}
	text, _ := textForm(item.Fields[field])
	return text
}
