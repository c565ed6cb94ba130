package writ.access_test

import data.writ.access

_gold := {"labels": [{"key": "tier", "value": "gold"}, {"key": "team"}]}

_rule(number, deny, restrictions) := {
	"verbs": ["*"], "kinds": ["*"], "deny": deny, "rule": number, "source": "r.yaml:1",
	"restrictions": restrictions,
}

_hit(number, restrictions) := [
	{"kind": "RoleBinding", "namespace": "shop", "name": sprintf("b%d", [number]), "apiVersion": "writ.dev/v1", "cluster": false},
	{},
	_rule(number, false, restrictions),
]

_denial(restrictions) := [
	{"kind": "RoleBinding", "namespace": "shop", "name": "no", "apiVersion": "writ.dev/v1", "cluster": false},
	{},
	_rule(0, true, restrictions),
]

_lists := {
	"user": "u", "groups": [], "extra": {}, "attributes": {}, "verb": "list", "apiGroup": "", "resource": "secrets",
	"subresource": "", "namespace": "shop", "name": "", "path": "", "cluster": "", "tenant": "", "session": "",
	"escalation": "", "podError": "",
}

# What ends the reason of a request that no rule allows.
test_sufficient[note] if {
	some note, row in {
		"labels": {"hits": [_hit(1, _gold)], "change": {}, "want": "; allowed with label selector tier=gold,team (RoleBinding shop/b1)"},
		"another selector is asked": {"hits": [_hit(1, _gold)], "change": {"attributes": {"labelSelector": [{"key": "tier", "operator": "In", "values": ["tin"]}]}}, "want": "; allowed with label selector tier=gold,team (RoleBinding shop/b1)"},
		"the first by order": {"hits": [_hit(2, {"labels": [{"key": "b"}]}), _hit(1, _gold)], "change": {}, "want": "; allowed with label selector tier=gold,team (RoleBinding shop/b1)"},
		"fields": {"hits": [_hit(1, {"select": [{"key": "type", "value": "a,b"}]})], "change": {}, "want": `; allowed with field selector type=a\,b (RoleBinding shop/b1)`},
		"both": {"hits": [_hit(1, {"labels": [{"key": "a", "value": ""}], "select": [{"key": "type", "value": "x"}]})], "change": {}, "want": "; allowed with label selector a= and field selector type=x (RoleBinding shop/b1)"},
		"a field that is known": {"hits": [_hit(1, {"select": [{"key": "metadata.namespace", "value": "shop"}, {"key": "type", "value": "x"}]})], "change": {}, "want": "; allowed with field selector type=x (RoleBinding shop/b1)"},
		"another namespace": {"hits": [_hit(1, {"select": [{"key": "metadata.namespace", "value": "other"}]})], "change": {}, "want": ""},
		"the requester's node": {"hits": [_hit(1, {"sameMinion": true})], "change": {"resource": "pods", "user": "system:node:n1"}, "want": "; allowed with field selector spec.nodeName=n1 (RoleBinding shop/b1)"},
		"no node": {"hits": [_hit(1, {"sameMinion": true})], "change": {"resource": "pods"}, "want": ""},
		"labels that are known": {"hits": [_hit(1, _gold)], "change": {"labels": {}}, "want": ""},
		"no list": {"hits": [_hit(1, _gold)], "change": {"verb": "get"}, "want": ""},
		"a subresource": {"hits": [_hit(1, _gold)], "change": {"subresource": "x"}, "want": ""},
		"fields that change": {"hits": [_hit(1, object.union(_gold, {"fields": ["spec"]}))], "change": {"verb": "deletecollection"}, "want": ""},
		"denied with it": {"hits": [_hit(1, _gold), _denial({"labels": [{"key": "team"}]})], "change": {"attributes": {"labelSelector": [{"key": "team", "operator": "DoesNotExist"}]}}, "want": ""},
		"the first is denied": {"hits": [_hit(1, _gold), _hit(2, {"labels": [{"key": "tier", "value": "tin"}]}), _denial({"labels": [{"key": "tier", "value": "gold"}]})], "change": {"attributes": {"labelSelector": [{"key": "tier", "operator": "DoesNotExist"}]}}, "want": "; allowed with label selector tier=tin (RoleBinding shop/b2)"},
		"two values of one key": {"hits": [_hit(1, {"labels": [{"key": "a", "value": "x"}, {"key": "a", "value": "y"}]})], "change": {}, "want": ""},
		"a value that no selector can have": {"hits": [_hit(1, {"labels": [{"key": "a", "value": "x,y"}]})], "change": {}, "want": ""},
		"a rule that holds": {"hits": [_hit(1, _gold), _hit(2, {"labels": [{"key": "a"}]})], "change": {"labels": {"a": ""}}, "want": ""},
	}
	access.grants[4] == row.want with input as object.union(object.union(_lists, row.change), {null: {"hits": row.hits, "forms": []}})
}

# Positions of the rules of which a selector decides a restriction.
test_selected[note] if {
	some note, row in {
		"labels": {"restrictions": _gold, "change": {"attributes": {"labelSelector": [{"key": "tier", "operator": "In", "values": ["gold"]}, {"key": "team", "operator": "Exists"}]}}, "want": [0]},
		"labels that are known": {"restrictions": _gold, "change": {"labels": {"tier": "gold", "team": ""}}, "want": []},
		"known and selected": {"restrictions": _gold, "change": {"labels": {"tier": "gold", "team": ""}, "attributes": {"labelSelector": [{"key": "tier", "operator": "In", "values": ["gold"]}, {"key": "team", "operator": "Exists"}]}}, "want": []},
		"undecided": {"restrictions": _gold, "change": {}, "want": []},
		"a field": {"restrictions": {"select": [{"key": "type", "value": "x"}]}, "change": {"attributes": {"fieldSelector": [{"key": "type", "operator": "In", "values": ["x"]}]}}, "want": [0]},
		"the name of the request": {"restrictions": {"select": [{"key": "metadata.name", "value": "x"}]}, "change": {"name": "x", "attributes": {"fieldSelector": [{"key": "type", "operator": "In", "values": ["x"]}]}}, "want": []},
		"the requester's node": {"restrictions": {"sameMinion": true}, "change": {"user": "system:node:n", "resource": "pods", "attributes": {"fieldSelector": [{"key": "spec.nodeName", "operator": "In", "values": ["n"]}]}}, "want": [0]},
		"the pod's node": {"restrictions": {"sameMinion": true}, "change": {"user": "system:node:n", "resource": "pods", "attributes": {"podMinion": "n", "fieldSelector": [{"key": "spec.nodeName", "operator": "In", "values": ["n"]}]}}, "want": []},
		"without a restriction": {"restrictions": {}, "change": {}, "want": []},
	}
	access.grants[3] == row.want with input as object.union(object.union(_lists, row.change), {null: {"hits": [_hit(0, row.restrictions)], "forms": []}})
}
