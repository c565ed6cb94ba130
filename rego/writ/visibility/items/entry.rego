package writ.visibility.items

# METADATA
# description: |
#   Whether an entry shows an item with a name and a location. A location is
#   {"names", "whole"}: names of namespaces, or the whole cluster. The first criterion
#   that applies decides: exclusions, visibility, namespaces, names, labels.
# scope: document
shows(entry, name, location, item) if {
	not _hidden(entry, name, location, item)
	entry.visibility == "all"
}

shows(entry, name, location, item) if {
	not _hidden(entry, name, location, item)
	entry.visibility == "filtered"
	_in_allowed_namespace(entry.namespaces, location)
	_included(entry, name, item)
}

_hidden(entry, name, _, _) if {
	name != ""
	_denied(entry.names, name)
}

_hidden(entry, "", _, _) if {
	entry.visibility != "all"
	_has_criteria(entry.names)
}

# Allowed names do not restrict an entry with visibility "all".
_hidden(entry, "", _, _) if {
	entry.visibility == "all"
	entry.names.denied
}

_hidden(entry, _, location, _) if {
	count(location.names) > 0
	count(_not_denied(entry.namespaces, location)) == 0
}

_hidden(entry, _, _, item) if {
	entry.hideMasters
	_is_master(item)
}

_hidden(entry, _, _, item) if {
	labels := _object(item, "labels")
	some key, value in entry.hideByLabels
	labels[key] == value
}

_not_denied(criteria, location) := [namespace |
	some namespace in location.names
	not _denied(criteria, namespace)
]

_in_allowed_namespace(criteria, _) if not criteria.allowed

_in_allowed_namespace(_, location) if location.whole

_in_allowed_namespace(criteria, location) if {
	some namespace in _not_denied(criteria, location)
	_allowed(criteria, namespace)
}

_included(entry, name, _) if {
	name != ""
	_allowed(entry.names, name)
}

_included(entry, _, item) if {
	count(entry.labels) > 0
	_has_all(_object(item, "labels"), entry.labels)
}

_included(entry, _, _) if {
	not entry.names.allowed
	count(entry.labels) == 0
	entry.namespaces.allowed
}

_has_all(labels, pairs) if {
	every key, value in pairs {
		labels[key] == value
	}
}

_is_master(item) if {
	some role in ["master", "control-plane"]
	_object(item, "labels")[sprintf("node-role.kubernetes.io/%s", [role])]
}

_is_master(item) if {
	roles := _object(item, "fields").roles
	is_array(roles)
	some role in roles
	role in {"master", "control-plane"}
}

_has_criteria(criteria) if criteria.allowed

_has_criteria(criteria) if criteria.denied

_allowed(criteria, value) if _contains(criteria.allowed, value)

_denied(criteria, value) if _contains(criteria.denied, value)

_contains(values, value) if values.literals[value]

_contains(values, value) if {
	some expression in values.patterns
	regex.match(expression, value)
}
