# METADATA
# description: |
#   Which items a rule shows. Entries come from data.compiled.visibility_tables: their
#   patterns are expressions over the whole value, and their literals are object keys.
package writ.visibility.items

import data.writ.visibility.text

# METADATA
# description: |
#   Whether the entries of a rule show an item of a standard type: its namespace must be
#   visible, and the entry of its type must show it.
# scope: document
standard(entries, type, item) if {
	remaining := _remaining(entries, type, _location(type, item))
	shows(entries[type], _name(type, item), remaining, item)
}

standard(entries, type, item) if {
	_remaining(entries, type, _location(type, item))
	not entries[type]
}

# METADATA
# description: |
#   Whether an item of a custom type meets all criteria of its entry. source is the
#   MetricSource that defines the type, {} if none does.
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

_allowed_or_open(criteria, _) if not criteria.allowed

_allowed_or_open(criteria, value) if _allowed(criteria, value)

_passes_or_none(criteria, "") if not criteria.allowed

_passes_or_none(criteria, value) if {
	value != ""
	_passes(criteria, value)
}

_passes_by_name(criteria, _) if not _has_criteria(criteria)

_passes_by_name(criteria, value) if {
	value != ""
	_passes(criteria, value)
}

_identifier(source, key, item, own) := _text(item, own) if {
	object.get(source, key, "") == ""
} else := value if {
	value := text.form(object.get(_object(item, "fields"), source[key], null))
} else := ""

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

# The location without the namespaces that the entry of namespaces hides; undefined if
# that hides the item.
_remaining(entries, type, location) := location if {
	not _restricted_by_namespaces(entries, type)
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

_restricted_by_namespaces(entries, type) if {
	entries.namespaces.filter
	type in {"pods", "events", "operators", "alerts"}
}

# METADATA
# description: Whether the entry of namespaces shows a namespace with a name and labels.
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
