package writ.visibility_test

import data.writ.visibility

# Policies as they are generated; which cluster a rule is for is in the generated
# tests of real ones.
_rule(name, rule, permissions, entries) := {
	"matched": {"kind": "MonitorAccessPolicy", "namespace": "", "name": name, "rule": rule, "source": sprintf("%s.yaml:1", [name])},
	"permissions": permissions,
	"partial": count(_restricting(entries)) > 0,
	"filters": {type: {"visibility": entry.visibility} | some type, entry in _restricting(entries)},
	"entries": entries,
}

_restricting(entries) := {type: entry |
	some type, entry in entries
	entry.restricts
	type in {"pods", "namespaces"}
}

_entry(visibility, restricts) := {
	"visibility": visibility, "restricts": restricts, "names": {}, "namespaces": {}, "labels": {}, "fields": {},
	"include": [], "exclude": [], "filter": {"visibility": visibility},
}

_policy(name, permissions, entries) := {
	"holds": true,
	"clusters": {0},
	"rules": {0: _rule(name, 0, permissions, entries)},
	"listed": {type: 0 | some type, entry in entries; entry.visibility != "none"},
}

_default(name) := {"holds": true, "rules": {-1: _rule(name, -1, ["view"], {})}}

_row(priority, name, by_default) := [priority, "", name, name, by_default]

_both := ["view", "viewMetrics"]

_world := {
	"allows": {
		"user:one": [_row(100, "viewer", false), _row(200, "all", false)],
		"group:first": [_row(1, "all", false)],
		"user:partial": [_row(100, "partial", false)],
		"user:default": [_row(100, "default", true)],
		"user:over": [_row(100, "over", false)],
		"user:denied": [_row(1, "all", false)],
		"user:everywhere": [_row(1, "all", false)],
		"user:pvc": [_row(10, "hidden", false), _row(20, "pvc", false)],
		"user:system:serviceaccount:n:a": [_row(1, "all", false)],
		"user:nothing": [_row(1, "nothing", false)],
	},
	"denies": {
		"user:denied": [_row(900, "stop", false)],
		"user:everywhere": [_row(900, "stop-all", true)],
	},
	"packages": {"/pvc": "pvc", "/partial": "partial"},
	"policies": {
		"viewer": _policy("viewer", ["view"], {}),
		"all": _policy("all", _both, {"pvc": _entry("all", false)}),
		"partial": _policy("partial", _both, {"pods": _entry("none", true)}),
		"default": _default("default"),
		"over": {"clusters": {0}, "rules": {0: _rule("over", 0, _both, {})}},
		"stop": object.union(_policy("stop", [], {}), {"listed": {"secret": 0}}),
		"stop-all": _default("stop-all"),
		"hidden": _policy("hidden", _both, {"pvc": _entry("none", true)}),
		"pvc": _policy("pvc", _both, {"pvc": object.union(_entry("filtered", true), {"namespaces": {"allows": true, "allowed": {"a": true}}})}),
		"nothing": _policy("nothing", [], {}),
	},
	"metric_sources": {"pvc": {
		"namespaceField": "", "nameField": "", "filterAggregations": true,
		"aggregations": [{"name": "total", "function": "count"}],
	}},
}

_cluster := {"name": "c"}

