package authz

default allow := false

allow if {
	some role in roles
	data.roles[role][input.verb][input.resource]
}

subjects contains sprintf("user:%s", [input.user])

subjects contains sprintf("group:%s", [group]) if some group in input.groups

roles contains role if some role in data.cluster[subjects[_]]

roles contains role if some role in data.bound[subjects[_]][input.namespace]

who contains subject if {
	some subject, bound in data.cluster
	some role in bound
	data.roles[role][input.verb][input.resource]
}

who contains subject if {
	some subject, bound in data.scopes[input.namespace]
	some role in bound
	data.roles[role][input.verb][input.resource]
}

# "*" stands for all.
namespaces contains "*" if {
	some role in data.cluster[subjects[_]]
	data.roles[role][input.verb][input.resource]
}

namespaces contains namespace if {
	some namespace, bound in data.bound[subjects[_]]
	some role in bound
	data.roles[role][input.verb][input.resource]
}
