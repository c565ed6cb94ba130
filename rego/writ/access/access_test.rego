package writ.access_test

import data.writ.access
import data.writ.access.request

_role(kind, namespace, name, rules) := {"family": "origin", "kind": kind, "namespace": namespace, "name": name, "origin": rules}

_tables := {
	"master": "master",
	"roles": {
		"origin:master/all": _role("Role", "master", "all", [
			{"rule": 0, "source": "r.yaml:1", "verbs": ["*"], "kinds": ["*"]},
		]),
		"origin:a/no-secrets": _role("Role", "a", "no-secrets", [
			{"rule": 0, "source": "r.yaml:5", "deny": true, "verbs": ["*"], "kinds": ["secret"]},
		]),
		"kubernetes:/pods": {"family": "kubernetes", "kind": "ClusterRole", "namespace": "", "name": "pods", "kubernetes": [
			{"rule": 0, "source": "k.yaml:2", "verbs": ["get"], "groups": [""], "resources": ["pods"]},
			{"rule": 1, "source": "k.yaml:3", "verbs": ["get"], "paths": ["/api/*"]},
		]},
	},
	"bindings": {
		"origin:master/roots": _binding("RoleBinding", "master", "roots", "origin:master/all", true),
		"origin:a/careful": _binding("RoleBinding", "a", "careful", "origin:a/no-secrets", false),
		"origin:a/everything": _binding("RoleBinding", "a", "everything", "origin:master/all", false),
		"kubernetes:/readers": _binding("ClusterRoleBinding", "", "readers", "kubernetes:/pods", true),
	},
	"subjects": {
		"cluster": {"user:root": ["origin:master/roots"], "group:readers": ["kubernetes:/readers"]},
		"namespaces": {"a": {
			"user:root": ["origin:a/careful"],
			"user:local": ["origin:a/careful", "origin:a/everything"],
		}},
	},
}

_binding(kind, namespace, name, role, cluster) := {
	"apiVersion": "v", "kind": kind, "namespace": namespace, "name": name, "role": role, "cluster": cluster,
	"source": "bindings.yaml:1",
}

test_decision[note] if {
	some note, row in {
		"a master allow beats a local deny": {
			"request": {"user": "root", "verb": "get", "resource": "secrets", "namespace": "a"},
			"allowed": true, "denied": false, "matched": ["roots", "careful"],
		},
		"a local deny beats a local allow": {
			"request": {"user": "local", "verb": "get", "resource": "secrets", "namespace": "a"},
			"allowed": false, "denied": true, "matched": ["careful", "everything"],
		},
		"a local allow": {
			"request": {"user": "local", "verb": "get", "resource": "pods", "namespace": "a"},
			"allowed": true, "denied": false, "matched": ["everything"],
		},
		"elsewhere": {
			"request": {"user": "local", "verb": "get", "resource": "pods", "namespace": "b"},
			"allowed": false, "denied": false, "matched": [],
		},
		"a path": {
			"request": {"user": "u", "groups": ["readers"], "verb": "get", "path": "/api/v1"},
			"allowed": true, "denied": false, "matched": ["readers"],
		},
		"kinds have no path": {
			"request": {"user": "root", "verb": "get", "path": "/api/v1"},
			"allowed": false, "denied": false, "matched": [],
		},
	}
	got := access.decision with input as row.request with data.compiled.access as _tables
	got.allowed == row.allowed
	got.denied == row.denied
	[entry.name | some entry in got.matched] == row.matched
}

test_reason if {
	got := access.decision with data.compiled.access as _tables
		with input as {"user": "local", "verb": "get", "resource": "secrets", "namespace": "a"}
	got.reason == concat("", [
		"denied by RoleBinding a/careful (Role a/no-secrets, rule 0); ",
		"would be allowed by RoleBinding a/everything (Role master/all, rule 0)",
	])
}

test_no_request_gets_no_decision if {
	got := access.decision with input as {"user": "u", "verb": "get"} with data.compiled.access as _tables
	got.error.code == "invalid_request"
	object.keys(got) == {"error"}
}

# What the engine sends under the key null cannot come from a caller: neither as
# the text "null", nor as a place in a list.
test_hits_cannot_be_sent[note] if {
	hit := [_tables.bindings["origin:master/roots"], _tables.roles["origin:master/all"], {"rule": 0, "source": "x"}]
	some note, forged in {
		"a list": [[hit]],
		"a text key": {"null": [hit], "user": "u", "verb": "get", "resource": "pods"},
		"a number key": {"0": [hit], "user": "u", "verb": "get", "resource": "pods"},
	}
	got := access.decision with input as forged with data.compiled.access as _tables
	got.error.code == "invalid_request"
}

# The documents of other clusters are not in the bundle of one.
test_bundle_of_a_cluster[note] if {
	some note, row in {
		"its own": {"request": {"cluster": "prod"}, "reason": "allowed by RoleBinding a/everything (Role master/all, rule 0)"},
		"none": {"request": {}, "reason": "allowed by RoleBinding a/everything (Role master/all, rule 0)"},
		"null": {"request": {"cluster": null}, "reason": "allowed by RoleBinding a/everything (Role master/all, rule 0)"},
		"another": {"request": {"cluster": "test"}, "reason": `denied: evaluation error: the bundle is for cluster "prod" alone`},
	}
	got := access.decision with data.compiled.access as object.union(_tables, {"cluster": "prod"})
		with input as object.union(row.request, {"user": "local", "verb": "get", "resource": "pods", "namespace": "a"})
	got.reason == row.reason
	got.denied == startswith(row.reason, "denied")
}

# Extensions and expressions read the cluster of the bundle.
test_cluster_of_the_bundle if {
	got := request.whole with data.compiled.access.cluster as "prod" with input as {"user": "u", "cluster": ""}
	got.cluster == "prod"
}

# A table that is missing has lost denials.
test_incomplete_bundle_denies[note] if {
	some note, row in {
		"all tables": {"tables": {}, "lacks": "data.compiled.access.bindings"},
		"subjects": {"tables": object.remove(_tables, ["subjects"]), "lacks": "data.compiled.access.subjects.cluster"},
		"a binding": {
			"tables": object.union(object.remove(_tables, ["bindings"]), {"bindings": {}}),
			"lacks": "what binding origin:a/careful refers to",
		},
		"a role": {
			"tables": object.union(object.remove(_tables, ["roles"]), {"roles": {}}),
			"lacks": "what binding origin:a/careful refers to",
		},
	}
	got := access.decision with data.compiled.access as row.tables
		with input as {"user": "local", "verb": "get", "resource": "pods", "namespace": "a"}
	object.remove(got, ["reason"]) == {"allowed": false, "denied": true, "warnings": [], "matched": []}
	got.reason == sprintf("denied: evaluation error: the bundle lacks %s", [row.lacks])
}

test_incomplete_deny_policies_deny[note] if {
	some note, row in {
		"tables": {"tables": false, "rules": {"x"}, "lacks": "deny_tables"},
		"rules": {"tables": {"resources": {}}, "rules": false, "lacks": "deny"},
		"words": {"tables": {"resources": {"pods": ["pods"]}}, "rules": {"x"}, "lacks": "deny_resources"},
	}
	got := access.decision with data.compiled.access as _tables
		with data.compiled.features.denyPolicies as true
		with data.compiled.deny_tables as row.tables
		with data.compiled.deny.rules as row.rules
		with input as {"user": "local", "verb": "get", "resource": "pods", "namespace": "a"}
	got.reason == sprintf("denied: evaluation error: the bundle lacks data.compiled.%s", [row.lacks])
}