test_decision[note] if {
	some note, row in {
		"nobody": {"input": {"groups": ["first"], "cluster": _cluster}, "want": ["deny", "no principal", ""]},
		"an action there is not": {"input": {"user": "one", "action": "edit", "cluster": _cluster}, "want": ["deny", "unknown action edit", ""]},
		"no cluster": {"input": {"user": "one"}, "want": ["deny", "no cluster given", ""]},
		"a stranger": {"input": {"user": "x", "cluster": _cluster}, "want": ["deny", "No matching policies found", ""]},
		"the first alone": {"input": {"user": "one", "cluster": _cluster}, "want": ["allow", "Allowed by policy viewer", "viewer"]},
		"the first lacks it": {
			"input": {"user": "one", "action": "viewMetrics", "cluster": _cluster},
			"want": ["deny", "Policy viewer does not permit viewMetrics", "viewer"],
		},
		"a group's goes first": {
			"input": {"user": "one", "groups": ["first"], "action": "viewMetrics", "cluster": _cluster},
			"want": ["allow", "Allowed by policy all", "all"],
		},
		"a service account": {
			"input": {"serviceAccount": {"namespace": "n", "name": "a"}, "cluster": _cluster},
			"want": ["allow", "Allowed by policy all", "all"],
		},
		"partial": {"input": {"user": "partial", "cluster": _cluster}, "want": ["partial", "Allowed by policy partial", "partial"]},
		"the default": {"input": {"user": "default", "cluster": _cluster}, "want": ["allow", "Allowed by policy default", "default"]},
		"the default has no metrics": {
			"input": {"user": "default", "action": "viewMetrics", "cluster": _cluster},
			"want": ["deny", "Policy default does not permit viewMetrics", "default"],
		},
		"it does not hold": {"input": {"user": "over", "cluster": _cluster}, "want": ["deny", "No matching policies found", ""]},
		"denies override": {"input": {"user": "denied", "cluster": _cluster}, "want": ["deny", "Denied by policy stop", "stop"]},
		"denied by default": {"input": {"user": "everywhere", "cluster": _cluster}, "want": ["deny", "Denied by policy stop-all", "stop-all"]},
		"it grants nothing": {"input": {"user": "nothing", "cluster": _cluster}, "want": ["deny", "Policy nothing does not permit view", "nothing"]},
		"custom": {"input": {"user": "denied", "type": "pvc"}, "want": ["allow", "Allowed by policy all", "all"]},
		"custom after hidden": {"input": {"user": "pvc", "type": "pvc", "cluster": _cluster}, "want": ["partial", "Allowed by policy pvc", "pvc"]},
		"custom, cluster denied": {
			"input": {"user": "denied", "type": "pvc", "cluster": _cluster},
			"want": ["deny", "Access denied to cluster 'c': Denied by policy stop", "stop"],
		},
		"custom, not listed": {
			"input": {"user": "one", "type": "vm", "cluster": _cluster},
			"want": ["deny", "No policy grants access to custom resource type: vm", ""],
		},
		"custom, no cluster, listed by a deny": {"input": {"user": "denied", "type": "secret"}, "want": ["deny", "Denied by policy stop", "stop"]},
		"custom, no cluster, denied by default": {"input": {"user": "everywhere", "type": "pvc"}, "want": ["deny", "Denied by policy stop-all", "stop-all"]},
		"custom, no cluster, hidden": {"input": {"user": "pvc", "type": "pvc"}, "want": ["partial", "Allowed by policy pvc", "pvc"]},
	}
	decision := visibility.decision with input as row.input with data.compiled.visibility as _world
	[decision.decision, decision.reason, decision.policy] == row.want
}

test_denied_shows_nothing if {
	decision := visibility.decision with input as {"user": "denied", "type": "pods", "cluster": _cluster, "items": [{}], "metrics": {}}
		with data.compiled.visibility as _world
	object.remove(decision, ["reason", "policy", "matched"]) == {
		"decision": "deny", "permissions": [], "filters": {}, "visible": [], "aggregations": {}, "metrics": {},
	}
	decision.matched[0].rule == 0
}

test_matched_by_default if {
	decision := visibility.decision with input as {"user": "default", "cluster": _cluster} with data.compiled.visibility as _world
	decision.matched == [{"kind": "MonitorAccessPolicy", "namespace": "", "name": "default", "rule": -1, "source": "default.yaml:1"}]
	decision.permissions == ["view"]
}

test_visible[note] if {
	some note, row in {
		"all": {"input": {"user": "one", "type": "pods", "cluster": _cluster, "items": [{}, {}]}, "want": [0, 1]},
		"none": {"input": {"user": "partial", "type": "pods", "cluster": _cluster, "items": [{}]}, "want": []},
		"another type": {"input": {"user": "partial", "type": "nodes", "cluster": _cluster, "items": [{}]}, "want": [0]},
		"the cluster": {"input": {"user": "one", "cluster": _cluster, "items": [{}]}, "want": []},
		"no items": {"input": {"user": "one", "type": "pods", "cluster": _cluster}, "want": []},
		"custom": {
			"input": {"user": "pvc", "type": "pvc", "cluster": _cluster, "items": [{"namespace": "b"}, {"namespace": "a"}]},
			"want": [1],
		},
		"custom, no cluster": {"input": {"user": "pvc", "type": "pvc", "items": [{"namespace": "a"}]}, "want": []},
	}
	decision := visibility.decision with input as row.input with data.compiled.visibility as _world
	decision.visible == row.want
}

