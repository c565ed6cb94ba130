# METADATA
# description: |
#   The same rules found in the look-up tree data.compiled.index, which the
#   embedded engine makes from the compact tables. A grant in it is
#   [binding, role, verbs, paths]: verbs leads by verb, group and resource (or by
#   verb and kind) to the numbers of the role's rules.
package writ.access.indexed

import data.writ.access.request

# METADATA
# description: |
#   Every [binding, role, rule] whose binding applies to the request and whose
#   lists fit it. Restrictions are not looked at.
hits := array.concat(_kubernetes, _origin) if {
	request.canonical.path == ""
} else := _paths

# One read of the tree; every step after it is a look-up in a local value.
_held := [grants |
	tree := data.compiled.index
	some [shard, scope, subject] in request.lookup.keys
	grants := tree[shard][scope][subject]
]

_kubernetes := [[grant[0], role, role.rules[number]] |
	lookup := request.lookup
	some grants in _held
	some grant in grants.kubernetes
	role := grant[1]
	some verb in lookup.verbs
	groups := grant[2][verb]
	some group in lookup.groups
	resources := groups[group]
	some resource in lookup.resources
	some number in resources[resource]
]

_origin := [[grant[0], role, rule] |
	lookup := request.lookup
	some grants in _held
	some grant in grants.origin
	role := grant[1]
	some verb in lookup.originVerbs
	kinds := grant[2][verb]
	some kind in lookup.originKinds
	some number in kinds[kind]
	rule := role.rules[number]
	not _negated(rule)
]

_negated(rule) if {
	some verb in request.lookup.originVerbs
	rule.notVerbs[verb]
}

_negated(rule) if {
	some kind in request.lookup.originKinds
	rule.notKinds[kind]
}

_paths := [[grant[0], grant[1], grant[1].rules[number]] |
	lookup := request.lookup
	some grants in _held
	some grant in grants.kubernetes
	some verb in lookup.verbs
	some [pattern, number] in grant[3][verb]
	_fits_path(pattern)
]

_fits_path(pattern) if pattern == request.canonical.path

_fits_path(pattern) if {
	endswith(pattern, "*")
	startswith(request.canonical.path, trim_right(pattern, "*"))
}
