# METADATA
# description: |
#   What generated effective policies are put together from: the states of a
#   request between one rule and the next, and how rules' verdicts are written. What
#   the conditions of a document read is such a state, given as input.
package writ.gateway.outcome

import data.writ.access
import data.writ.gateway.request
import data.writ.gateway.selector

# METADATA
# description: |
#   The state before the first rule. The key null has the engine's answers and the
#   patterns of the effective policy, which resolve references to patterns.
# scope: document
start(patterns) := object.union(request.attributes, {null: {"patterns": patterns, "answers": answers}}) if {
	answers := input[null].answers
} else := object.union(request.attributes, {null: {"patterns": patterns}})

# METADATA
# description: The state with the anonymous identity.
anonymous(state) := object.union(state, {"auth": {"identity": {"anonymous": true}}})

# METADATA
# description: The state after an authorization rule. Only a rule that allows adds a value.
# scope: document
after(state, name, verdict) := object.union(state, {"auth": {"authorization": {name: verdict.value}}}) if {
	verdict.outcome == "allow"
} else := state

# METADATA
# description: The state after an item of the response. An item without a value adds nothing.
# scope: document
answered(state, name, item) := object.union(state, {"auth": {"response": {name: item[1]}}}) if {
	count(item) == 2
} else := state

# METADATA
# description: The input of a policy's Rego.
seen := object.remove(input, [null])

# METADATA
# description: |
#   Whether a value of a policy's Rego is true. A direct comparison would not compile
#   where OPA's type checker finds that the value is never true.
is_true(value) if json.marshal(value) == "true"

# METADATA
# description: |
#   The values of Rego of a policy as JSON: later rules have no sets.
plain(values) := json.unmarshal(json.marshal(values))

# METADATA
# description: The outcomes that count as a denial.
denials := {"deny", "error"}

# METADATA
# description: |
#   Whether the access point allows a request. The embedded engine puts the answers into
#   the input; without them the access point is evaluated here.
# scope: document
allowed(review) if {
	answers := input[null].answers
	answers[json.marshal(review)] == true
}

allowed(review) if {
	not input[null].answers
	decision := access.decision with input as review
	decision.allowed
}

# METADATA
# description: |
#   A header's value: a string as it is, any other value as JSON.
header(value) := selector.text(value)

# METADATA
# description: An access request without absent members, as the access point expects it.
review(user, groups, attributes) := object.union({"user": user, "groups": _distinct(groups)}, attributes)

_distinct(groups) := sort({group | some group in groups; group != ""})
