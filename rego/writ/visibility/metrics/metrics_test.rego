package writ.visibility.metrics_test

import data.writ.visibility.metrics

_entry(fields) := object.union(
	{"visibility": "filtered", "filter": {}, "names": {}, "namespaces": {}, "labels": {}, "fields": {}},
	fields,
)

_literals(values) := {"allowed": {"literals": {value: true | some value in values}}}

_app := {"allowed": {"patterns": ["(?s)^app-.*$"]}}

_metrics := {
	"totals": {"namespaces": 3, "pods": 115, "deployments": 24, "nodes": 3, "cpu_capacity": 20, "operators": 12, "services": null},
	"byNamespace": {
		"app-a": {"pods": 10, "deployments": 3, "labels": {"team": "blue"}},
		"app-b": {"pods": 5, "deployments": "x"},
		"kube-system": {"pods": 100, "deployments": 20},
	},
	"byNode": {
		"w1": {"ready": true, "labels": {"env": "prod"}, "cpu_capacity": 8, "cpu_requested": 2},
		"w2": {"ready": false, "labels": {"env": "prod"}, "cpu_capacity": 8, "cpu_requested": 6},
		"m1": {"ready": true, "roles": ["master"], "cpu_capacity": 4, "cpu_requested": 1},
	},
}

test_seen[note] if {
	some note, row in {
		"unrestricted": {
			"entries": {},
			"want": {"namespaces": 3, "pods": 115, "nodes": 3, "operators": 12, "nodes_ready": 2, "cpu_requested": 9, "filtered": false},
		},
		"namespaces": {
			"entries": {"namespaces": _entry({"names": _app})},
			"want": {
				"namespaces": 2, "pods": 15, "deployments": 3, "services": 0, "nodes": 3, "cpu_capacity": 20, "filtered": true,
				"filter_metadata": {"allowed_namespaces": 2},
			},
		},
		"namespaces by label": {
			"entries": {"namespaces": _entry({"labels": {"team": "blue"}})},
			"want": {"namespaces": 1, "pods": 10},
		},
		"nodes": {
			"entries": {"nodes": _entry({"labels": {"env": "prod"}})},
			"want": {
				"nodes": 2, "nodes_ready": 1, "nodes_not_ready": 1, "cpu_capacity": 16, "cpu_usage_percent": 50, "memory_usage_percent": 0,
				"pods": 115, "filter_metadata": {"allowed_nodes": 2},
			},
		},
		"masters": {"entries": {"nodes": _entry({"visibility": "all", "hideMasters": true})}, "want": {"nodes": 2}},
		"pods by namespace": {"entries": {"pods": _entry({"namespaces": _literals(["app-a"])})}, "want": {"pods": 10, "namespaces": 3, "filter_metadata": {}}},
		"pods beside namespaces": {
			"entries": {"namespaces": _entry({"names": _app}), "pods": _entry({"namespaces": _literals(["app-a", "kube-system"])})},
			"want": {"pods": 10, "namespaces": 2},
		},
		"pods but some": {
			"entries": {"pods": _entry({"visibility": "all", "namespaces": {"denied": {"literals": {"kube-system": true}}}})},
			"want": {"pods": 15},
		},
		"pods by name": {"entries": {"pods": _entry({"names": _literals(["web"])})}, "want": {"pods": null, "pods_failed": null, "namespaces": 3}},
		"pods by label": {"entries": {"pods": _entry({"labels": {"a": "b"}})}, "want": {"pods": null}},
		"pods but named ones": {
			"entries": {"pods": _entry({"visibility": "all", "names": {"denied": {"literals": {"x": true}}}})},
			"want": {"pods": null},
		},
		"no pods": {"entries": {"pods": _entry({"visibility": "none", "names": _literals(["web"])})}, "want": {"pods": 0}},
		"no criteria": {"entries": {"pods": _entry({})}, "want": {"pods": 0}},
	}
	seen := metrics.seen(row.entries, _metrics)
	every key, value in row.want {
		seen[key] == value
	}
}

test_not_seen[note] if {
	some note, row in {
		"others": {"entries": {"pods": _entry({})}, "metrics": _metrics, "key": "operators"},
		"a total of namespaces": {
			"entries": {"namespaces": _entry({})},
			"metrics": {"totals": {"namespaces": 3}},
			"key": "namespaces",
		},
		"a total of nodes": {"entries": {"nodes": _entry({})}, "metrics": {"totals": {"cpu_capacity": 3}}, "key": "cpu_capacity"},
		"a total of pods": {"entries": {"namespaces": _entry({})}, "metrics": {"totals": {"pods": 3}}, "key": "pods"},
		"unknown metrics": {"entries": {}, "metrics": {}, "key": "pods"},
		"what is not filtered": {"entries": {}, "metrics": _metrics, "key": "filter_metadata"},
	}
	not metrics.seen(row.entries, row.metrics)[row.key]
}

test_nothing_given if {
	metrics.seen({}, {}) == {"filtered": false}
	metrics.seen({"nodes": _entry({})}, {}) == {"filtered": true, "filter_metadata": {}}
}
