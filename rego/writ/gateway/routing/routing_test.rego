package writ.gateway.routing_test

import data.writ.gateway.routing

_match(route, type, path) := {
	"route": sprintf("HTTPRoute/app/%s", [route]), "type": type, "path": path,
	"method": "", "headers": [], "query": [], "policy": "",
}

_gateway := {
	"names": {"infra/edge"},
	"listeners": {"infra/edge": [
		{"name": "any", "hostname": "", "port": 80, "protocol": "HTTP"},
		{"name": "local", "hostname": "*.local", "port": 80, "protocol": "HTTP"},
		{"name": "wild", "hostname": "*.example.com", "port": 80, "protocol": "HTTP"},
		{"name": "short", "hostname": "*.short", "port": 80, "protocol": "HTTP"},
		{"name": "exact", "hostname": "a.example.com", "port": 80, "protocol": "HTTP"},
		{"name": "tls", "hostname": "", "port": 443, "protocol": "HTTPS"},
	]},
	"paths": {"infra/edge#wild": {"HTTPRoute/app/w#re": "e1"}},
	"matches": {
		"infra/edge#any": {"": [_match("any#r", "PathPrefix", "/")]},
		"infra/edge#exact": {"a.example.com": [_match("a#r", "Exact", "/only")]},
		"infra/edge#tls": {"": [_match("tls#r", "PathPrefix", "/")]},
		"infra/edge#wild": {
			"*.example.com": [
				_match("w#exact", "Exact", "/foo"),
				_match("w#re", "RegularExpression", "/items/[0-9]+"),
				_match("w#bar", "PathPrefix", "/foo/bar/"),
				_match("w#foo", "PathPrefix", "/foo"),
			],
			"b.example.com": [object.union(_match("b#post", "PathPrefix", "/"), {"method": "POST"})],
			"tie.example.com": [
				object.union(_match("z#first", "PathPrefix", "/"), {"tie": 1}),
				object.union(_match("a#second", "PathPrefix", "/"), {"tie": 1}),
				object.union(_match("d#other", "PathPrefix", "/"), {"tie": 1, "route": "HTTPRoute/ann/d#other"}),
				object.union(_match("e#post", "PathPrefix", "/"), {"tie": 1, "route": "HTTPRoute/bob/e#post", "method": "POST"}),
				object.union(_match("f#less", "PathPrefix", "/"), {"tie": 2, "route": "HTTPRoute/cy/f#less"}),
			],
			"age.example.com": [
				object.union(_match("old#r", "PathPrefix", "/"), {"tie": 3, "age": 0}),
				object.union(_match("new#r", "PathPrefix", "/"), {"tie": 3, "age": 1, "route": "HTTPRoute/new/new#r"}),
				object.union(_match("doc#r", "PathPrefix", "/"), {"tie": 3, "route": "HTTPRoute/doc/doc#r"}),
			],
			"q.example.com": [
				object.union(_match("q#header", "PathPrefix", "/"), {"headers": [{"type": "Exact", "name": "x-a", "value": "1"}]}),
				object.union(_match("q#query", "PathPrefix", "/"), {"query": [{"type": "RegularExpression", "name": "v", "value": "[12] ?"}]}),
			],
		},
	},
}

_many := [format_int(i, 10) | some i in numbers.range(1, 300)]

