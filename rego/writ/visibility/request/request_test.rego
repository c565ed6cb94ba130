package writ.visibility.request_test

import data.writ.visibility.request

test_problem[note] if {
	some note, row in {
		"not an object": {"input": "x", "want": "the request is not a JSON object"},
		"unknown key": {"input": {"User": "u"}, "want": `unknown key "User"`},
		"user": {"input": {"user": 1}, "want": `key "user" must be a string`},
		"action": {"input": {"action": ["view"]}, "want": `key "action" must be a string`},
		"type": {"input": {"type": {}}, "want": `key "type" must be a string`},
		"groups": {"input": {"groups": "g"}, "want": `key "groups" must be a list of strings`},
		"a group": {"input": {"groups": [null]}, "want": `key "groups" must be a list of strings; element 0 is not a string`},
		"service account": {"input": {"serviceAccount": "a"}, "want": `key "serviceAccount" must be an object`},
		"its name": {"input": {"serviceAccount": {"name": 1}}, "want": `key "serviceAccount.name" must be a string`},
		"cluster": {"input": {"cluster": "c"}, "want": `key "cluster" must be an object`},
		"its name is a number": {"input": {"cluster": {"name": 1}}, "want": `key "cluster.name" must be a string`},
		"its labels": {"input": {"cluster": {"labels": {"a": 1}}}, "want": `key "cluster.labels" must be an object of strings; the value of "a" is not a string`},
		"items": {"input": {"items": {}}, "want": `key "items" must be a list of objects`},
		"an item": {"input": {"items": [{}, "x"]}, "want": "item 1: the item is not a JSON object"},
		"name of an item": {"input": {"items": [{"name": 1}]}, "want": `item 0: key "name" must be a string`},
		"label of an item": {"input": {"items": [{"labels": {"a": null}}]}, "want": `item 0: key "labels" must be an object of strings; the value of "a" is not a string`},
		"fields of an item": {"input": {"items": [{"fields": []}]}, "want": `item 0: key "fields" must be an object`},
		"aggregations": {"input": {"aggregations": []}, "want": `key "aggregations" must be an object`},
		"metrics": {"input": {"metrics": 1}, "want": `key "metrics" must be an object`},
	}
	request.problem == row.want with input as row.input
}

# Input that is absent is not even null.
test_no_input if request.problem == "the request is not a JSON object"

test_problem_of_metrics[note] if {
	some note, row in {
		"totals": {"is": {"totals": 1}, "want": `key "metrics.totals" must be an object`},
		"a total": {"is": {"totals": {"pods": 1, "nodes": "3"}}, "want": `metrics.totals: key "nodes" must be a number`},
		"an unknown total": {"is": {"totals": {"filtered": true}}, "want": `metrics.totals: key "filtered" must be a number`},
		"records": {"is": {"byNamespace": []}, "want": `key "metrics.byNamespace" must be an object`},
		"a record": {"is": {"byNode": {"w": 1}}, "want": `metrics.byNode: record "w": it is not a JSON object`},
		"a record of null": {"is": {"byNamespace": {"a": null}}, "want": `metrics.byNamespace: record "a": it is not a JSON object`},
		"a number of a namespace": {"is": {"byNamespace": {"a": {"pods": "3"}}}, "want": `metrics.byNamespace: record "a": key "pods" must be a number`},
		"a number of a node": {"is": {"byNode": {"w": {"cpu_capacity": [8]}}}, "want": `metrics.byNode: record "w": key "cpu_capacity" must be a number`},
		"labels of a namespace": {"is": {"byNamespace": {"a": {"labels": []}}}, "want": `metrics.byNamespace: record "a": key "labels" must be an object of strings`},
		"a label of a node": {"is": {"byNode": {"w": {"labels": {"a": 1}}}}, "want": `metrics.byNode: record "w": key "labels" must be an object of strings; the value of "a" is not a string`},
		"ready": {"is": {"byNode": {"w": {"ready": "true"}}}, "want": `metrics.byNode: record "w": key "ready" must be a boolean`},
		"ready as a number": {"is": {"byNode": {"w": {"ready": 1}}}, "want": `metrics.byNode: record "w": key "ready" must be a boolean`},
		"ready of a namespace": {"is": {"byNamespace": {"a": {"ready": true}}}, "want": `metrics.byNamespace: record "a": key "ready" must be a number`},
		"roles": {"is": {"byNode": {"w": {"roles": "master"}}}, "want": `metrics.byNode: record "w": key "roles" must be a list of strings`},
		"a role": {"is": {"byNode": {"w": {"roles": ["worker", 1]}}}, "want": `metrics.byNode: record "w": key "roles" must be a list of strings; element 1 is not a string`},
	}
	request.problem == row.want with input.metrics as row.is
}

