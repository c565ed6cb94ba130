package writ.access

import data.writ.access.reason
import data.writ.access.request
import data.writ.access.restrictions
import data.writ.access.selectors

# What ends the reason of a list that no rule allows: the selectors with which the first
# rule that is able to allow it does. Trying them costs a decision each, so that few are.
default _sufficient := ""

_sufficient := text if {
	count(_positions) == 0
	count(_hits) <= 100
	text := [reason.sufficient(row, words) |
		some row in array.slice(sort(_conditional), 0, 10)
		words := selectors.words(row[6])
		_allows_with(row[6])
	][0]
}

_conditional := [[_step(binding, rule), binding.kind, binding.namespace, binding.name, rule.rule, binding.apiVersion, chosen] |
	some [binding, _, rule] in _hits
	not rule.deny
	chosen := restrictions.sufficient(rule.restrictions)
	_holds(rule) with input as _selecting(chosen)
]

_selecting(chosen) := object.union(request.canonical, {"attributes": selectors.requirements(chosen)})

_allows_with(chosen) if {
	_first_step in {4, 6} with input as _selecting(chosen)
}

_first_step := min({_step(binding, rule) |
	some [binding, _, rule] in _hits
	_holds(rule)
})

# The positions of the hits that hold because of a selector.
_selected := [position |
	some position, hit in _hits
	_is_selected(hit[2])
]

_is_selected(rule) if {
	restrictions.selected(rule.restrictions)
	restrictions.judge(rule.restrictions).verdict == "true"
}

_implied(rule) := {"selector": "implied"} if {
	_is_selected(rule)
} else := {}
