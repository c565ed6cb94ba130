package writ.visibility_test

import data.writ.visibility

# Policies by name. Tables and generated rules are derived from them as the translator
# does it; generated tests of real policies test which clusters a rule selects.
_entry(visibility) := {
	"custom": true, "visibility": visibility, "names": {}, "namespaces": {}, "labels": {}, "fields": {},
	"include": [], "exclude": [],
}

_restricting(visibility) := object.union(_entry(visibility), {"filter": {"visibility": visibility}})

_policy(name, permissions, entries) := {
	"namespace": "", "name": name, "module": name,
	"rules": [{"source": sprintf("%s.yaml:1", [name]), "permissions": permissions, "entries": entries}],
	"listed": {type: 0 | some type, entry in entries; entry.visibility != "none"},
}

_default(name) := {
	"namespace": "", "name": name, "module": name, "rules": [], "listed": {},
	"byDefault": {"source": sprintf("%s.yaml:1", [name]), "permissions": ["view"], "entries": {}},
}

_both := ["view", "viewMetrics"]

# The policies in the order of evaluation.
_policies := [
	_policy("nothing", [], {}),
	_policy("hidden", _both, {"pvc": _restricting("none")}),
	_policy("pvc", _both, {"pvc": object.union(_restricting("filtered"), {"namespaces": {"allowed": {"literals": {"a": true}}}})}),
	_policy("group", _both, {"pvc": _entry("all")}),
	_policy("viewer", ["view"], {}),
	_policy("partial", _both, {"pods": object.remove(_restricting("none"), ["custom"])}),
	_default("default"),
	_policy("over", _both, {}),
	_policy("all", _both, {"pvc": _entry("all")}),
	object.union(_policy("stop", [], {}), {"listed": {"secret": 0}}),
	_default("stop-all"),
]

_indexes(names) := [i | some i, policy in _policies; policy.name in names]

_tables := {
	"policies": _policies,
	"allows": {
		"user:one": _indexes({"viewer", "all"}),
		"group:first": _indexes({"group"}),
		"user:partial": _indexes({"partial"}),
		"user:default": _indexes({"default"}),
		"user:over": _indexes({"over"}),
		"user:denied": _indexes({"all"}),
		"user:everywhere": _indexes({"all"}),
		"user:pvc": _indexes({"hidden", "pvc"}),
		"user:system:serviceaccount:n:a": _indexes({"all"}),
		"user:nothing": _indexes({"nothing"}),
	},
	"denies": {
		"user:denied": _indexes({"stop"}),
		"user:everywhere": _indexes({"stop-all"}),
	},
	"sources": [{
		"type": "pvc", "filterAggregations": true,
		"aggregations": [{"name": "total", "function": "count"}],
	}],
	"types": {"pvc": 0},
}

_rules := {policy.name: _generated(policy) | some policy in _policies}

_generated(policy) := {"clusters": {0}} if policy.name == "over"

_generated(policy) := {"holds": true, "clusters": {0}} if {
	policy.name != "over"
	count(policy.rules) > 0
}

_generated(policy) := {"holds": true} if count(policy.rules) == 0

_cluster := {"name": "c"}

