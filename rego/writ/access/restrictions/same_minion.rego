package writ.access.restrictions

import data.writ.access.kinds
import data.writ.access.request
import data.writ.access.selectors

# The order matters: a pod without a node is not on the requester's node, even if
# the requester's node is unknown.
_same_minion := "false" if {
	not _about_pods
} else := "false" if {
	_runs_nowhere
} else := "unknown" if {
	not _requester_node
} else := selectors.fields(_on_own_node) if {
	not _pod_node
} else := "true" if {
	_requester_node == _pod_node
} else := "false"

# Of several pods, which a list reads, only a field selector says where they run.
_on_own_node := [{"key": "spec.nodeName", "value": _requester_node}]

_about_pods if {
	request.canonical.apiGroup == ""
	some word in kinds.same(lower(request.canonical.resource))
	word in {"pod", "pods"}
}

_requester_node := node if {
	startswith(request.canonical.user, "system:node:")
	node := trim_prefix(request.canonical.user, "system:node:")
	node != ""
} else := _fact("minion")

# If the pod could not be fetched, its spec in the request is ignored.
_pod_node := node if {
	node := _spec.nodeName
	is_string(node)
	node != ""
} else := _fact("podMinion")

_runs_nowhere if {
	_spec
	not _pod_node
}

_spec := request.canonical.pod.spec if {
	request.canonical.podError == ""
	is_object(request.canonical.pod.spec)
}

_fact(name) := value if {
	value := request.canonical.attributes[name]
	is_string(value)
	value != ""
}
