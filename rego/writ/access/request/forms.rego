package writ.access.request

# METADATA
# description: |
#   The other forms of a request, which deny policies are matched against as well:
#   roles of the Origin family accept kinds in any case and number, verbs in any case,
#   and exec and proxy as verbs, and no spelling of a granted request may escape a
#   denial. A form is [verb, subresource, resource]; the forms are all combinations but
#   the request as written.
forms contains form if {
	canonical.path == ""
	some [verb, subresource] in _actions
	some resource in _resources_of_kind
	form := [verb, subresource, resource]
	form != [canonical.verb, canonical.subresource, canonical.resource]
}

# A path has no resource; only rules about impersonation match it.
forms contains [_verb, "", ""] if {
	canonical.path != ""
	_verb != canonical.verb
}

_verbs := {canonical.verb, _verb}

_actions contains [verb, subresource] if {
	some verb in _verbs
	some subresource in {canonical.subresource, lower(canonical.subresource)}
}

_actions contains [verb, _stream] if some verb in _verbs

_actions contains ["create", _stream] if _stream == "exec"

# Of the words for the same kind, only those that policies name can match a rule that
# the request as written does not match.
_resources_of_kind := {canonical.resource} | {named |
	some named in data.compiled.deny_resources.named[lower(canonical.resource)]
}
