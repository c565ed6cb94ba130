# METADATA
# description: |
#   The reasons and warnings of decisions at the access point, as sentences.
package writ.access.reason

import data.writ.access.dates
import data.writ.access.request
import data.writ.access.sessions

# METADATA
# description: The reason for the decision by these matched rules, the decisive one first.
decided(matched) := sprintf("not allowed: no rule allows %s", [_asked]) if {
	count(matched) == 0
} else := sprintf("allowed by %s", [_by(matched[0])]) if {
	matched[0].effect == "allow"
} else := sprintf("denied by %s; would be allowed by %s", [_by(matched[0]), _by(allows[0])]) if {
	allows := [entry | some entry in matched; entry.effect == "allow"]
	count(allows) > 0
} else := sprintf("denied by %s", [_by(matched[0])])

# METADATA
# description: The warning that a restriction of a rule cannot be decided.
undecided(binding, rule, restriction, why) := sprintf("%s %s rule %d: %s undecidable: %s", [
	binding.kind,
	_full_name(binding),
	rule.rule,
	restriction,
	why,
])

# METADATA
# description: |
#   What ends the reason if a list is allowed with these selectors, by the binding that a
#   row names in its second to fourth element.
sufficient(row, selectors) := sprintf("; allowed with %s (%s %s)", [
	selectors,
	row[1],
	_full_name({"namespace": row[2], "name": row[3]}),
])

_by(entry) := sprintf("%s %s (%s %s, rule %d)%s%s", [
	entry.kind,
	_full_name(entry),
	entry.role.kind,
	_full_name(entry.role),
	entry.rule,
	sessions.words(entry),
	dates.until(entry),
])

_full_name(named) := named.name if {
	named.namespace == ""
} else := sprintf("%s/%s", [named.namespace, named.name])

_asked := sprintf("%s %s", [request.canonical.verb, request.canonical.path]) if {
	request.canonical.path != ""
} else := sprintf("%s %s at cluster scope", [request.canonical.verb, request.full_resource]) if {
	request.canonical.namespace == ""
} else := sprintf("%s %s in %s", [request.canonical.verb, request.full_resource, request.canonical.namespace])
