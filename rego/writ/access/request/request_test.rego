package writ.access.request_test

import data.writ.access.request

_plain := {"user": "u", "verb": "get", "resource": "pods"}

test_no_problem[note] if {
	some note, change in {
		"plain": {},
		"empty is as good as absent": {"path": "", "groups": [], "extra": {}, "attributes": {}, "podError": ""},
		"null is as good as absent": {"groups": null, "fields": null, "pod": null, "namespace": null},
		"a group alone": {"user": "", "groups": ["g"]},
	}
	not request.problem with input as object.union(_plain, change)
}

test_problem[note] if {
	some note, row in {
		"an unknown key": {"change": {"User": "u"}, "want": `unknown key "User"`},
		"derived input cannot be sent": {"change": {"0": {"keys": []}}, "want": `unknown key "0"`},
		"a number for a string": {"change": {"name": 1}, "want": `key "name" must be a string`},
		"groups of numbers": {"change": {"groups": [1]}, "want": `key "groups" must be a list of strings; element 0 is not a string`},
		"fields as a string": {"change": {"fields": "spec"}, "want": `key "fields" must be a list of strings`},
		"labels of numbers": {"change": {"labels": {"a": 1}}, "want": `key "labels" must be an object of strings; the value of "a" is not a string`},
		"extra without lists": {"change": {"extra": {"a": "b"}}, "want": `key "extra" must be an object of lists of strings; the value of "a" is not a list of strings`},
		"a pod that is a list": {"change": {"pod": []}, "want": `key "pod" must be an object`},
		"no verb": {"change": {"verb": ""}, "want": `key "verb" must be a string that is not empty`},
		"no user": {"change": {"user": ""}, "want": `key "user" may be empty only where "groups" is not`},
		"neither resource nor path": {"change": {"resource": ""}, "want": `one of the keys "resource" and "path" must be given`},
		"both resource and path": {"change": {"path": "/x"}, "want": `key "resource" must be empty beside "path"`},
		"a slash in the resource": {
			"change": {"resource": "pods/exec"},
			"want": `resource must not contain "/": put the part after it in subresource`,
		},
		"path and namespace": {"change": {"resource": "", "path": "/x", "namespace": "n"}, "want": `key "namespace" must be empty beside "path"`},
	}
	problem := request.problem with input as object.union(_plain, row.change)
	problem == row.want
}

test_user_must_be_written if {
	request.problem == `key "user" is missing` with input as {"verb": "get", "resource": "pods", "groups": ["g"]}
}

test_no_object[note] if {
	some note, value in {"a list": [], "a string": "x", "null": null}
	request.problem == "the request is not a JSON object" with input as value
}

# Input that is absent is not even null.
test_no_input if request.problem == "the request is not a JSON object"

test_carried[note] if {
	some note, row in {
		"plain": {"change": {}, "want": ["get"]},
		"case": {"change": {"verb": "GET"}, "want": ["get"]},
		"patch": {"change": {"verb": "patch"}, "want": ["patch", "update"]},
		"deletecollection": {"change": {"verb": "deletecollection"}, "want": ["deletecollection", "delete"]},
		"exec": {"change": {"subresource": "exec"}, "want": ["exec"]},
		"attach": {"change": {"verb": "create", "subresource": "attach"}, "want": ["exec"]},
		"portforward": {"change": {"subresource": "portforward"}, "want": ["proxy"]},
		"all verbs of exec": {"change": {"verb": "*", "subresource": "exec"}, "want": ["exec"]},
		"impersonation": {"change": {"verb": "impersonate:user-info"}, "want": ["impersonate:user-info", "impersonate"]},
	}
	request.carried == row.want with input as object.union(_plain, row.change)
}

test_canonical_leaves_unknown_out if {
	canonical := request.canonical with input as object.union(_plain, {"labels": null, "fields": []})
	canonical.namespace == ""
	canonical.fields == []
	not canonical.labels
}

test_all_has_no_entry if {
	request.lookup.originVerbs == [null] with input as object.union(_plain, {"verb": "*"})
	request.lookup.originKinds == [null] with input as object.union(_plain, {"resource": "*"})
}
