package writ.access.selectors

# METADATA
# description: Whether the name and namespace of the request state that its objects have a field.
known(entry) if _judge([entry], _left(_known_fields, false)) == "true"

# METADATA
# description: |
#   Selectors of what has all entries, as attributes of a request. The entries are
#   {"labelSelector", "fieldSelector"}, each a list.
requirements(chosen) := {selector: [_requirement(entry) | some entry in entries] |
	some selector, entries in chosen
}

_requirement(entry) := {"key": entry.key, "operator": "In", "values": [entry.value]} if {
	_names_value(entry)
} else := {"key": entry.key, "operator": "Exists"}

# METADATA
# description: |
#   The same as kubectl takes it, in words. Undefined for a label that no selector can
#   name.
words(chosen) := concat(" and ", array.concat(
	[sprintf("label selector %s", [_labels_text(chosen.labelSelector)]) | chosen.labelSelector],
	[sprintf("field selector %s", [_fields_text(chosen.fieldSelector)]) | chosen.fieldSelector],
)) if {
	every entry in object.get(chosen, "labelSelector", []) {
		_is_label(entry)
	}
}

_labels_text(entries) := concat(",", [_written(entry) | some entry in entries])

_fields_text(entries) := concat(",", [text |
	some entry in entries
	text := sprintf("%s=%s", [entry.key, strings.replace_n({`\`: `\\`, ",": `\,`, "=": `\=`}, entry.value)])
])

_is_label(entry) if {
	regex.match(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`, entry.key)
	regex.match(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`, object.get(entry, "value", ""))
}
