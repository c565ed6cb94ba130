# METADATA
# description: |
#   The request of the gateway point: its validation and the canonical form that
#   conditions read. The embedded engine adds its answers under the key null, which a
#   JSON text cannot have; all other keys are checked here, for every protocol.
# schemas:
#   - input: schema.gateway
package writ.gateway.request

# METADATA
# description: The host in lower case and without its port.
# scope: document
host := regex.replace(lower(_request.host), `:[0-9]*$`, "") if _has_port

host := lower(_request.host) if not _has_port

# In an IPv6 address without brackets, colons do not separate a port.
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

# Names of headers are compared in lower case. Of names that differ only in case, the
# first in byte order counts.
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
#   What conditions, predicates and Rego read before the first rule.
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
# description: The canonical request. Its time is the time of the evaluation.
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
# description: The authenticated identity. Undefined without authentication.
identity := _auth.identity

# METADATA
# description: The query's parameters. The first value of a repeated parameter counts.
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