test_decision[note] if {
	some note, row in {
		"stranger": {"input": {"groups": ["first"], "cluster": _cluster}, "want": ["deny", "no principal", ""]},
		"an unknown action": {"input": {"user": "one", "action": "edit", "cluster": _cluster}, "want": ["deny", "unknown action edit", ""]},
		"no cluster": {"input": {"user": "one"}, "want": ["deny", "no cluster given", ""]},
		"a stranger": {"input": {"user": "x", "cluster": _cluster}, "want": ["deny", "No matching policies found", ""]},
		"the first alone": {"input": {"user": "one", "cluster": _cluster}, "want": ["allow", "Allowed by policy viewer", "viewer"]},
		"the first lacks it": {
			"input": {"user": "one", "action": "viewMetrics", "cluster": _cluster},
			"want": ["deny", "Policy viewer does not permit viewMetrics", "viewer"],
		},
		"a group's goes first": {
			"input": {"user": "one", "groups": ["first"], "action": "viewMetrics", "cluster": _cluster},
			"want": ["allow", "Allowed by policy group", "group"],
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
	decision := visibility.decision with input as row.input with data.compiled.visibility.policies as _rules with data.compiled.visibility_tables as _tables
	[decision.decision, decision.reason, decision.policy] == row.want
}

test_denied_shows_nothing if {
	decision := visibility.decision with input as {"user": "denied", "type": "pods", "cluster": _cluster, "items": [{}], "metrics": {}}
		with data.compiled.visibility.policies as _rules with data.compiled.visibility_tables as _tables
	object.remove(decision, ["reason", "policy", "matched"]) == {
		"decision": "deny", "permissions": [], "filters": {}, "visible": [], "aggregations": {}, "metrics": {},
	}
	decision.matched[0].rule == 0
}

test_matched_by_default if {
	decision := visibility.decision with input as {"user": "default", "cluster": _cluster} with data.compiled.visibility.policies as _rules with data.compiled.visibility_tables as _tables
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
	decision := visibility.decision with input as row.input with data.compiled.visibility.policies as _rules with data.compiled.visibility_tables as _tables
	decision.visible == row.want
}

test_filters[note] if {
	some note, row in {
		"standard, whatever the type": {"input": {"user": "partial", "type": "nodes", "cluster": _cluster}, "want": {"pods": {"visibility": "none"}}},
		"custom": {"input": {"user": "pvc", "type": "pvc", "cluster": _cluster}, "want": {"pvc": {"visibility": "filtered"}}},
		"allow": {"input": {"user": "denied", "type": "pvc"}, "want": {}},
	}
	decision := visibility.decision with input as row.input with data.compiled.visibility.policies as _rules with data.compiled.visibility_tables as _tables
	decision.filters == row.want
}

test_aggregations[note] if {
	some note, row in {
		"recomputed": {"key": "items", "value": [{"namespace": "a"}, {"namespace": "b"}], "user": "pvc", "want": {"total": 1}},
		"no items": {"key": "groups", "value": [], "user": "pvc", "want": {}},
		"as given": {"key": "groups", "value": ["first"], "user": "x", "want": {"total": 99}},
	}
	request := {"user": row.user, "type": "pvc", "cluster": _cluster, "aggregations": {"total": 99}, row.key: row.value}
	decision := visibility.decision with input as request
		with data.compiled.visibility.policies as _rules
		with data.compiled.visibility_tables as _tables
	decision.aggregations == row.want
}

test_request_aggregations_without_filter if {
	request := {"user": "pvc", "type": "pvc", "cluster": _cluster, "aggregations": {"total": 99}}
	decision := visibility.decision with input as request
		with data.compiled.visibility.policies as _rules
		with data.compiled.visibility_tables as object.union(_tables, {"sources": [{"filterAggregations": false}]})
	decision.aggregations == {"total": 99}
}

test_no_aggregations_without_source if {
	request := {"user": "pvc", "type": "pvc", "cluster": _cluster, "items": [], "aggregations": {"total": 99}}
	decision := visibility.decision with input as request
		with data.compiled.visibility.policies as _rules
		with data.compiled.visibility_tables as object.union(object.remove(_tables, ["sources", "types"]), {"sources": [], "types": {}})
	decision.aggregations == {}
}

test_metrics_require_permission[note] if {
	some note, row in {
		"granted": {"user": "partial", "want": {"pods": 0, "filtered": true, "filter_metadata": {}}},
		"not granted": {"user": "one", "want": {}},
	}
	request := {"user": row.user, "cluster": _cluster, "metrics": {"byNamespace": {}}}
	decision := visibility.decision with input as request with data.compiled.visibility.policies as _rules with data.compiled.visibility_tables as _tables
	every key, value in row.want {
		decision.metrics[key] == value
	}
	count([1 | row.want == {}; decision.metrics != {}]) == 0
}

test_invalid if {
	decision := visibility.decision with input as {"User": "u"}
	decision == {"error": {"code": "invalid_request", "message": `unknown key "User"`}}
}

test_no_policies[note] if {
	some note, row in {
		"cluster": {"input": {"user": "u", "cluster": _cluster}, "want": "No matching policies found"},
		"custom": {"input": {"user": "u", "type": "pvc"}, "want": "No policy grants access to custom resource type: pvc"},
	}
	decision := visibility.decision with input as row.input
	decision.reason == row.want
}

# A table that is missing has lost denials.
test_incomplete_bundle_denies[note] if {
	some note, row in {
		"all tables": {"tables": {}, "lacks": "visibility_tables.allows"},
		"denials": {"tables": object.remove(_tables, ["denies"]), "lacks": "visibility_tables.denies"},
		"policies": {"tables": object.remove(_tables, ["policies"]), "lacks": "visibility_tables.policies"},
	}
	decision := visibility.decision with input as {"user": "default", "cluster": _cluster}
		with data.compiled.visibility.policies as _rules
		with data.compiled.visibility_tables as row.tables
	decision.decision == "deny"
	decision.reason == sprintf("denied: evaluation error: the bundle lacks data.compiled.%s", [row.lacks])
}

test_policy_that_is_missing_denies if {
	decision := visibility.decision with input as {"user": "default", "cluster": _cluster}
		with data.compiled.visibility.policies as _rules
		with data.compiled.visibility_tables as object.union(_tables, {"policies": []})
	decision.decision == "deny"
	startswith(decision.reason, "denied: evaluation error: the bundle lacks visibility policy ")
}
