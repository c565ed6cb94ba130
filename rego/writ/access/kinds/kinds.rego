# METADATA
# description: |
#   Origin's resource kinds: which words name the same kind. All words are in lower
#   case.
package writ.access.kinds

# METADATA
# description: The plural of a lower-case word.
plural(word) := concat("", [substring(word, 0, count(word) - 1), "ies"]) if {
	_ends_in_consonant_y(word)
} else := concat("", [word, "es"]) if {
	_sibilant(word)
} else := concat("", [word, "s"])

# METADATA
# description: |
#   Every word that names the same kind as this one: itself, its plural, and the
#   words of which it is the plural. The relation is not transitive, so a lookup
#   needs the whole list.
same(word) := array.concat([word, plural(word)], [single |
	some single in _singulars(word)
	single != word
])

_singulars(word) := {single |
	endswith(word, "s")
	some single in [
		concat("", [trim_suffix(word, "ies"), "y"]),
		trim_suffix(word, "es"),
		trim_suffix(word, "s"),
	]
	single != ""
	plural(single) == word
}

_ends_in_consonant_y(word) if {
	endswith(word, "y")
	count(word) > 1
	before := substring(word, count(word) - 2, 1)
	contains("bcdfghjklmnpqrstvwxyz", before)
}

_sibilant(word) if strings.any_suffix_match(word, ["s", "x", "z", "ch", "sh"])
