package filter

import "fmt"

// mysql is MySQL and MariaDB, under every mode, with a connection in utf8mb4. A placeholder
// has no number, so that what stands twice in the text has two parameters.
type mysql struct{}

func (mysql) quote(name string) string    { return quoted(name, "`") }
func (mysql) placeholder(int, any) string { return "?" }
func (mysql) isNumbered() bool            { return false }

func (mysql) quoteText(text string) string {
	if isPlain(text) {
		return doubled(text)
	}
	return fmt.Sprintf("_utf8mb4 X'%X'", text)
}

func (mysql) binary(text string) string {
	return "CAST(CONVERT(" + text + " USING utf8mb4) AS BINARY)"
}

func (d mysql) parameter(placeholder string) string { return d.binary(placeholder) }

func (mysql) matches(text string, p *pattern, arg func(string) string) string {
	fold := func(text string) string { return "CONVERT(" + text + " USING utf8mb4) COLLATE utf8mb4_bin" }
	return fold(text) + " LIKE " + fold(arg(likePattern(p))) + " ESCAPE '!'"
}

func (mysql) slashes(text string, slash func() string) string {
	return "CHAR_LENGTH(" + text + ") - CHAR_LENGTH(REPLACE(" + text + ", " + slash() + ", ''))"
}

// at is a member of a JSON object. MariaDB keeps objects as they are written and compares
// names and texts so: those that are written with escapes, as "\/", are found one by one.
func (d mysql) at(object string, key func() string) string {
	return "COALESCE(JSON_EXTRACT(" + object + ", CONCAT('$.', JSON_QUOTE(" + key() + "))), CASE WHEN " + d.hasEscapes(object) +
		" THEN (SELECT " + d.valueOf(object) + " FROM " + d.members(object) + " WHERE " + d.isKey(key) + " LIMIT 1) END)"
}

// hasEscapes is true if the text of a JSON value has a backslash.
func (mysql) hasEscapes(value string) string {
	return "COALESCE(LOCATE(CHAR(92), " + value + "), 0) > 0"
}

// members are the names of an object as rows, and valueOf the value of a row.
func (mysql) members(object string) string {
	return "JSON_TABLE(JSON_KEYS(" + object + "), '$[*]' COLUMNS (writ_at FOR ORDINALITY, writ_key LONGTEXT PATH '$')) AS writ_members"
}

func (mysql) valueOf(object string) string {
	return "JSON_EXTRACT(JSON_EXTRACT(" + object + ", '$.*'), CONCAT('$[', writ_members.writ_at - 1, ']'))"
}

func (d mysql) isKey(key func() string) string {
	return d.binary("writ_members.writ_key") + " = " + d.binary(key())
}

func (d mysql) member(object string, key func() string) string {
	return "CASE WHEN JSON_TYPE(" + d.at(object, key) + ") = 'STRING' THEN JSON_UNQUOTE(" + d.at(object, key) + ") END"
}

// numberTypes are the types of JSON numbers.
const numberTypes = "('INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL')"

func (d mysql) scalar(object string, kind fieldType, key func() string) string {
	to := " AS DECIMAL(65, 10))"
	if kind == numberType {
		to = " AS DOUBLE)"
	}
	return "CASE WHEN JSON_TYPE(" + d.at(object, key) + ") IN " + numberTypes + " THEN CAST(" + d.at(object, key) + to + " END"
}

func (mysql) decimal(integer string) string {
	return "CAST(CAST(" + integer + " AS DECIMAL(65, 0)) AS CHAR)"
}

func (d mysql) isType(object string, kind fieldType, key func() string) string {
	types := map[fieldType]string{textType: "('STRING')", booleanType: "('BOOLEAN')", integerType: numberTypes, numberType: numberTypes}[kind]
	out := "COALESCE(JSON_TYPE(" + d.at(object, key) + ") IN ('NULL') OR JSON_TYPE(" + d.at(object, key) + ") IN " + types + ", TRUE)"
	if kind == integerType {
		out = "(" + out + " AND COALESCE(" + d.scalar(object, kind, key) + " = TRUNCATE(" + d.scalar(object, kind, key) + ", 0), TRUE))"
	}
	return out
}

func (d mysql) isTruth(object string, truth bool, key func() string) string {
	return fmt.Sprintf("COALESCE(JSON_TYPE(%s) = 'BOOLEAN' AND CAST(%s AS CHAR) = '%t', FALSE)", d.at(object, key), d.at(object, key), truth)
}

func (d mysql) hasPair(object string, key, value func() string) string {
	plain := "(COALESCE(JSON_CONTAINS(" + object + ", JSON_OBJECT(" + key() + ", " + value() + ")), 0) = 1"
	return plain + " OR (" + d.hasEscapes(object) + " AND EXISTS (SELECT 1 FROM " + d.members(object) + " WHERE " + d.isKey(key) +
		" AND JSON_TYPE(" + d.valueOf(object) + ") = 'STRING' AND " + d.binary("JSON_UNQUOTE("+d.valueOf(object)+")") + " = " + d.binary(value()) + ")))"
}

func (d mysql) hasKey(object string, key func() string) string {
	return "(COALESCE(JSON_CONTAINS(JSON_KEYS(" + object + "), JSON_QUOTE(" + key() + ")), 0) = 1 OR (" +
		d.hasEscapes(object) + " AND EXISTS (SELECT 1 FROM " + d.members(object) + " WHERE " + d.isKey(key) + ")))"
}

func (d mysql) list(column string, key func() string) string {
	if key == nil {
		return column
	}
	return d.at(column, key)
}

func (mysql) isNull(list func() string) string {
	return "COALESCE(JSON_TYPE(" + list() + ") = 'NULL', TRUE)"
}

func (mysql) isStar(list func() string, star func() string) string {
	return "COALESCE(JSON_LENGTH(" + list() + ") = 1 AND JSON_TYPE(" + list() + ") = 'ARRAY' AND JSON_CONTAINS(" + list() + ", JSON_ARRAY(" + star() + ")), FALSE)"
}

func (mysql) elements(list func() string) string {
	return "JSON_TABLE(CASE WHEN JSON_TYPE(" + list() + ") = 'ARRAY' THEN " + list() + " END, '$[*]' COLUMNS (writ_at FOR ORDINALITY)) AS writ_list"
}

func (mysql) element(list func() string) string {
	at := func() string { return "JSON_EXTRACT(" + list() + ", CONCAT('$[', writ_list.writ_at - 1, ']'))" }
	return "CASE WHEN JSON_TYPE(" + at() + ") = 'STRING' THEN JSON_UNQUOTE(" + at() + ") END"
}

func (mysql) maxArgs() int    { return limitOfArgs }
func (mysql) maxPattern() int { return 1 << 20 }
