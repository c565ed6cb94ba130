package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// limitOfArgs is the number of parameters of a statement in PostgreSQL and MySQL.
const limitOfArgs = 65535

func quoted(name, mark string) string {
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// The characters of a text that are not ordinary in a pattern. A Replacer is made once: it
// is built at its first use, which costs more than the pattern.
var (
	likeEscapes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
	globEscapes = strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]")
)

// likePattern returns a pattern for LIKE with ESCAPE '!'.
func likePattern(p *pattern) string { return patternWith(p, "%", "_", likeEscapes.Replace) }

// patternWith returns a pattern with other wildcards.
func patternWith(p *pattern, run, one string, escape func(string) string) string {
	var out strings.Builder
	for _, piece := range p.pieces {
		switch piece.Kind {
		case tables.PieceRun:
			out.WriteString(run)
		case tables.PieceOne:
			out.WriteString(one)
		case tables.PieceText:
			out.WriteString(escape(piece.Text))
		}
	}
	return out.String()
}

// postgres is PostgreSQL with a database in UTF-8.
type postgres struct{}

func (postgres) quote(name string) string { return quoted(name, `"`) }

func (postgres) placeholder(n int, value any) string {
	kind := "text"
	switch value.(type) {
	case int64:
		kind = "bigint"
	case float64:
		kind = "float8"
	}
	return "$" + strconv.Itoa(n) + "::" + kind
}

func (postgres) isNumbered() bool { return true }

func (postgres) quoteText(text string) string {
	if isPlain(text) {
		return doubled(text) + "::text"
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\\' || r == '\'':
			out.WriteString(string([]rune{r, r})) // "\'" is an error in some modes
		case isControl(r):
			fmt.Fprintf(&out, "\\x%02x", r)
		default:
			out.WriteRune(r)
		}
	}
	return "E'" + out.String() + "'::text"
}

func (postgres) binary(text string) string           { return text + ` COLLATE "C"` }
func (postgres) parameter(placeholder string) string { return placeholder }

func (d postgres) matches(text string, p *pattern, arg func(string) string) string {
	return d.binary(text) + " LIKE " + arg(likePattern(p)) + " ESCAPE '!'"
}

func (d postgres) slashes(text string, slash func() string) string {
	return "length(" + text + ") - length(replace(" + d.binary(text) + ", " + slash() + ", ''))"
}

func (postgres) member(object string, key func() string) string {
	at := "((" + object + ")::jsonb -> " + key() + ")"
	return "CASE WHEN " + at + " = to_jsonb(" + at + " #>> '{}') THEN " + at + " #>> '{}' END"
}

// numeric is a JSON path that selects numbers.
const numeric = `'$ ? (@.type() == "number")'`

func (postgres) scalar(object string, kind fieldType, key func() string) string {
	at := "((" + object + ")::jsonb -> " + key() + ")"
	to := "numeric"
	if kind == numberType {
		to = "float8"
	}
	return "CASE WHEN jsonb_path_exists(" + at + ", " + numeric + ") THEN (" + at + " #>> '{}')::" + to + " END"
}

func (postgres) decimal(integer string) string { return "trim_scale((" + integer + ")::numeric)::text" }

func (d postgres) isType(object string, kind fieldType, key func() string) string {
	at := "((" + object + ")::jsonb -> " + key() + ")"
	is := at + " = to_jsonb(" + at + " #>> '{}')"
	switch kind {
	case numberType:
		is = "jsonb_path_exists(" + at + ", " + numeric + ")"
	case integerType:
		is = "CASE WHEN jsonb_path_exists(" + at + ", " + numeric + ") THEN (" + at + " #>> '{}')::numeric = trunc((" + at + " #>> '{}')::numeric) END"
	case booleanType:
		is = at + " IN ('true'::jsonb, 'false'::jsonb)"
	case textType:
	}
	return "COALESCE(" + at + " IS NULL OR " + at + " = 'null'::jsonb OR " + is + ", FALSE)"
}

func (postgres) isTruth(object string, truth bool, key func() string) string {
	return fmt.Sprintf("COALESCE(((%s)::jsonb -> %s) = '%t'::jsonb, FALSE)", object, key(), truth)
}

func (postgres) hasPair(object string, key, value func() string) string {
	return "COALESCE((" + object + ")::jsonb @> jsonb_build_object(" + key() + ", " + value() + "), FALSE)"
}

func (postgres) hasKey(object string, key func() string) string {
	return "((" + object + ")::jsonb -> " + key() + " IS NOT NULL)"
}

func (postgres) list(column string, key func() string) string {
	if key == nil {
		return "(" + column + ")::jsonb"
	}
	return "((" + column + ")::jsonb -> " + key() + ")"
}

func (postgres) isNull(list func() string) string {
	return "COALESCE(" + list() + " = 'null'::jsonb, TRUE)"
}

func (postgres) isStar(list func() string, star func() string) string {
	return "COALESCE(" + list() + " = jsonb_build_array(" + star() + "), FALSE)"
}

func (postgres) elements(list func() string) string {
	at := list()
	return "jsonb_array_elements(CASE WHEN jsonb_path_exists(" + at + `, 'strict $ ? (@.type() == "array")') THEN ` + at + " END) AS writ_list(writ_element)"
}

