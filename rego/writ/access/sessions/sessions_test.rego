package writ.access.sessions_test

import data.writ.access.sessions

_row := {"namespace": "bg", "name": "s1", "cluster": "c", "user": "bob", "groups": ["root"], "issuer": "a", "dates": {"from": 100, "until": 200}}

_request := {"user": "bob", "verb": "get", "resource": "pods", "cluster": "c"}

_tables(row) := {
	"sessions": {"s1": row},
	"holders": {"c": {"bob": {"sessions": ["s1"]}}},
	"debug": {},
}

_named(change) := object.union_n([_request, {"session": "s1"}, change])

test_bounds[note] if {
	some note, row in {
		"before": {"now": 99, "want": 0},
		"first": {"now": 100, "want": 1},
		"last": {"now": 199, "want": 1},
		"end": {"now": 200, "want": 0},
	}
	found := count(sessions.valid) with input as _request
		with data.compiled.sessions as _tables(_row)
		with time.now_ns as row.now
	found == row.want
}

test_issuer[note] if {
	some note, row in {
		"none": {"issuers": [], "want": 1},
		"empty": {"issuers": [""], "want": 1},
		"same": {"issuers": ["a", ""], "want": 1},
		"one differs": {"issuers": ["a", "b"], "want": 0},
	}
	found := count(sessions.valid) with input as object.union(_request, {"extra": {"identity.t-caas.telekom.com/issuer": row.issuers}})
		with data.compiled.sessions as _tables(_row)
		with time.now_ns as 100
	found == row.want
}

test_warning[note] if {
	some note, row in {
		"valid": {"change": {}, "request": {}, "now": 100, "want": []},
		"unreadable goes first": {"change": {"unreadable": true}, "request": {"user": "eve"}, "now": 100, "want": ["not readable"]},
		"another user": {"change": {"refused": "no state"}, "request": {"user": "eve"}, "now": 100, "want": ["for another user or cluster"]},
		"refused": {"change": {"refused": "state Pending"}, "request": {}, "now": 100, "want": ["state Pending"]},
		"no end": {"change": {"noEnd": true}, "request": {}, "now": 100, "want": ["no end"]},
		"begins": {"change": {}, "request": {}, "now": 99, "want": ["begins 1970-01-01T00:00:00.0000001Z"]},
		"ended": {"change": {}, "request": {}, "now": 200, "want": ["ended 1970-01-01T00:00:00.0000002Z"]},
	}
	found := sessions.warnings with input as _named(row.request)
		with data.compiled.sessions as _tables(object.union(_row, row.change))
		with time.now_ns as row.now
	found == [sprintf("s1: session is not valid: %s", [why]) | some why in row.want]
}

# Of several sessions the latest end counts, and that of the binding if it is earlier.
test_end[note] if {
	some note, row in {
		"session first": {"binding": {"dates": {"until": 300}}, "want": "1970-01-01T00:00:00.00000025Z"},
		"binding first": {"binding": {"dates": {"until": 210}}, "want": "1970-01-01T00:00:00.00000021Z"},
	}
	later := object.union(_row, {"name": "s2", "dates": {"until": 250}})
	ends := sessions.end(object.union(row.binding, {"lent": [_row, later]}))
	ends.until == row.want
	sessions.words(ends) == " via session s2"
}

test_endless if {
	ends := sessions.end({"lent": [_row, object.remove(object.union(_row, {"name": "s2"}), ["dates"])]})
	not ends.until
	sessions.words(ends) == " via session s2"
}