test_filters[note] if {
	some note, row in {
		"standard, whatever the type": {"input": {"user": "partial", "type": "nodes", "cluster": _cluster}, "want": {"pods": {"visibility": "none"}}},
		"custom": {"input": {"user": "pvc", "type": "pvc", "cluster": _cluster}, "want": {"pvc": {"visibility": "filtered"}}},
		"allow": {"input": {"user": "denied", "type": "pvc"}, "want": {}},
	}
	decision := visibility.decision with input as row.input with data.compiled.visibility as _world
	decision.filters == row.want
}

test_aggregations[note] if {
	some note, row in {
		"recomputed": {"key": "items", "value": [{"namespace": "a"}, {"namespace": "b"}], "user": "pvc", "want": {"total": 1}},
		"no items": {"key": "groups", "value": [], "user": "pvc", "want": {}},
		"raw": {"key": "items", "value": [{}], "user": "raw", "want": {"total": 99}},
	}
	request := {"user": row.user, "type": "pvc", "cluster": _cluster, "aggregations": {"total": 99}, row.key: row.value}
	world := object.union(_world, {"allows": {"user:raw": [_row(1, "all", false)]}})
	decision := visibility.decision with input as request with data.compiled.visibility as world
	decision.aggregations == row.want
}

test_raw_where_the_source_says_so if {
	request := {"user": "pvc", "type": "pvc", "cluster": _cluster, "aggregations": {"total": 99}}
	decision := visibility.decision with input as request
		with data.compiled.visibility as object.union(_world, {"metric_sources": {"pvc": {"filterAggregations": false}}})
	decision.aggregations == {"total": 99}
}

test_no_source_no_raw if {
	request := {"user": "pvc", "type": "pvc", "cluster": _cluster, "items": [], "aggregations": {"total": 99}}
	decision := visibility.decision with input as request
		with data.compiled.visibility as object.remove(_world, ["metric_sources"])
	decision.aggregations == {}
}

test_metrics_need_the_permission[note] if {
	some note, row in {
		"granted": {"user": "partial", "want": {"pods": 0, "filtered": true, "filter_metadata": {}}},
		"not granted": {"user": "one", "want": {}},
	}
	request := {"user": row.user, "cluster": _cluster, "metrics": {"byNamespace": {}}}
	decision := visibility.decision with input as request with data.compiled.visibility as _world
	every key, value in row.want {
		decision.metrics[key] == value
	}
	count([1 | row.want == {}; decision.metrics != {}]) == 0
}

# What the engine found stands under a key that no request has.
test_totals_of_the_engine if {
	totals := visibility.totals with input as {
		null: {"policy": "/pvc", "rule": 0, "items": [{}, {}, {}]},
		"type": "pvc",
		"cluster": _cluster,
		"aggregations": {"total": 99},
	}
		with data.compiled.visibility as _world
	totals == {"aggregations": {"total": 3}, "metrics": {}}
}

test_totals_of_the_engine_without_items if {
	totals := visibility.totals with input as {null: {"policy": "/pvc", "rule": 0}, "type": "pvc", "cluster": _cluster}
		with data.compiled.visibility as _world
	totals == {"aggregations": {}, "metrics": {}}
}

test_metrics_of_the_engine if {
	totals := visibility.totals with input as {
		null: {"policy": "/partial", "rule": 0},
		"type": "",
		"cluster": _cluster,
		"metrics": {"totals": {"nodes": 1}},
	}
		with data.compiled.visibility as _world
	totals == {"aggregations": {}, "metrics": {"nodes": 1, "filtered": true, "filter_metadata": {}}}
}

test_invalid if {
	decision := visibility.decision with input as {"User": "u"}
	decision == {"error": {"code": "invalid_request", "message": "User: unknown key"}}
}

test_no_policies[note] if {
	some note, row in {
		"cluster": {"input": {"user": "u", "cluster": _cluster}, "want": "No matching policies found"},
		"custom": {"input": {"user": "u", "type": "pvc"}, "want": "No policy grants access to custom resource type: pvc"},
	}
	decision := visibility.decision with input as row.input with data.compiled.visibility as {}
	decision.reason == row.want
}
