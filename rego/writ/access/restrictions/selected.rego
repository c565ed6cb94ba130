package writ.access.restrictions

import data.writ.access.request
import data.writ.access.selectors

# METADATA
# description: Whether one of the restrictions holds because of a selector of the request.
selected(restrictions) if {
	not request.canonical.labels
	selectors.labels(restrictions.labels) == "true"
}

selected(restrictions) if {
	selectors.fields(restrictions.select) == "true"
	some entry in restrictions.select
	not selectors.known(entry)
}

selected(restrictions) if {
	restrictions.sameMinion
	not _pod_node
	_same_minion == "true"
}

# METADATA
# description: |
#   The labels and fields that the selectors of a list have to state for its restrictions
#   to hold, {"labelSelector", "fieldSelector"}. Undefined where none helps.
sufficient(restrictions) := chosen if {
	selectors.counts
	chosen := {selector: entries |
		some selector, entries in {"labelSelector": _open_labels(restrictions), "fieldSelector": _open_fields(restrictions)}
		entries != []
	}
	chosen != {}
}

_open_labels(restrictions) := [entry |
	not request.canonical.labels
	some entry in restrictions.labels
]

_open_fields(restrictions) := [entry |
	some entry in array.concat(object.get(restrictions, "select", []), _open_node(restrictions))
	not selectors.known(entry)
]

_open_node(restrictions) := [entry |
	restrictions.sameMinion
	not _pod_node
	some entry in _on_own_node
]