_rows := {
	"the most specific listener alone": {"host": "a.example.com", "path": "/only", "want": ["HTTPRoute/app/a#r"]},
	"and no other one": {"host": "a.example.com", "path": "/foo", "want": []},
	"exact before prefix": {"host": "x.example.com", "path": "/foo", "want": ["HTTPRoute/app/w#exact"]},
	"a prefix ends at a segment": {"host": "x.example.com", "path": "/foobar", "want": []},
	"below a prefix": {"host": "x.example.com", "path": "/foo/b", "want": ["HTTPRoute/app/w#foo"]},
	"a prefix with a slash at its end": {"host": "x.example.com", "path": "/foo/bar", "want": ["HTTPRoute/app/w#bar"]},
	"a regular expression": {"host": "x.example.com", "path": "/items/7?a=b", "want": ["HTTPRoute/app/w#re"]},
	"is anchored": {"host": "x.example.com", "path": "/items/7/x", "want": []},
	"several labels for a wildcard": {"host": "x.y.example.com", "path": "/foo", "want": ["HTTPRoute/app/w#exact"]},
	"none is too few": {"host": "example.com", "path": "/foo", "want": ["HTTPRoute/app/any#r"]},
	"even of a host of one label": {"host": "short", "path": "/foo", "want": ["HTTPRoute/app/any#r"]},
	"case and port of a host": {"host": "X.Example.COM:80", "path": "/foo", "want": ["HTTPRoute/app/w#exact"]},
	"a specific host gives way": {"host": "b.example.com", "path": "/foo", "want": ["HTTPRoute/app/w#exact"]},
	"unless it takes the request": {"host": "b.example.com", "path": "/foo", "method": "POST", "want": ["HTTPRoute/app/b#post"]},
	"a header": {"host": "q.example.com", "path": "/", "headers": {"X-A": "1"}, "want": ["HTTPRoute/app/q#header"]},
	"a parameter": {"host": "q.example.com", "path": "/?w=&v=2%20&v=3", "want": ["HTTPRoute/app/q#query"]},
	"another parameter": {"host": "q.example.com", "path": "/?v=3", "want": []},
	"a long host for a wildcard": {"host": sprintf("%s.example.com", [concat(".", _many)]), "path": "/foo", "want": ["HTTPRoute/app/w#exact"]},
	"no label at all": {"host": "local", "path": "/foo", "want": ["HTTPRoute/app/any#r"]},
	"each namespace's first of those that tie": {"host": "tie.example.com", "path": "/", "want": ["HTTPRoute/ann/d#other", "HTTPRoute/app/z#first"]},
	"and no other where the route is named": {
		"host": "tie.example.com", "path": "/",
		"route": {"namespace": "app", "name": "a"}, "want": ["HTTPRoute/app/a#second"],
	},
	"age decides between routes from a cluster": {"host": "age.example.com", "path": "/", "want": ["HTTPRoute/app/old#r", "HTTPRoute/doc/doc#r"]},
	"the scheme": {"host": "other", "path": "/", "scheme": "https", "want": ["HTTPRoute/app/tls#r"]},
}

test_route[note] if {
	some note, row in _rows
	asked := {
		"request": object.union({"method": "GET", "headers": {}}, object.remove(row, ["want", "route"])),
		"route": object.get(row, "route", null),
	}
	paths := routing.paths with input as asked with data.compiled.gateway as _gateway
	[path.route | some path in paths] == row.want
}

test_port if {
	asked := {"request": {"host": "h", "method": "GET", "path": "/"}, "destination": {"port": 443}}
	paths := routing.paths with input as asked with data.compiled.gateway as _gateway
	paths[0].gateway == "Gateway/infra/edge#tls"
}

test_a_named_rule_is_taken_whatever_it_matches if {
	asked := {
		"route": {"namespace": "app", "name": "w", "rule": "re"},
		"request": {"host": "elsewhere.example.com", "method": "GET", "path": "/"},
	}
	paths := routing.paths with input as asked with data.compiled.gateway as _gateway
	paths[0].policy == "e1"
}

test_a_rule_that_is_not_there if {
	asked := {
		"route": {"namespace": "app", "name": "w", "rule": "none"},
		"request": {"host": "x.example.com", "method": "GET", "path": "/foo"},
	}
	paths := routing.paths with input as asked with data.compiled.gateway as _gateway
	count(paths) == 0
}

test_unknown_gateway if {
	asked := {"gateway": {"namespace": "infra", "name": "other"}, "request": {"host": "h", "method": "GET", "path": "/"}}
	problem := routing.problem with input as asked with data.compiled.gateway as _gateway
	problem.code == "unknown_gateway"
}

test_unknown_listener if {
	asked := {
		"gateway": {"namespace": "infra", "name": "edge", "listener": "none"},
		"request": {"host": "h", "method": "GET", "path": "/"},
	}
	problem := routing.problem with input as asked with data.compiled.gateway as _gateway
	problem.code == "unknown_gateway"
}

test_gateway_required if {
	problem := routing.problem with input as {"request": {"host": "h", "method": "GET", "path": "/"}}
		with data.compiled.gateway as object.union(_gateway, {"names": {"infra/edge", "infra/more"}})
	problem.code == "gateway_required"
}
