# METADATA
# description: |
#   The metrics of a cluster: its totals if nothing is hidden, else sums over the records
#   of visible namespaces and nodes.
package writ.visibility.metrics

import data.writ.visibility.items
import data.writ.visibility.text

_summed_by_namespace := {"deployments", "services", "statefulsets", "daemonsets"}

_summed_by_node := {
	"cpu_capacity", "cpu_allocatable", "cpu_requested",
	"memory_capacity", "memory_allocatable", "memory_requested",
	"storage_capacity", "storage_used",
}

# The metrics that are hidden together, by the type whose entry hides them.
_groups := {
	"namespaces": ({"namespaces"} | _summed_by_namespace),
	"pods": {"pods", "pods_running", "pods_pending", "pods_failed"},
	"nodes": ({"nodes", "nodes_ready", "nodes_not_ready", "cpu_usage_percent", "memory_usage_percent"} | _summed_by_node),
}

_group_names := {name | some names in _groups; some name in names}

# METADATA
# description: The metrics of the request, restricted to what the rule's entries allow.
seen(entries, metrics) := object.union_n([
	{name: value | not filtered; some name, value in totals; not name in _group_names},
	_group_metrics(restricted, "namespaces", totals, _namespace_metrics(metrics, namespaces)),
	_group_metrics(restricted, "pods", totals, _pod_metrics(restricted.pods, entries, metrics, namespaces)),
	_group_metrics(restricted, "nodes", totals, _node_metrics(metrics, nodes)),
	{"filtered": filtered},
	{"filter_metadata": _metadata(restricted, metrics, namespaces, nodes) | filtered},
]) if {
	restricted := _restricted(entries)
	filtered := true in [restricted.pods, restricted.nodes]
	totals := {name: value | some name, value in _object(metrics, "totals"); value != null}
	namespaces := _shown(restricted.namespaces, entries, "namespaces", _object(metrics, "byNamespace"))
	nodes := _shown(restricted.nodes, entries, "nodes", _object(metrics, "byNode"))
}

# A hidden namespace hides its pods.
_restricted(entries) := {
	"namespaces": _restricts(entries, "namespaces"),
	"pods": true in [_restricts(entries, "namespaces"), _restricts(entries, "pods")],
	"nodes": _restricts(entries, "nodes"),
}

_restricts(entries, type) if {
	entries[type].filter
} else := false

# Totals are used only for metrics that are not restricted.
_group_metrics(restricted, group, _, computed) := computed if restricted[group]

_group_metrics(restricted, group, totals, computed) := object.union(
	computed,
	{name: totals[name] | some name in _groups[group]; name in object.keys(totals)},
) if {
	not restricted[group]
}

_metadata(restricted, metrics, namespaces, nodes) := object.union(
	{"allowed_namespaces": count(namespaces) |
		restricted.namespaces
		is_object(metrics.byNamespace)
	},
	{"allowed_nodes": count(nodes) |
		restricted.nodes
		is_object(metrics.byNode)
	},
)

# The records that the entry of the type shows.
_shown(false, _, _, records) := records

_shown(true, entries, type, records) := {name: record |
	some name, record in records
	items.standard(entries, type, _item(name, record))
}

_item(name, record) := {
	"name": name,
	"labels": _object(record, "labels"),
	"fields": {"roles": object.get(record, "roles", null)},
}

_namespace_metrics(metrics, namespaces) := object.union(
	{"namespaces": count(namespaces)},
	_sums(namespaces, _summed_by_namespace),
) if {
	is_object(metrics.byNamespace)
} else := {}

_pod_metrics(restricted, entries, metrics, namespaces) := _pods(restricted, entries, namespaces) if {
	is_object(metrics.byNamespace)
} else := {}

_pods(false, _, namespaces) := _sums(namespaces, _groups.pods)

_pods(true, entries, namespaces) := _sums(namespaces, _groups.pods) if {
	not entries.pods
} else := {name: null | some name in _groups.pods} if {
	_beyond_namespaces(entries.pods)
} else := _sums(_with_pods(entries.pods, namespaces), _groups.pods)

# The number of visible pods is unknown if the entry selects pods by name or label,
# because the counts are by namespace.
_beyond_namespaces(entry) if {
	entry.visibility == "filtered"
	_selects(entry)
}

_beyond_namespaces(entry) if {
	entry.visibility == "all"
	entry.names.denied
}

_selects(entry) if entry.names.allowed

_selects(entry) if entry.names.denied

_selects(entry) if count(entry.labels) > 0

# The namespaces in which the entry shows pods. It has no criteria for names of pods, so
# the name does not matter.
_with_pods(entry, namespaces) := {namespace: record |
	some namespace, record in namespaces
	items.shows(entry, "pod", {"names": [namespace], "whole": false}, {})
}

_node_metrics(metrics, nodes) := object.union_n([
	{
		"nodes": count(nodes),
		"nodes_ready": ready,
		"nodes_not_ready": count(nodes) - ready,
		"cpu_usage_percent": _percent(sums.cpu_requested, sums.cpu_capacity),
		"memory_usage_percent": _percent(sums.memory_requested, sums.memory_capacity),
	},
	sums,
]) if {
	is_object(metrics.byNode)
	ready := count([name | some name, node in nodes; _is_true(node.ready)])
	sums := _sums(nodes, _summed_by_node)
} else := {}

_is_true(true)

_percent(_, 0) := 0

_percent(part, whole) := text.rounded((100 * part) / whole) if whole != 0

_sums(records, names) := {name: total |
	some name in names
	total := text.rounded(sum([value | some record in records; value := record[name]; is_number(value)]))
}

_object(holder, key) := value if {
	value := holder[key]
	is_object(value)
} else := {}
