# METADATA
# description: |
#   Which items a rule shows. Entries are those of data.compiled.visibility: their
#   globs are expressions over the whole value, their literals keys.
package writ.visibility.items

import data.writ.visibility.text

# METADATA
# description: |
#   Whether the entries of a rule show an item of a standard type. Namespaces hide
#   what is in them, and what they leave is up to the type's own entry.
# scope: document
standard(entries, type, item) if {
	left := _left(entries, type, _location(type, item))
	shows(entries[type], _name(type, item), left, item)
}

standard(entries, type, item) if {
	_left(entries, type, _location(type, item))
	not entries[type]
}

# METADATA
# description: |
#   Whether an item of a custom type passes all gates of its entry. The source is
#   the type's MetricSource, {} where there is none.
# scope: document
custom(entry, source, item) if {
	_passes_or_none(entry.namespaces, _identifier(source, "namespaceField", item, "namespace"))
	_passes_by_name(entry.names, _identifier(source, "nameField", item, "name"))
	_has_all(_object(item, "labels"), entry.labels)
	every field, criteria in entry.fields {
		_passes(criteria, text.form(object.get(_object(item, "fields"), field, null)))
	}
}

_passes(criteria, value) if {
	not _denied(criteria, value)
	_allowed_or_open(criteria, value)
}

_allowed_or_open(criteria, _) if not criteria.allows

_allowed_or_open(criteria, value) if _allowed(criteria, value)

_passes_or_none(criteria, "") if not criteria.allows

_passes_or_none(criteria, value) if {
	value != ""
	_passes(criteria, value)
}

_passes_by_name(criteria, _) if not _given(criteria)

_passes_by_name(criteria, value) if {
	value != ""
	_passes(criteria, value)
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

_identifier(source, key, item, own) := _text(item, own) if {
	object.get(source, key, "") == ""
} else := value if {
	value := text.form(object.get(_object(item, "fields"), source[key], null))
} else := ""

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

_hidden(entry, "", _, _) if _given(entry.names)

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

_name("namespaces", item) := name if {
	name := _text(item, "namespace")
	name != ""
} else := _text(item, "name")

_name("operators", item) := name if {
	name := _text(item, "name")
	name != ""
} else := _text(_object(item, "fields"), "display_name")

_name(type, item) := _text(item, "name") if not type in {"namespaces", "operators"}

_location(type, item) := _in(_text(item, "namespace")) if type in {"pods", "events", "alerts"}

_location(type, _) := _in("") if type in {"nodes", "namespaces"}

_location("operators", item) := _in(_text(item, "namespace")) if {
	object.get(_object(item, "fields"), "available_in_namespaces", null) == null
} else := {"names": [], "whole": true} if {
	_object(item, "fields").available_in_namespaces == ["*"]
} else := {"names": names, "whole": false} if {
	available := _object(item, "fields").available_in_namespaces
	names := [name |
		is_array(available)
		some name in available
		is_string(name)
		name != ""
	]
}

_in("") := {"names": [], "whole": false}

_in(namespace) := {"names": [namespace], "whole": false} if namespace != ""

# Where the namespaces entry leaves an item; undefined where it hides it.
_left(entries, type, location) := location if {
	not _confined(entries, type)
} else := location if {
	location.whole
	entries.namespaces.visibility != "none"
} else := location if {
	not location.whole
	count(location.names) == 0
	type == "alerts"
} else := {"names": shown, "whole": false} if {
	not location.whole
	shown := [namespace | some namespace in location.names; shows_namespace(entries.namespaces, namespace, {})]
	count(shown) > 0
}

_confined(entries, type) if {
	entries.namespaces.restricts
	type in {"pods", "events", "operators", "alerts"}
}

# METADATA
# description: Whether the entry of namespaces shows the one of that name and labels.
# scope: document
shows_namespace(entry, namespace, labels) if {
	shows(entry, namespace, {"names": [], "whole": false}, {"labels": labels})
}

_text(holder, key) := value if {
	value := holder[key]
	is_string(value)
} else := ""

_object(holder, key) := value if {
	value := holder[key]
	is_object(value)
} else := {}
