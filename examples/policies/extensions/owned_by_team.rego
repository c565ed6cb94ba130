# METADATA
# description: |
#   A custom restriction: the object belongs to a team of the requester. The object
#   names its team in a label; the requester has a group "team:NAME".
package writ.extensions.owned_by_team

# The labels are not known: omitting them must neither satisfy an allow rule nor
# avoid a deny rule.
holds(request, _) := "unknown" if not request.labels

holds(request, params) if {
	team := request.labels[params.label]
	sprintf("team:%s", [team]) in request.groups
}
