package writ.gateway.routing

import data.compiled.gateway
import data.writ.gateway.request

# The matches of GRPCRoutes that fit. They match only requests of gRPC.
_fitting_grpc(listener) := [match |
	_is_grpc
	some host in _hosts
	some match in gateway.grpc_matches[listener][host]
	_wanted(match)
	_method_fits(match)
	every header in match.headers {
		_value_fits(header, request.request.headers[header.name])
	}
]

_is_grpc if {
	request.request.method == "POST"
	regex.match(`^application/grpc(?:[+;]|$)`, request.request.headers["content-type"])
}

_method_fits(match) if match.type == ""

_method_fits(match) if {
	match.type != ""
	[service, method] := _called
	_name_fits(match.type, match.service, service)
	_name_fits(match.type, match.method, method)
}

# The service and the method of a request of gRPC: the two segments of its path.
_called := [segments[1], segments[2]] if {
	segments := split(request.url_path, "/")
	count(segments) == 3
	segments[0] == ""
	not "" in {segments[1], segments[2]}
}

_name_fits(_, "", _)

_name_fits("Exact", name, name)

_name_fits("RegularExpression", pattern, name) if {
	pattern != ""
	regex.match(sprintf("^(?:%s)$", [pattern]), name)
}
