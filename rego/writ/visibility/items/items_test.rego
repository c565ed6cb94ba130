package writ.visibility.items_test

import data.writ.visibility.items

_literals(values) := {"allowed": {"literals": {value: true | some value in values}}}

_entry(fields) := object.union(
	{"visibility": "filtered", "filter": {}, "names": {}, "namespaces": {}, "labels": {}, "fields": {}},
	fields,
)

_app := {"allowed": {"patterns": ["(?s)^app-.*$"]}}

test_standard[note] if {
	some note, row in {
		"no entry": {"entries": {}, "type": "pods", "item": {"name": "web"}, "want": true},
		"a name": {"entries": {"pods": _entry({"names": _literals(["web"])})}, "type": "pods", "item": {"name": "web"}, "want": true},
		"another name": {"entries": {"pods": _entry({"names": _literals(["web"])})}, "type": "pods", "item": {"name": "db"}, "want": false},
		"no name": {"entries": {"pods": _entry({"names": _literals(["web"]), "visibility": "filtered"})}, "type": "pods", "item": {}, "want": false},
		"no name under an explicit all": {"entries": {"pods": _entry({"names": _literals(["web"]), "visibility": "all"})}, "type": "pods", "item": {}, "want": true},
		"a label instead": {
			"entries": {"pods": _entry({"names": _literals(["web"]), "labels": {"team": "blue"}})},
			"type": "pods",
			"item": {"name": "db", "labels": {"team": "blue"}},
			"want": true,
		},
		"denied before allowed": {
			"entries": {"pods": _entry({"names": object.union(_literals(["web"]), {"denied": {"patterns": ["(?s)^w.*$"]}})})},
			"type": "pods",
			"item": {"name": "web"},
			"want": false,
		},
		"nothing allowed": {"entries": {"namespaces": _entry({"names": {"denied": {"literals": {"x": true}}}})}, "type": "namespaces", "item": {"name": "a"}, "want": false},
		"none": {"entries": {"pods": _entry({"visibility": "none"})}, "type": "pods", "item": {"name": "web"}, "want": false},
		"all": {"entries": {"pods": _entry({"visibility": "all"})}, "type": "pods", "item": {"name": "web"}, "want": true},
		"a namespace alone": {"entries": {"pods": _entry({"namespaces": _literals(["a"])})}, "type": "pods", "item": {"name": "p", "namespace": "a"}, "want": true},
		"a namespace is a gate": {
			"entries": {"pods": _entry({"namespaces": _literals(["a"]), "labels": {"t": "b"}})},
			"type": "pods",
			"item": {"name": "p", "namespace": "a"},
			"want": false,
		},
		"no namespace": {"entries": {"pods": _entry({"namespaces": _literals(["a"])})}, "type": "pods", "item": {"name": "p"}, "want": false},
		"a namespace's name": {"entries": {"namespaces": _entry({"names": _app})}, "type": "namespaces", "item": {"name": "x", "namespace": "app-1"}, "want": true},
		"a hidden namespace": {"entries": {"namespaces": _entry({"names": _app})}, "type": "pods", "item": {"name": "p", "namespace": "kube-system"}, "want": false},
		"a shown namespace": {"entries": {"namespaces": _entry({"names": _app})}, "type": "pods", "item": {"name": "p", "namespace": "app-1"}, "want": true},
		"shown by label only": {"entries": {"namespaces": _entry({"labels": {"t": "b"}})}, "type": "pods", "item": {"name": "p", "namespace": "a", "labels": {"t": "b"}}, "want": false},
		"an alert of the cluster": {"entries": {"namespaces": _entry({"names": _app})}, "type": "alerts", "item": {"name": "x"}, "want": true},
		"an event of none": {"entries": {"namespaces": _entry({"names": _app})}, "type": "events", "item": {"name": "x"}, "want": false},
		"nodes have none": {"entries": {"namespaces": _entry({"names": _app})}, "type": "nodes", "item": {"name": "x", "namespace": "y"}, "want": true},
		"a master by label": {
			"entries": {"nodes": _entry({"visibility": "all", "hideMasters": true})},
			"type": "nodes",
			"item": {"name": "m", "labels": {"node-role.kubernetes.io/control-plane": ""}},
			"want": false,
		},
		"a master by role": {
			"entries": {"nodes": _entry({"visibility": "all", "hideMasters": true})},
			"type": "nodes",
			"item": {"name": "m", "fields": {"roles": ["worker", "master"]}},
			"want": false,
		},
		"a worker": {"entries": {"nodes": _entry({"visibility": "all", "hideMasters": true})}, "type": "nodes", "item": {"name": "w", "fields": {"roles": ["worker"]}}, "want": true},
		"one hiding label": {
			"entries": {"nodes": _entry({"visibility": "all", "hideByLabels": {"a": "1", "b": "2"}})},
			"type": "nodes",
			"item": {"name": "w", "labels": {"b": "2"}},
			"want": false,
		},
	}
	_standard(row) == row.want
}

