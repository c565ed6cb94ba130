# METADATA
# description: |
#   The request of the access point: whether it is one, its canonical form, and
#   what the rules look up in it. The embedded engine sends requests that are
#   checked and canonical, and marks them with the key null, which no JSON text
#   can hold; any other input is checked and written out here.
package writ.access.request

import data.writ.access.kinds

_strings := {
	"user", "verb", "apiGroup", "resource", "subresource", "namespace", "name", "path",
	"cluster", "tenant", "session", "escalation", "podError",
}

# METADATA
# description: |
#   The request with every string, groups, extra and attributes written out.
#   fields, labels, namespaceLabels and pod are there only where they are known.
# scope: document
canonical := input if input[null]

canonical := _written_out if not input[null]

# METADATA
# description: The canonical request alone, as extensions and expressions read it.
# scope: document
whole := object.remove(input, [null]) if input[null]

whole := _written_out if not input[null]

_written_out := object.union_n([
	{key: "" | some key in _strings},
	{"groups": [], "extra": {}, "attributes": {}},
	{key: value | some key, value in input; value != null},
	{"cluster": name | name := _cluster},
	{"tenant": name | name := _tenant},
])

# A request that names no cluster is about that of the bundle.
_cluster := data.compiled.access.cluster if not _is_set("cluster")

# A request that names no tenant is about that of its cluster.
_tenant := data.compiled.requestable.clusters[_known_cluster].tenant if not _is_set("tenant")

_known_cluster := input.cluster if _is_set("cluster")

_known_cluster := _cluster if not _is_set("cluster")

# METADATA
# description: |
#   What the rules look up: subject keys; verbs, groups and resources as
#   Kubernetes' rules spell what fits; verbs and kinds as Origin's entries do.
lookup := {
	"subjects": _subjects,
	"verbs": [canonical.verb, "*"],
	"groups": [canonical.apiGroup, "*"],
	"resources": _resources,
	"originVerbs": _origin_verbs,
	"originKinds": _origin_kinds,
}

_subjects := array.concat(
	[sprintf("user:%s", [canonical.user]) | canonical.user != ""],
	[sprintf("group:%s", [group]) | some group in canonical.groups],
)

_resources := array.concat(
	[full_resource, "*"],
	[sprintf("*/%s", [canonical.subresource]) | canonical.subresource != ""],
)

# METADATA
# description: The resource as rules spell it, "pods" or "pods/log".
# scope: document
full_resource := canonical.resource if canonical.subresource == ""

full_resource := sprintf("%s/%s", [canonical.resource, canonical.subresource]) if canonical.subresource != ""

_verb := lower(canonical.verb)

# METADATA
# description: |
#   The verbs a request carries: Kubernetes' requests are wider than Origin's set
#   of verbs.
carried := ["exec"] if {
	lower(canonical.subresource) in {"exec", "attach"}
} else := ["proxy"] if {
	lower(canonical.subresource) in {"proxy", "portforward"}
} else := ["patch", "update"] if {
	_verb == "patch"
} else := ["deletecollection", "delete"] if {
	_verb == "deletecollection"
} else := [_verb, "impersonate"] if {
	startswith(_verb, "impersonate:")
} else := [_verb]

# null stands for "all of it": a request for "*" is covered as a whole or not at
# all, so no entry is looked up for it.
_origin_verbs := [null] if {
	carried == ["*"]
} else := array.concat(carried, ["*"])

_origin_kinds := [null] if {
	canonical.resource == "*"
} else := array.concat(_kind_entries, ["*"])

_kind_entries := [entry |
	some word in array.concat(kinds.same(lower(canonical.resource)), ["*"])
	some entry in array.concat(
		[word | word != "*"],
		[sprintf("%s/%s", [word, _origin_subresource]) | _origin_subresource != ""],
	)
]

_origin_subresource := lower(canonical.subresource) if {
	canonical.subresource != ""
} else := _stream if {
	_stream
} else := ""

# The verbs exec and proxy without a subresource stand for the one of that name, so that
# "-pods/exec" and denials of it see them.
_stream := _verb if {
	canonical.subresource == ""
	_verb in {"exec", "proxy"}
}
