package writ.visibility.items

# METADATA
# description: |
#   Whether an entry shows an item of that name and place. A location is
#   {"names", "whole"}: namespaces, or the whole cluster. The first test that says
#   anything decides: exclusions, visibility, namespaces, names, labels.
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
	_given(entry.names)
}

# Beside an explicit "all" what is allowed says nothing.
_hidden(entry, "", _, _) if {
	entry.visibility == "all"
	entry.names.denies
}

_hidden(entry, _, location, _) if {
	count(location.names) > 0
	count(_undenied(entry.namespaces, location)) == 0
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

_undenied(criteria, location) := [namespace |
	some namespace in location.names
	not _denied(criteria, namespace)
]

_in_allowed_namespace(criteria, _) if not criteria.allows

_in_allowed_namespace(_, location) if location.whole

_in_allowed_namespace(criteria, location) if {
	some namespace in _undenied(criteria, location)
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
	not entry.names.allows
	count(entry.labels) == 0
	entry.namespaces.allows
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

_given(criteria) if criteria.allows

_given(criteria) if criteria.denies

_allowed(criteria, value) if criteria.allowed[value]

_allowed(criteria, value) if {
	some expression in criteria.allowedPatterns
	regex.match(expression, value)
}

_denied(criteria, value) if criteria.denied[value]

_denied(criteria, value) if {
	some expression in criteria.deniedPatterns
	regex.match(expression, value)
}
