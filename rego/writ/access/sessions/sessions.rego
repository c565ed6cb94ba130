# METADATA
# description: |
#   Sessions of the user of a request, found in the tables of data.compiled.sessions. The
#   embedded engine finds them itself and sends those that are valid; both ways are the
#   same. References to the store use whole paths: a table bound to a variable would be
#   converted at every request.
package writ.access.sessions

import data.writ.access.dates
import data.writ.access.request

# METADATA
# description: |
#   The sessions that are valid for the request, by name: {"name", "owner", "policies"},
#   and for a stock OPA all of the row.
# scope: document
valid := object.get(input[null], "sessions", []) if input[null]

valid := [row | some row in _held; _is_valid(row)] if not input[null]

_held := [data.compiled.sessions.sessions[name] |
	some name in data.compiled.sessions.holders[request.canonical.cluster][request.canonical.user].sessions
]

_is_valid(row) if {
	_fits_issuer(row)
	dates.holds(row)
}

_fits_issuer(row) if row.anyIssuer

_fits_issuer(row) if count(_issuers - {row.issuer}) == 0

_issuers := {issuer |
	some issuer in request.canonical.extra["identity.t-caas.telekom.com/issuer"]
	issuer != ""
}

# METADATA
# description: |
#   The bindings that apply to the groups of sessions, each with these sessions, by name.
lent[key] := rows if {
	some key, subjects in _bound
	rows := [row | some row in valid; count(_subjects(row) & subjects) > 0]
}

_bound[key] contains subject if {
	some row in valid
	some subject in _subjects(row)
	some key in data.compiled.access.subjects.cluster[subject]
}

_bound[key] contains subject if {
	request.canonical.namespace != ""
	some row in valid
	some subject in _subjects(row)
	some key in data.compiled.access.subjects.namespaces[request.canonical.namespace][subject]
}

_subjects(row) := {sprintf("group:%s", [group]) | some group in row.groups}

# METADATA
# description: |
#   What a match by a binding has about its end: until, and via for one that applies through
#   sessions, its member lent. Of several sessions the latest end counts.
# scope: document
end(binding) := dates.end(binding) if not binding.lent

end(binding) := object.union(
	{"via": [_via(row) | some row in binding.lent]},
	{"until": dates.text(min(ends)) | ends := _ends(binding); count(ends) > 0},
) if {
	binding.lent
}

_via(row) := object.union(
	{"kind": "BreakglassSession", "namespace": row.namespace, "name": row.name},
	dates.end(row),
)

_ends(binding) := {binding.dates.until | binding.dates.until} | {latest | latest := _latest(binding.lent)}

# Undefined if a session does not end.
_latest(rows) := max(ends) if {
	ends := [row.dates.until | some row in rows]
	count(ends) == count(rows)
}

# METADATA
# description: |
#   The words of a reason about the session with the latest end, empty for a match without a
#   session.
# scope: document
words(entry) := sprintf(" via session %s", [_last(entry.via).name]) if {
	entry.via
} else := ""

_last(via) := endless[0] if {
	endless := [session | some session in via; not session.until]
	count(endless) > 0
} else := [session | some session in via; time.parse_rfc3339_ns(session.until) == latest][0] if {
	latest := max([time.parse_rfc3339_ns(session.until) | some session in via])
}

# METADATA
# description: |
#   The warning of a request that names a BreakglassSession which is not valid for it, in a
#   list that is empty otherwise.
warnings := [sprintf("%s: session is not valid: %s", [row.name, problem]) |
	row := data.compiled.sessions.sessions[request.canonical.session]
	problem := _problem(row)
]

_problem(row) := "not readable" if {
	row.unreadable
} else := "for another user or cluster" if {
	not _is_own(row)
} else := row.refused if {
	row.refused
} else := "from another identity provider" if {
	not _fits_issuer(row)
} else := "no end" if {
	row.noEnd
} else := row.never if {
	row.never
} else := sprintf("begins %s", [dates.text(row.dates.from)]) if {
	time.now_ns() < row.dates.from
} else := sprintf("ended %s", [dates.text(row.dates.until)]) if {
	time.now_ns() >= row.dates.until
}

_is_own(row) if {
	row.user == request.canonical.user
	row.cluster == request.canonical.cluster
}

# METADATA
# description: |
#   The match by the first DebugSession that lets the user into the pod of the request, with
#   the reason of the decision. Undefined if none does.
debug := {
	"matched": object.union(
		{
			"kind": "DebugSession",
			"namespace": row.namespace,
			"name": row.name,
			"rule": participant.index,
			"source": row.source,
			"effect": "allow",
			"apiVersion": "breakglass.t-caas.telekom.com/v1alpha1",
		},
		dates.end(row),
	),
	"reason": sprintf("allowed by DebugSession %s (%s, %s)%s", [
		_full_name(row),
		participant.role,
		request.canonical.subresource,
		dates.until(dates.end(row)),
	]),
} if {
	[row, participant] := covering[0]
}

# METADATA
# description: |
#   The DebugSessions that let the user into the pod of the request, each with the participant
#   who that is, by namespace and name.
covering := [[row, participants[0]] |
	request.canonical.apiGroup == ""
	request.canonical.resource == "pods"
	request.canonical.name != ""
	request.canonical.namespace != ""
	some key in data.compiled.sessions.holders[request.canonical.cluster][request.canonical.user].debug
	row := data.compiled.sessions.debug[key]
	request.canonical.subresource in row.subresources
	{"namespace": request.canonical.namespace, "name": request.canonical.name} in row.pods
	dates.holds(row)
	participants := [p | some p in row.participants; p.user == request.canonical.user]
	count(participants) > 0
]

_full_name(row) := row.name if {
	row.namespace == ""
} else := sprintf("%s/%s", [row.namespace, row.name])
