# METADATA
# description: |
#   The request of the visibility point: whether it is one, and what the rules
#   read of it. Values of a wrong type read as absent, so that nothing fails over
#   an input that nobody has checked.
package writ.visibility.request

# METADATA
# description: |
#   Who asks, as policies are looked up: "user:NAME" and "group:NAME". A service
#   account is the user system:serviceaccount:NS:NAME.
subjects := array.concat(_users, [concat("", ["group:", group]) |
	some group in input.groups
	is_string(group)
	group != ""
])

# METADATA
# description: Whether there is a principal. Groups alone are none.
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
# description: The action as it is asked, empty where none is.
# scope: document
default action := ""

action := input.action if is_string(input.action)

# METADATA
# description: The permission that the action needs; undefined for an action there is not.
permission := {"": "view", "view": "view", "viewMetrics": "viewMetrics"}[action]

# METADATA
# description: The cluster's name, empty where there is none.
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
# description: Whether the type is a custom one.
# scope: document
custom if {
	type != ""
	not type in _standard
}

# METADATA
# description: The items; undefined where the request has none.
# scope: document
items := input.items if is_array(input.items)

# METADATA
# description: The raw aggregations, empty where the request has none.
# scope: document
default aggregations := {}

aggregations := input.aggregations if is_object(input.aggregations)

# METADATA
# description: The metrics; undefined where the request has none.
# scope: document
metrics := input.metrics if is_object(input.metrics)
