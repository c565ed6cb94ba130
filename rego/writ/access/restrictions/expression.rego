package writ.access.restrictions

# Conditions in CEL are generated into data.compiled.expressions, under their text;
# a bundle without any has no such package. A condition that reads a key which is not
# there has no verdict.
_expression(text) := verdict if {
	verdict := data.compiled.expressions.verdicts[text]
	verdict != "error"
} else := "unknown"

_missing_of_expression(text) := "a value without an error" if {
	data.compiled.expressions.verdicts[text] == "error"
} else := "what it reads"