test_no_problem_of_metrics[note] if {
	some note, metrics in {
		"none": null,
		"empty": {},
		"parts of null": {"totals": null, "byNamespace": null, "byNode": null},
		"numbers of null": {"totals": {"pods": null}, "byNamespace": {"a": {"pods": null, "labels": null}}},
		"a node's nulls": {"byNode": {"w": {"cpu_capacity": null, "labels": null, "ready": null, "roles": null}}},
		"a whole node": {"byNode": {"w": {"cpu_capacity": 8000, "labels": {"a": ""}, "ready": false, "roles": ["worker"]}, "v": {}}},
		"a metric of one's own": {"totals": {"my metric": -0.5}, "byNamespace": {"": {"quotas": 2}}},
		"unused members": {"byZone": "eu", "extra": {"a": {"ready": "true"}}, "Totals": []},
	}
	not request.problem with input.metrics as metrics
}

test_no_problem[note] if {
	some note, row in {
		"empty": {},
		"nulls": {
			"user": null, "groups": null, "serviceAccount": null, "action": null, "cluster": null,
			"type": null, "items": null, "aggregations": null, "metrics": null,
		},
		"nulls inside": {
			"serviceAccount": {"name": null},
			"cluster": {"name": null, "labels": null},
			"items": [{"name": null, "namespace": null, "labels": null, "fields": null}],
			"metrics": {"totals": null, "byNode": null},
		},
		"more than is read": {"items": [{"kind": 1}], "cluster": {"region": 1}, "metrics": {"byZone": 1}},
	}
	not request.problem with input as row
}

test_subjects[note] if {
	some note, row in {
		"user": {"input": {"user": "u"}, "want": ["user:u"]},
		"groups": {"input": {"user": "u", "groups": ["", "g", "h"]}, "want": ["user:u", "group:g", "group:h"]},
		"service account": {
			"input": {"serviceAccount": {"namespace": "n", "name": "a"}},
			"want": ["user:system:serviceaccount:n:a"],
		},
		"half a service account": {"input": {"user": "u", "serviceAccount": {"namespace": "n", "name": ""}}, "want": ["user:u"]},
		"stranger": {"input": {"user": ""}, "want": []},
	}
	request.subjects == row.want with input as row.input
}

test_principal[note] if {
	some note, row in {
		"user": {"input": {"user": "u"}, "want": true},
		"groups alone": {"input": {"groups": ["g"]}, "want": false},
	}
	principal := [true | request.has_principal] with input as row.input
	principal == [true | row.want]
}

test_permission[note] if {
	some note, row in {
		"absent": {"input": {}, "want": "view"},
		"empty": {"input": {"action": ""}, "want": "view"},
		"null": {"input": {"action": null}, "want": "view"},
		"metrics": {"input": {"action": "viewMetrics"}, "want": "viewMetrics"},
	}
	request.permission == row.want with input as row.input
}

test_no_permission[action] if {
	some action in ["edit", "view_metrics", "View"]
	not request.permission with input.action as action
}

test_custom[type] if {
	some type in ["pvc", "pod", "Pods"]
	request.custom with input.type as type
}

test_standard[type] if {
	some type in ["", "nodes", "namespaces", "operators", "pods", "alerts", "events"]
	not request.custom with input.type as type
}
