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
		"an unknown key": {"change": {"User": "u"}, "names": "User"},
		"derived input cannot be sent": {"change": {"0": {"keys": []}}, "names": "0"},
		"a number for a string": {"change": {"name": 1}, "names": "name"},
		"groups of numbers": {"change": {"groups": [1]}, "names": "groups"},
		"fields as a string": {"change": {"fields": "spec"}, "names": "fields"},
		"labels of numbers": {"change": {"labels": {"a": 1}}, "names": "labels"},
		"extra without lists": {"change": {"extra": {"a": "b"}}, "names": "extra"},
		"a pod that is a list": {"change": {"pod": []}, "names": "pod"},
		"no verb": {"change": {"verb": ""}, "names": "verb"},
		"no user": {"change": {"user": ""}, "names": "user"},
		"neither resource nor path": {"change": {"resource": ""}, "names": "resource"},
		"both resource and path": {"change": {"path": "/x"}, "names": "resource"},
		"a slash in the resource": {
			"change": {"resource": "pods/exec"},
			"names": `resource must not contain "/": put the part after it in subresource`,
		},
		"path and namespace": {"change": {"resource": "", "path": "/x", "namespace": "n"}, "names": "namespace"},
	}
	problem := request.problem with input as object.union(_plain, row.change)
	startswith(problem, row.names)
}

test_user_must_be_written if {
	startswith(request.problem, "user") with input as {"verb": "get", "resource": "pods", "groups": ["g"]}
}

test_no_object[note] if {
	some note, value in {"a list": [], "a string": "x", "null": null}
	request.problem == "the request is not an object" with input as value
}

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
