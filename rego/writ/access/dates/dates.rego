# METADATA
# description: |
#   When documents begin and end to hold. Bounds are numbers of nanoseconds, and the
#   clock is OPA's: a request cannot choose the time.
package writ.access.dates

# METADATA
# description: |
#   True if a row of the tables holds now: from its first instant, and before the one
#   at which it ends. A row without dates always does.
# scope: document
holds(row) if not row.dates

holds(row) if {
	not row.dates.never
	object.get(row.dates, "from", _first) <= time.now_ns()
	time.now_ns() < object.get(row.dates, "until", _end)
}

# The first instant of the clock, and the one after the last.
_first := -9223372036854775808

_end := 9223372036854775808

# METADATA
# description: What a match by a row has about its end, nothing without one.
# scope: document
end(row) := {"until": text(row.dates.until)} if {
	row.dates.until
} else := {}

# METADATA
# description: |
#   The words of a reason about the end of a match, empty for one without.
# scope: document
until(entry) := sprintf(" until %s", [entry.until]) if {
	entry.until
} else := ""

# METADATA
# description: An instant as text, in UTC and without zeros at the end of the fraction.
text(instant) := time.format([instant, "UTC", "2006-01-02T15:04:05.999999999Z07:00"])
