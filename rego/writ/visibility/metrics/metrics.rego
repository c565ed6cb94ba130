# METADATA
# description: |
#   The metrics of a cluster: from its totals where nothing is hidden, else
#   computed from the records of what is shown.
package writ.visibility.metrics

import data.writ.visibility.items
import data.writ.visibility.text

_summed_by_namespace := {"deployments", "services", "statefulsets", "daemonsets"}

_summed_by_node := {
	"cpu_capacity", "cpu_allocatable", "cpu_requested",
	"memory_capacity", "memory_allocatable", "memory_requested",
	"storage_capacity", "storage_used",
}

# The metrics that are restricted together, by what restricts them.
_groups := {
	"namespaces": ({"namespaces"} | _summed_by_namespace),
	"pods": {"pods", "pods_running", "pods_pending", "pods_failed"},
	"nodes": ({"nodes", "nodes_ready", "nodes_not_ready", "cpu_usage_percent", "memory_usage_percent"} | _summed_by_node),
}

_known := {name | some names in _groups; some name in names}

# METADATA
# description: What the entries of a rule let be told of the metrics of a request.
seen(entries, metrics) := object.union_n([
	{name: value | not filtered; some name, value in totals; not name in _known},
	_told(restricted, "namespaces", totals, _namespace_metrics(metrics, namespaces)),
	_told(restricted, "pods", totals, _pod_metrics(restricted.pods, entries, metrics, namespaces)),
	_told(restricted, "nodes", totals, _node_metrics(metrics, nodes)),
	{"filtered": filtered},
	{"filter_metadata": _metadata(restricted, metrics, namespaces, nodes) | filtered},
]) if {
	restricted := _restricted(entries)
	filtered := true in [restricted.pods, restricted.nodes]
	totals := {name: value | some name, value in _object(metrics, "totals"); value != null}
	namespaces := _shown(restricted.namespaces, entries, "namespaces", _object(metrics, "byNamespace"))
	nodes := _shown(restricted.nodes, entries, "nodes", _object(metrics, "byNode"))
}

# Pods are hidden with their namespaces.
_restricted(entries) := {
	"namespaces": _restricts(entries, "namespaces"),
	"pods": true in [_restricts(entries, "namespaces"), _restricts(entries, "pods")],
	"nodes": _restricts(entries, "nodes"),
}

_restricts(entries, type) if {
	entries[type].filter
} else := false

# What is restricted is never told as the totals have it.
_told(restricted, group, _, computed) := computed if restricted[group]

_told(restricted, group, totals, computed) := object.union(
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

# The records of what the entry of the type shows.
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

# How many pods an entry shows cannot be told from counts by namespace where it
# picks them by name or label.
_beyond_namespaces(entry) if {
	entry.visibility == "filtered"
	_picks(entry)
}

_beyond_namespaces(entry) if {
	entry.visibility == "all"
	entry.names.denied
}

_picks(entry) if entry.names.allowed

_picks(entry) if entry.names.denied

_picks(entry) if count(entry.labels) > 0

# The namespaces in which the entry shows pods; it has nothing to say of their
# names, so any will do.
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
