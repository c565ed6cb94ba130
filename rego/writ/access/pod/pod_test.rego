package writ.access.pod_test

import data.writ.access.pod

_container := {"name": "c"}

_request(pod) := {"namespace": "shop", "name": "web-0", "podError": "", "pod": pod}

_pod(spec) := {"metadata": {"name": "web-0", "namespace": "shop"}, "spec": object.union({"containers": [_container]}, spec)}

test_available[note] if {
	some note, given in {
		"plain": _pod({}),
		"without metadata": {"spec": {"containers": [_container]}},
		"nulls": {"metadata": {"name": null}, "spec": {"containers": [_container], "volumes": null, "hostNetwork": null}},
	}
	not pod.unavailable with input as _request(given)
}

test_unavailable[note] if {
	some note, given in {
		"null": null,
		"a list": [],
		"no spec": {},
		"hollow": {"spec": {"containers": []}},
		"another name": {"metadata": {"name": "web-1"}, "spec": {"containers": [_container]}},
		"another namespace": {"metadata": {"namespace": "x"}, "spec": {"containers": [_container]}},
		"containers an object": {"spec": {"containers": {"a": _container}}},
		"a container that is text": {"spec": {"containers": ["c"]}},
		"hostNetwork a text": _pod({"hostNetwork": "true"}),
		"privileged a text": _pod({"containers": [{"name": "c", "securityContext": {"privileged": "true"}}]}),
		"runAsUser a text": _pod({"containers": [{"name": "c", "securityContext": {"runAsUser": "0"}}]}),
		"runAsUser a fraction": _pod({"securityContext": {"runAsUser": 0.5}}),
		"add a text": _pod({"containers": [{"name": "c", "securityContext": {"capabilities": {"add": "ALL"}}}]}),
		"add a list of lists": _pod({"containers": [{"name": "c", "securityContext": {"capabilities": {"add": [["ALL"]]}}}]}),
		"a volume without a name": _pod({"volumes": [{"hostPath": {"path": "/"}}]}),
		"a mount without a name": _pod({"containers": [{"name": "c", "volumeMounts": [{"mountPath": "/"}]}]}),
		"hostPath a text": _pod({"volumes": [{"name": "v", "hostPath": "/"}]}),
	}
	pod.unavailable with input as _request(given)
}

test_unavailable_with_an_error if {
	pod.unavailable with input as object.union(_request(_pod({})), {"podError": "timeout"})
}

test_occurs[note] if {
	some note, row in {
		"plain": {"spec": {}, "want": {}},
		"host namespaces": {
			"spec": {"hostNetwork": true, "hostPID": true, "hostIPC": true},
			"want": {"hostNetwork": 1, "hostPID": 1, "hostIPC": 1},
		},
		"privileged init container": {
			"spec": {"initContainers": [{"name": "i", "securityContext": {"privileged": true}}]},
			"want": {"privilegedContainer": 1},
		},
		"root by the pod": {"spec": {"securityContext": {"runAsUser": 0}}, "want": {"runAsRoot": 1}},
		"the container's own user": {
			"spec": {"securityContext": {"runAsUser": 0}, "containers": [{"name": "c", "securityContext": {"runAsUser": 5}}]},
			"want": {},
		},
		"root in an ephemeral container": {
			"spec": {"ephemeralContainers": [{"name": "e", "securityContext": {"runAsUser": 0}}]},
			"want": {"runAsRoot": 1},
		},
		"one writable, one read-only, one not mounted": {
			"spec": {
				"volumes": [{"name": "a", "hostPath": {}}, {"name": "b", "hostPath": {}}, {"name": "d", "hostPath": {}}, {"name": "e"}],
				"containers": [{"name": "c", "volumeMounts": [{"name": "a"}, {"name": "b", "readOnly": true}, {"name": "e"}]}],
			},
			"want": {"hostPathWritable": 1, "hostPathReadOnly": 2},
		},
	}
	pod.occurs == row.want with input as _request(_pod(row.spec))
}

test_adds[note] if {
	some note, row in {
		"spelt alike": {"added": ["cap_net_admin"], "want": 1},
		"twice in one list": {"added": ["NET_ADMIN", "CAP_NET_ADMIN"], "want": 1},
		"all": {"added": ["ALL"], "want": 1},
		"another": {"added": ["SYS_TIME"], "want": 0},
	}
	spec := {"containers": [{"name": "c", "securityContext": {"capabilities": {"add": row.added}}}]}
	pod.adds("NET_ADMIN") == row.want with input as _request(_pod(spec))
}
