# METADATA
# description: |
#   What the selectors of a request say about the objects that it reads. Servers apply
#   them to list, watch and deletecollection alone. A requirement that cannot be read is
#   left out: selectors only narrow, so less is then known.
package writ.access.selectors

import data.writ.access.request

# METADATA
# description: |
#   Whether what the label selector selects has these labels, a list of
#   {"key", "value"}, the value absent if any will do: "true" if every object has, "false"
#   if none has, else "unknown".
labels(entries) := _judge(entries, _labels_left)

# METADATA
# description: |
#   Whether the objects of the request have these fields, a list of {"key", "value"}: by
#   the field selector, and by the name and namespace of the request.
fields(entries) := _judge(entries, _fields_left)

# METADATA
# description: The entries that a label selector leaves undecided, as documents write them.
undecided_labels(entries) := _undecided(entries, _labels_left) if _label_requirements != []

# METADATA
# description: The entries that a field selector leaves undecided, as documents write them.
undecided_fields(entries) := _undecided(entries, _fields_left) if _field_requirements != []

_undecided(entries, left) := concat(",", [_written(entry) |
	some entry in entries
	_open(entry, left)
])

_open(_, left) if _selects_nothing(left)

_open(entry, left) if _entry(entry, left) == "unknown"

_written(entry) := sprintf("%s=%s", [entry.key, entry.value]) if {
	_names_value(entry)
} else := entry.key

_names_value(entry) if is_string(entry.value)

_judge(entries, left) := "unknown" if {
	_selects_nothing(left)
} else := "false" if {
	some entry in entries
	_entry(entry, left) == "false"
} else := "false" if {
	_contradict(entries)
} else := "true" if {
	every entry in entries {
		_entry(entry, left) == "true"
	}
} else := "unknown"

# Of a selector that asks for nothing, or for what no object is, nothing can be said.
_selects_nothing(left) if count(left) == 0

_selects_nothing(left) if {
	some values in left
	not values.absent
	values.only == set()
}

# No object has two values of one key.
_contradict(entries) if {
	some entry in entries
	some other in entries
	entry.key == other.key
	entry.value != other.value
}

_entry(entry, left) := "true" if {
	not left[entry.key].absent
	_fits_all(entry, left[entry.key])
} else := "false" if {
	_fits_none(entry, left[entry.key])
} else := "unknown"

_fits_all(entry, values) if values.only == {entry.value}

_fits_all(entry, _) if not _names_value(entry)

_fits_none(entry, values) if {
	_names_value(entry)
	not entry.value in values.only
}

_fits_none(entry, values) if entry.value in values.not

_fits_none(entry, values) if {
	not _names_value(entry)
	values.only == set()
}

_labels_left := _left(_label_requirements, true)

_fields_left := _left(array.concat(_known_fields, _field_requirements), false)

# The values that all requirements of a key leave: only those of a set, or all but those
# of a set; and whether the key may be absent.
_left(requirements, may_be_absent) := {key: object.union(_values(of), {"absent": _may_be_absent(of, may_be_absent)}) |
	some key in {requirement.key | some requirement in requirements}
	of := [requirement | some requirement in requirements; requirement.key == key]
}

_values(requirements) := {"only": intersection(wanted) - _excluded(requirements)} if {
	wanted := {{value | some value in requirement.values} |
		some requirement in requirements
		requirement.operator in {"In", "DoesNotExist"}
	}
	count(wanted) > 0
} else := {"not": _excluded(requirements)}

_excluded(requirements) := {value |
	some requirement in requirements
	requirement.operator == "NotIn"
	some value in requirement.values
}

default _may_be_absent(_, _) := false

_may_be_absent(requirements, true) if {
	every requirement in requirements {
		requirement.operator in {"NotIn", "DoesNotExist"}
	}
}

_known_fields := [{"key": key, "operator": "In", "values": [value]} |
	some key, value in {"metadata.name": request.canonical.name, "metadata.namespace": request.canonical.namespace}
	value != ""
]

_label_requirements := _readable("labelSelector", {"In", "NotIn", "Exists", "DoesNotExist"})

_field_requirements := _readable("fieldSelector", {"In", "NotIn"})

_readable(selector, operators) := [{"key": requirement.key, "operator": requirement.operator, "values": values} |
	counts
	is_array(request.canonical.attributes[selector])
	some requirement in request.canonical.attributes[selector]
	_is_name(requirement.key)
	requirement.operator in operators
	values := _list(object.get(requirement, "values", null))
	_fitting(requirement.operator, values)
]

# METADATA
# description: Whether servers apply selectors to the request.
counts if {
	lower(request.canonical.verb) in {"list", "watch", "deletecollection"}
	request.canonical.resource != ""
	request.canonical.subresource == ""
}

_is_name(key) if {
	is_string(key)
	key != ""
}

_list(null) := []

_list(values) := values if {
	is_array(values)
	every value in values {
		is_string(value)
	}
}

_fitting(operator, values) if {
	operator in {"In", "NotIn"}
	count(values) > 0
}

_fitting(operator, []) if operator in {"Exists", "DoesNotExist"}
