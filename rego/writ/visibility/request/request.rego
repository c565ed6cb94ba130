# METADATA
# description: |
#   The request of the visibility point: its validation, and the values that rules read.
#   Values of a wrong type read as absent, so that no rule fails for an input that has
#   not been validated.
# schemas:
#   - input: schema.visibility
package writ.visibility.request

# METADATA
# description: |
#   The subjects of the principal, the keys by which policies are found: "user:NAME" and
#   "group:NAME". A service account is the user system:serviceaccount:NS:NAME.
subjects := array.concat(_users, [concat("", ["group:", group]) |
	some group in input.groups
	is_string(group)
	group != ""
])

# METADATA
# description: Whether there is a principal. Groups alone are not a principal.
# scope: document
has_principal if count(_users) > 0

_users := array.concat(
	[concat("", ["user:", input.user]) | is_string(input.user); input.user != ""],
	[sprintf("user:system:serviceaccount:%s:%s", [namespace, name]) |
		{"namespace": namespace, "name": name} := _account
		namespace != ""
		name != ""
	],
)

_account := {"namespace": input.serviceAccount.namespace, "name": input.serviceAccount.name} if {
	is_string(input.serviceAccount.namespace)
	is_string(input.serviceAccount.name)
}

# METADATA
# description: The action of the request, empty if it has none.
# scope: document
default action := ""

action := input.action if is_string(input.action)

# METADATA
# description: The permission that the action needs; undefined for an unknown action.
permission := {"": "view", "view": "view", "viewMetrics": "viewMetrics"}[action]

# METADATA
# description: The name of the cluster, empty if the request has none.
# scope: document
default cluster := ""

cluster := input.cluster.name if is_string(input.cluster.name)

# METADATA
# description: The type, empty for the cluster itself.
# scope: document
default type := ""

type := input.type if is_string(input.type)

_standard := {"nodes", "namespaces", "operators", "pods", "alerts", "events"}

# METADATA
# description: Whether the type is a custom type.
# scope: document
custom if {
	type != ""
	not type in _standard
}

# METADATA
# description: The items; undefined if the request has none.
# scope: document
items := input.items if is_array(input.items)

# METADATA
# description: The aggregations of the request, empty if it has none.
# scope: document
default aggregations := {}

aggregations := input.aggregations if is_object(input.aggregations)

# METADATA
# description: The metrics; undefined if the request has none.
# scope: document
metrics := input.metrics if is_object(input.metrics)
