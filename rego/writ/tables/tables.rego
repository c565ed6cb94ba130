# METADATA
# description: |
#   Whether a bundle has the tables that decisions are looked up in. A table that was
#   removed would be searched without an error, and its denials would be lost. A reference
#   to a whole table does not read it. The embedded engine checks bundles when it reads
#   them.
package writ.tables

# METADATA
# description: Why the access point cannot decide. Undefined for a complete bundle.
access := _missing(_of_access)

# METADATA
# description: Why the visibility point cannot decide. Undefined for a complete bundle.
visibility := _missing(_of_visibility)

# METADATA
# description: |
#   Why the gateway point cannot decide. Undefined for a complete bundle. Gateways are
#   rules, but a bundle that states nothing about its tables is not complete.
gateway := _missing({"features"}) if not data.compiled.features

# METADATA
# description: The reason of a decision that denies because a bundle is incomplete.
reason(cause) := sprintf("denied: evaluation error: %s", [cause])

# METADATA
# description: |
#   Why a bundle of one cluster, which lacks the documents of others, cannot decide a
#   request about the named one. Undefined if it can.
elsewhere(named) := sprintf("the bundle is for cluster %q alone", [own]) if {
	own := data.compiled.access.cluster
	not named in {"", own}
}

_missing(names) := sprintf("the bundle lacks data.compiled.%s", [min(names)])

_of_access contains "features" if not data.compiled.features

_of_access contains "access.roles" if not data.compiled.access.roles

_of_access contains "access.bindings" if not data.compiled.access.bindings

_of_access contains "access.subjects.cluster" if not data.compiled.access.subjects.cluster

_of_access contains "access.subjects.namespaces" if not data.compiled.access.subjects.namespaces

_of_access contains "deny_tables" if {
	data.compiled.features.denyPolicies
	not data.compiled.deny_tables
}

_of_access contains "deny" if {
	data.compiled.features.denyPolicies
	not data.compiled.deny.rules
	not data.compiled.deny.pods
}

_of_access contains "deny_resources" if {
	count(data.compiled.deny_tables.resources) > 0
	not data.compiled.deny_resources.named
}

_of_access contains sprintf("sessions.%s", [name]) if {
	some name in ["sessions", "debug", "holders"]
	data.compiled.features.sessions
	not data.compiled.sessions[name]
}

_of_visibility contains "features" if not data.compiled.features

_of_visibility contains "visibility_tables" if {
	data.compiled.features.visibility
	not data.compiled.visibility_tables
}

_of_visibility contains sprintf("visibility_tables.%s", [name]) if {
	some name in ["policies", "allows", "denies", "sources", "types"]
	data.compiled.visibility_tables
	not data.compiled.visibility_tables[name]
}
