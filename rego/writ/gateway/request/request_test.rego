package writ.gateway.request_test

import data.writ.gateway.request

_given := {
	null: {"answers": {}},
	"request": {"host": "A.example:80", "method": "GET", "path": "/a?b=c?d", "headers": {"X-A": "1"}, "body": null, "scheme": null, "time": "never"},
	"auth": {"identity": null, "authorization": {"r": true}, "response": {"x": 1}},
	"source": {"address": "10.0.0.1"},
	"destination": null,
}

test_null_is_not_an_identity if {
	not request.identity with input as _given
	not request.attributes.auth.identity with input as _given
}

test_caller_cannot_set_results_of_rules if {
	auth := request.attributes.auth with input as _given
	auth == {"metadata": {}, "authorization": {}, "response": {}}
}

test_canonical_form if {
	got := request.attributes with input as _given
	object.keys(got) == {"request", "auth", "source", "context"}
	object.remove(got.request, ["time"]) == {
		"host": "A.example:80", "method": "GET", "path": "/a?b=c?d",
		"url_path": "/a", "query": "b=c?d", "headers": {"x-a": "1"},
	}
	got.request.time != "never"
	got.context.source == {"address": "10.0.0.1"}
	got.context.request.http.headers == {"x-a": "1"}
}

test_first_spelling_in_byte_order_counts if {
	given := {"x-a": "4", "X-a": "3", "X-A": "1", "x-A": "5", "X-B": "6", "c": "7"}
	input_document := {"request": {"host": "a.b", "method": "GET", "path": "/", "headers": given}}
	seen := request.request.headers with input as input_document
	seen == {"x-a": "1", "x-b": "6", "c": "7"}
}

test_problem[note] if {
	some note, row in {
		"not an object": {"input": [], "want": "the request is not a JSON object"},
		"unknown key": {"input": {"Request": {}}, "want": `unknown key "Request"`},
		"not an object inside": {"input": {"source": 1}, "want": `key "source" must be an object`},
		"a text": {"input": {"request": {"host": 1}}, "want": `key "request.host" must be a string`},
		"a number": {"input": {"destination": {"port": "443"}}, "want": `key "destination.port" must be a number`},
		"headers": {
			"input": {"request": {"headers": {"a": ["b"]}}},
			"want": `key "request.headers" must be an object of strings; the value of "a" is not a string`,
		},
		"metadata": {"input": {"auth": {"metadata": []}}, "want": `key "auth.metadata" must be an object`},
		"no host": {"input": {}, "want": `key "request.host" must be a string that is not empty`},
		"half a gateway": {
			"input": {"request": {"host": "a.b", "method": "GET", "path": "/"}, "gateway": {"name": "edge"}},
			"want": `key "gateway.namespace" must be set if "gateway" is set`,
		},
		"another kind of route": {
			"input": {
				"request": {"host": "a.b", "method": "GET", "path": "/"},
				"route": {"kind": "TCPRoute", "namespace": "n", "name": "r"},
			},
			"want": `key "route.kind" must be HTTPRoute or GRPCRoute`,
		},
	}
	request.problem == row.want with input as row.input
}

# Input that is absent is not even null.
test_no_input if request.problem == "the request is not a JSON object"
