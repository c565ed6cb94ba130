# METADATA
# description: |
#   A restriction of our own: the object belongs to a team of the requester. The
#   object says so with a label, the requester with a group "team:NAME".
package writ.extensions.owned_by_team

# The labels are not known: neither an allow rule nor a deny rule may be dodged
# by leaving them out.
holds(request, _) := "unknown" if not request.labels

holds(request, params) if {
	team := request.labels[params.label]
	sprintf("team:%s", [team]) in request.groups
}
