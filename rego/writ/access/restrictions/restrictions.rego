# METADATA
# description: |
#   Origin's attribute restrictions, evaluated for the request: each is "true",
#   "false", or "unknown" if the request lacks what it reads.
package writ.access.restrictions

import data.writ.access.request
import data.writ.access.selectors

# METADATA
# description: |
#   The restrictions of a rule taken together, {"verdict", "missing"}: false if
#   any is, else unknown if any is. If the verdict is unknown, missing says for each
#   restriction that is unknown why.
judge(restrictions) := {"verdict": verdict, "missing": {name: what |
	verdict == "unknown"
	some name, "unknown" in results
	what := _missing(name, restrictions)
}} if {
	results := _results(restrictions)
	verdict := _together({result | some result in results})
}

_together(results) := "false" if {
	"false" in results
} else := "unknown" if {
	"unknown" in results
} else := "true"

_results(restrictions) := object.union_n([
	{"fieldsMutatable": _fields(fields) | fields := restrictions.fields},
	{"labelsContain": _labels(labels) | labels := restrictions.labels},
	{"fieldsSelect": selectors.fields(fields) | fields := restrictions.select},
	{"sameMinionRestriction": _same_minion | restrictions.sameMinion},
	{"cel": _expression(text) | text := restrictions.expression},
	{name: _extension(name, restrictions) | name := restrictions.extension},
])

_missing("fieldsMutatable", _) := "which fields change is not known"

_missing("labelsContain", restrictions) := _undecided(entries) if {
	entries := selectors.undecided_labels(restrictions.labels)
} else := "which labels the object has is not known"

_missing("fieldsSelect", restrictions) := _undecided(entries) if {
	entries := selectors.undecided_fields(restrictions.select)
} else := "which fields the object has is not known"

_missing("sameMinionRestriction", _) := "the requester's node is not known" if {
	not _requester_node
} else := _undecided(entries) if {
	entries := selectors.undecided_fields(_on_own_node)
} else := "the pod's node is not known"

_missing("cel", restrictions) := sprintf("%s is not known", [_missing_of_expression(restrictions.expression)])

_missing(name, restrictions) := "what it reads is not known" if {
	name == restrictions.extension
	_equal(_answer(name, restrictions), "unknown")
} else := "an answer of true, false or \"unknown\" is not known" if {
	name == restrictions.extension
}

_undecided(entries) := sprintf("the selector does not decide %s", [entries])

# Reading changes no field, so the fields of the request do not matter.
_fields(mutable) := "true" if {
	_carries({"get", "list", "watch"})
} else := "false" if {
	not _carries({"update", "create"})
} else := "unknown" if {
	not request.canonical.fields
} else := "true" if {
	every path in request.canonical.fields {
		_covered(_full_path(path), mutable)
	}
} else := "false"

_carries(verbs) if {
	some verb in request.carried
	verb in verbs
}

_covered(path, mutable) if path in mutable

_covered(path, mutable) if {
	some field in mutable
	strings.any_prefix_match(path, [concat("", [field, "."]), concat("", [field, "["])])
}

_full_path(path) := concat("", ["metadata.", path]) if {
	first := regex.split(`[.\[]`, path)[0]
	first in {"labels", "annotations", "finalizers", "ownerReferences"}
} else := path

# The labels of the object go before what a selector says of all objects.
_labels(entries) := selectors.labels(entries) if {
	not request.canonical.labels
} else := "true" if {
	every entry in entries {
		_has_label(entry)
	}
} else := "false"

_has_label(entry) if {
	value := request.canonical.labels[entry.key]
	object.get(entry, "value", value) == value
}

# An extension without an answer does not hold. Any answer other than true and false
# counts as unknown.
_extension(name, restrictions) := "false" if {
	not _answer(name, restrictions)
} else := "true" if {
	_equal(_answer(name, restrictions), true)
} else := "unknown"

# A function, because its arguments have no type: comparing the answer of an
# extension that returns only booleans directly would be a type error.
_equal(answer, word) if answer == word

_answer(name, restrictions) := data.compiled.extensions.holds(
	name,
	request.whole,
	object.get(restrictions, "params", {}),
)