func (postgres) element(func() string) string {
	return "CASE WHEN writ_element = to_jsonb(writ_element #>> '{}') THEN writ_element #>> '{}' END"
}

func (postgres) maxArgs() int    { return limitOfArgs }
func (postgres) maxPattern() int { return 1 << 20 }

// sqlite is SQLite from 3.38 on. Its parameters have no numbers.
type sqlite struct{}

func (sqlite) quote(name string) string    { return quoted(name, `"`) }
func (sqlite) placeholder(int, any) string { return "?" }
func (sqlite) isNumbered() bool            { return false }

// quoteText keeps control characters out of the text: clients that read lines change them.
func (sqlite) quoteText(text string) string {
	if !strings.ContainsFunc(text, isControl) {
		return doubled(text)
	}
	var out strings.Builder
	for _, r := range strings.ReplaceAll(text, "'", "''") {
		if isControl(r) {
			fmt.Fprintf(&out, "'||char(%d)||'", r)
		} else {
			out.WriteRune(r)
		}
	}
	return "('" + out.String() + "')"
}

func (sqlite) binary(text string) string { return text + " COLLATE BINARY" }

func (sqlite) parameter(placeholder string) string { return placeholder }

func (sqlite) matches(text string, p *pattern, arg func(string) string) string {
	return text + " GLOB " + arg(patternWith(p, "*", "?", globEscapes.Replace))
}

func (sqlite) slashes(text string, slash func() string) string {
	return "length(" + text + ") - length(replace(" + text + ", " + slash() + ", ''))"
}

// each returns the rows of a JSON value. The names of json_each hide columns of the table,
// which a table of its own keeps apart.
func (sqlite) each(value string) string {
	if names := []string{`"key"`, `"value"`, `"type"`, `"atom"`, `"id"`, `"parent"`, `"fullkey"`, `"path"`, `"json"`, `"root"`}; slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, value) }) {
		return "(SELECT " + value + " AS writ_json) AS writ, json_each(writ.writ_json) AS writ_each"
	}
	return "json_each(" + value + ") AS writ_each"
}

func (d sqlite) selected(what, object, more string, key func() string) string {
	return "(SELECT " + what + " FROM " + d.each(object) + " WHERE writ_each.key = " + key() + more + ")"
}

// realNumber is true for a row of json_each that is a number.
const realNumber = "writ_each.type <> 'true' AND writ_each.type <> 'false' AND writ_each.type <> 'text' AND writ_each.atom IS NOT NULL"

func (d sqlite) member(object string, key func() string) string {
	return d.selected("writ_each.atom", object, " AND writ_each.type = 'text'", key)
}

func (d sqlite) scalar(object string, _ fieldType, key func() string) string {
	return d.selected("writ_each.atom", object, " AND "+realNumber, key)
}

func (sqlite) decimal(integer string) string { return "CAST(CAST(" + integer + " AS INTEGER) AS TEXT)" }

func (d sqlite) isType(object string, kind fieldType, key func() string) string {
	is := map[fieldType]string{
		textType: "writ_each.type = 'text'", booleanType: "(writ_each.type = 'true' OR writ_each.type = 'false')", numberType: "(" + realNumber + ")",
		integerType: "(" + realNumber + " AND writ_each.atom = CAST(writ_each.atom AS INTEGER))",
	}[kind]
	return "NOT EXISTS " + d.selected("1", object, " AND writ_each.type <> 'null' AND NOT "+is, key)
}

func (d sqlite) isTruth(object string, truth bool, key func() string) string {
	return "EXISTS " + d.selected("1", object, fmt.Sprintf(" AND writ_each.type = '%t'", truth), key)
}

func (d sqlite) hasPair(object string, key, value func() string) string {
	return "EXISTS (SELECT 1 FROM " + d.each(object) + " WHERE writ_each.key = " + key() + " AND writ_each.value = " + value() + ")"
}

func (d sqlite) hasKey(object string, key func() string) string {
	return "EXISTS " + d.selected("1", object, "", key)
}

func (d sqlite) list(column string, key func() string) string {
	if key == nil {
		return column
	}
	// What is not a list has no elements.
	return d.selected("CASE WHEN writ_each.type = 'array' THEN writ_each.value WHEN writ_each.type <> 'null' THEN json_array() END", column, "", key)
}

func (sqlite) isNull(list func() string) string {
	return "COALESCE(json_type(" + list() + ") = 'null', TRUE)"
}

func (sqlite) isStar(list func() string, star func() string) string {
	return "COALESCE(json(" + list() + ") = json_array(" + star() + "), FALSE)"
}

func (sqlite) elements(list func() string) string {
	return "(SELECT " + list() + " AS writ_json) AS writ, json_each(CASE WHEN json_type(writ.writ_json) = 'array' THEN writ.writ_json END) AS writ_list"
}

func (sqlite) element(func() string) string {
	return "CASE WHEN writ_list.type = 'text' THEN writ_list.atom END"
}

func (sqlite) maxArgs() int    { return 32766 }
func (sqlite) maxPattern() int { return 50000 }
