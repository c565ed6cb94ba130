package writ.gateway.request_test

import data.writ.gateway.request

_given := {
	"request": {"host": "a.b", "method": "GET", "path": "/x?y=1", "headers": {"X-A": "1", "x-b": "2"}, "scheme": null},
	"source": null,
	"auth": {"identity": null, "authorization": {"a": true}, "response": {}},
}

test_given_null_is_absent if {
	seen := request.attributes with input as _given
	not "scheme" in object.keys(seen.request)
	not "source" in object.keys(seen)
	not "identity" in object.keys(seen.auth)
}

test_only_a_decision_adds_to_auth if {
	seen := request.attributes with input as _given
	object.keys(seen.auth) == {"metadata"}
}

test_headers_are_in_lower_case_alone if {
	seen := request.attributes with input as _given
	seen.request.headers == {"x-a": "1", "x-b": "2"}
	seen.context.request.http.headers == seen.request.headers
}
