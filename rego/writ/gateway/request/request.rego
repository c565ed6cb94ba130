# METADATA
# description: |
#   The request of the gateway point: whether it is one, and the form of it that
#   conditions read. What the embedded engine found comes under the key null, which
#   no JSON text can hold; all else is checked and written out here for every protocol.
package writ.gateway.request

# METADATA
# description: The host in lower case and without its port.
# scope: document
host := regex.replace(lower(_request.host), `:[0-9]*$`, "") if _has_port

host := lower(_request.host) if not _has_port

# A colon in an address that stands in no brackets is a part of it.
_has_port if count(split(_request.host, ":")) == 2

_has_port if regex.match(`\]:[0-9]*$`, _request.host)

_request := _object("request")

_cut := split(_request.path, "?")

# METADATA
# description: The path without the query.
# scope: document
url_path := path if {
	path := _request.url_path
	path != null
} else := _cut[0]

_query := query if {
	query := _request.query
	query != null
} else := concat("?", array.slice(_cut, 1, count(_cut)))

# Names of headers are compared in lower case. Of two that differ in case alone
# the one that is written first in byte order counts.
_headers := {spelling[0]: _given_headers[spelling[1]] |
	some i, spelling in _spellings
	not spelling[0] == _spellings[i - 1][0]
}

_spellings := sort([[lower(name), name] | some name, _ in _given_headers])

_given_headers := headers if {
	headers := _request.headers
	headers != null
} else := {}

# METADATA
# description: |
#   What conditions, predicates and Rego read before anything has been decided.
attributes := object.union(_known, {
	"request": request,
	"auth": _auth,
	"context": {
		"request": {"http": {
			"method": request.method,
			"path": request.path,
			"host": request.host,
			"scheme": object.get(request, "scheme", ""),
			"headers": request.headers,
		}},
		"source": _object("source"),
	},
})

# The union goes into objects: keys of these that the caller sends must not show through.
_known := {key: value |
	some key, value in input
	not key in {null, "request", "auth"}
	value != null
}

# METADATA
# description: The request written out; its time is that of the evaluation.
request := object.union({name: value | some name, value in _request; value != null; name != "headers"}, {
	"url_path": url_path,
	"query": _query,
	"headers": _headers,
	"time": time.format([time.now_ns(), "UTC", "2006-01-02T15:04:05.999999999Z07:00"]),
})

_auth := object.union({"metadata": {}, "authorization": {}, "response": {}}, {name: value |
	some name, value in _object("auth")
	value != null
	name in {"identity", "metadata"}
})

# METADATA
# description: What was authenticated; undefined without authentication.
identity := _auth.identity

# METADATA
# description: The query's parameters; of one that is repeated the first counts.
parameters := {name: value |
	some pair in _pairs
	name := pair[0]
	value := [other[1] | some other in _pairs; other[0] == name][0]
}

_pairs := [[_decoded(name), _decoded(value)] |
	some text in split(_query, "&")
	text != ""
	name := split(text, "=")[0]
	value := substring(text, count(name) + 1, -1)
]

_decoded(text) := urlquery.decode(text) if {
	regex.match(`^(?:[^%]|%[0-9A-Fa-f]{2})*$`, text)
} else := text
