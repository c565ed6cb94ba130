# METADATA
# description: |
#   The rules that fit a request by their lists, found in the tables of
#   data.compiled.access, for a stock OPA. References to the store use whole paths:
#   a table bound to a variable would be converted at every request.
# schemas:
#   - data.compiled.access: schema.access_tables
package writ.access.compact

import data.writ.access.dates
import data.writ.access.request
import data.writ.access.sessions

# METADATA
# description: |
#   Every [binding, role, rule] whose binding holds now and applies to the
#   request, and whose lists fit it, before restrictions.
hits := [[binding, role, rule] |
	some key in (_applying | object.keys(sessions.lent))
	binding := _binding(key)
	dates.holds(binding)
	role := data.compiled.access.roles[binding.role]
	some rule in _fitting(role)
]

# A binding that applies only through sessions has them as its member lent.
_binding(key) := data.compiled.access.bindings[key] if key in _applying

_binding(key) := object.union(data.compiled.access.bindings[key], {"lent": sessions.lent[key]}) if not key in _applying

# METADATA
# description: |
#   Why a rule may be lost: a binding that applies, or its role, is missing. Undefined for
#   complete tables.
dangling := sprintf("the bundle lacks what binding %s refers to", [min(_dangling)])

_dangling contains key if {
	some key in (_applying | object.keys(sessions.lent))
	not _has_role(key)
}

_has_role(key) if data.compiled.access.roles[data.compiled.access.bindings[key].role].family

_applying contains key if {
	some subject in request.lookup.subjects
	some key in data.compiled.access.subjects.cluster[subject]
}

_applying contains key if {
	request.canonical.namespace != ""
	some subject in request.lookup.subjects
	some key in data.compiled.access.subjects.namespaces[request.canonical.namespace][subject]
}

_fitting(role) := [rule |
	some rule in role.kubernetes
	_fits(rule)
] if {
	role.family == "kubernetes"
}

_fitting(role) := [rule |
	request.canonical.path == ""
	some rule in role.origin
	_covers(rule.verbs, object.get(rule, "notVerbs", []), request.lookup.originVerbs, rule)
	_covers(rule.kinds, object.get(rule, "notKinds", []), request.lookup.originKinds, rule)
] if {
	role.family == "origin"
}

_fits(rule) if {
	request.canonical.path == ""
	_any(rule.verbs, request.lookup.verbs)
	_any(rule.groups, request.lookup.groups)
	_any(rule.resources, request.lookup.resources)
	_named(rule)
}

_fits(rule) if {
	request.canonical.path != ""
	_any(rule.verbs, request.lookup.verbs)
	some pattern in rule.paths
	_fits_path(pattern)
}

_any(entries, wanted) if {
	some entry in wanted
	entry in entries
}

_named(rule) if not rule.names

_named(rule) if request.canonical.name in rule.names

_fits_path(pattern) if pattern == request.canonical.path

_fits_path(pattern) if {
	endswith(pattern, "*")
	startswith(request.canonical.path, trim_right(pattern, "*"))
}

# A list covers what some positive entry names and no negative one does.
_covers(positive, negative, wanted, _) if {
	wanted != [null]
	_any(positive, wanted)
	not _any(negative, wanted)
}

# All of it: a grant must cover the whole, a denial needs only to touch it.
_covers(positive, [], [null], _) if "*" in positive

_covers(positive, negative, [null], rule) if {
	rule.deny
	count(positive) > 0
	not "*" in negative
}
