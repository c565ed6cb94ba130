# METADATA
# description: |
#   Selectors: dotted paths into a request, as conditions and values write them.
#   A path is taken apart when documents are compiled; a step that finds nothing
#   is undefined, and so is all that follows it.
package writ.gateway.selector

# METADATA
# description: One step of a path, an object's member or a list's element.
# scope: document
step(value, name) := value[name] if {
	is_object(value)
}

step(value, name) := value[to_number(name)] if {
	is_array(value)
	regex.match(`^[0-9]{1,9}$`, name)
}

# METADATA
# description: The length of a list, which "#" asks for.
length(value) := count(value) if {
	is_array(value)
}

# METADATA
# description: |
#   A value as conditions compare it: text as it is, null as nothing, lists and
#   objects as JSON.
# scope: document
text(value) := value if {
	is_string(value)
} else := "" if {
	value == null
} else := format_int(value, 10) if {
	is_number(value)
	value == round(value)
} else := json.marshal(value)

# METADATA
# description: What a list of a selector's results holds; a scalar is a list of one.
# scope: document
elements(value) := [text(element) | some element in value] if {
	is_array(value)
} else := [] if {
	value == null
} else := [text(value)]

# METADATA
# description: A part of a text that is cut at sep; undefined past its end.
extract(value, sep, pos) := parts[pos] if {
	parts := split(text(value), sep)
}

# METADATA
# description: The text in upper or lower case.
# scope: document
cased(value, "upper") := upper(text(value))

cased(value, "lower") := lower(text(value))

# METADATA
# description: The text with every old replaced by new.
replaced(value, old, new) := replace(text(value), old, new)

# METADATA
# description: The text in base64, or the decoded text; undefined if the text is not base64.
# scope: document
base64_of(value, "encode") := base64.encode(text(value))

base64_of(value, "decode") := decoded if {
	padded := regex.replace(text(value), `=*$`, "")
	regex.match(`^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?$`, padded)
	decoded := base64.decode(sprintf("%s%s", [padded, ["", "", "==", "="][count(padded) % 4]]))
}

# METADATA
# description: The text without characters that do not print.
stripped(value) := regex.replace(text(value), `[^\pL\pM\pN\pP\pS ]`, "")