test_operator[note] if {
	some note, row in {
		"whole cluster": {"available": ["*"], "want": true},
		"one of several": {"available": ["m", "x"], "want": true},
		"another": {"available": ["x"], "want": false},
		"nowhere": {"available": [], "want": false},
		"no list": {"available": "m", "want": false},
	}
	item := {"name": "o", "fields": {"available_in_namespaces": row.available}}
	_standard({"entries": {"operators": _entry({"namespaces": _literals(["m"])})}, "type": "operators", "item": item}) == row.want
}

test_operator_in_hidden_namespaces[note] if {
	some note, row in {
		"whole cluster": {"visibility": "filtered", "available": ["*"], "want": true},
		"whole cluster, none shown": {"visibility": "none", "available": ["*"], "want": false},
		"one shown": {"visibility": "filtered", "available": ["x", "app-1"], "want": true},
		"none shown": {"visibility": "filtered", "available": ["x"], "want": false},
	}
	entries := {"namespaces": _entry({"visibility": row.visibility, "names": _app})}
	item := {"name": "o", "fields": {"available_in_namespaces": row.available}}
	_standard({"entries": entries, "type": "operators", "item": item}) == row.want
}

test_operator_elsewhere[note] if {
	some note, row in {
		"its namespace": {"item": {"name": "o", "namespace": "m"}, "want": true},
		"its display name": {"item": {"namespace": "m", "fields": {"display_name": "secret"}}, "want": false},
		"denied is struck out": {"item": {"name": "o", "fields": {"available_in_namespaces": ["m", "d"]}}, "want": true},
		"all denied": {"item": {"name": "o", "fields": {"available_in_namespaces": ["d"]}}, "want": false},
	}
	entry := _entry({
		"visibility": "all",
		"names": {"denied": {"literals": {"secret": true}}},
		"namespaces": {"denied": {"literals": {"d": true}}},
	})
	_standard({"entries": {"operators": entry}, "type": "operators", "item": row.item}) == row.want
}

_standard(row) if {
	items.standard(row.entries, row.type, row.item)
} else := false

test_custom[note] if {
	some note, row in {
		"no criteria": {"entry": {}, "item": {}, "want": true},
		"namespace": {"entry": {"namespaces": _app}, "item": {"namespace": "app-1"}, "want": true},
		"other namespace": {"entry": {"namespaces": _app}, "item": {"namespace": "dev"}, "want": false},
		"no namespace": {"entry": {"namespaces": _app}, "item": {}, "want": false},
		"no namespace, only denied": {"entry": {"namespaces": {"denied": {"patterns": ["(?s)^.*$"]}}}, "item": {}, "want": true},
		"no name": {"entry": {"names": {"denied": {"literals": {"x": true}}}}, "item": {}, "want": false},
		"label": {"entry": {"labels": {"a": "1"}}, "item": {"labels": {"a": "2"}}, "want": false},
		"field": {"entry": {"fields": {"phase": _literals(["Bound"])}}, "item": {"fields": {"phase": "Bound"}}, "want": true},
		"number": {"entry": {"fields": {"size": _literals(["1"])}}, "item": {"fields": {"size": 1.0}}, "want": true},
		"missing field": {"entry": {"fields": {"phase": _literals(["Bound"])}}, "item": {}, "want": false},
		"missing field, only denied": {"entry": {"fields": {"phase": {"denied": {"literals": {"Failed": true}}}}}, "item": {}, "want": true},
		"no field denied": {"entry": {"fields": {"phase": {"denied": {"literals": {"": true}}}}}, "item": {"fields": {"phase": null}}, "want": false},
		"no text": {"entry": {"fields": {"phase": {"denied": {"literals": {"x": true}}}}}, "item": {"fields": {"phase": ["y"]}}, "want": false},
		"identified by fields": {
			"entry": {"namespaces": _literals(["a"]), "names": _literals(["n"])},
			"source": {"namespaceField": "tenant", "nameField": "id"},
			"item": {"namespace": "x", "name": "y", "fields": {"tenant": "a", "id": "n"}},
			"want": true,
		},
		"identified by no text": {
			"entry": {"namespaces": _literals(["a"])},
			"source": {"namespaceField": "tenant", "nameField": ""},
			"item": {"namespace": "a", "fields": {"tenant": ["a"]}},
			"want": false,
		},
		"no fallback": {
			"entry": {"namespaces": _literals(["a"])},
			"source": {"namespaceField": "tenant", "nameField": ""},
			"item": {"namespace": "a"},
			"want": false,
		},
	}
	_custom(row) == row.want
}

_custom(row) if {
	items.custom(_entry(row.entry), object.get(row, "source", {}), row.item)
} else := false
