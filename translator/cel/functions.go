package cel

import (
	"regexp"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/writ-policy/writ/translator/regotext"
)

// function maps a function or operator of CEL to one of the library.
type function struct {
	name string
	// args is the number of arguments, including the receiver of a method.
	args int
	// fill are the defaults of the last arguments.
	fill []string
	// fewer is the library's function with one argument fewer.
	fewer string
}

var functions = map[string]function{
	operators.LogicalNot:    {name: "inverse", args: 1},
	operators.Conditional:   {name: "choice", args: 3},
	operators.Equals:        {name: "same", args: 2},
	operators.NotEquals:     {name: "differs", args: 2},
	operators.Less:          {name: "less", args: 2},
	operators.LessEquals:    {name: "at_most", args: 2},
	operators.Greater:       {name: "greater", args: 2},
	operators.GreaterEquals: {name: "at_least", args: 2},
	operators.In:            {name: "member", args: 2},
	operators.Index:         {name: "at", args: 2},
	operators.Add:           {name: "add", args: 2},
	operators.Subtract:      {name: "subtract", args: 2},
	operators.Multiply:      {name: "multiply", args: 2},
	operators.Divide:        {name: "divide", args: 2},
	operators.Modulo:        {name: "modulo", args: 2},
	operators.Negate:        {name: "negate", args: 1},
	"size":                  {name: "size", args: 1},
	"startsWith":            {name: "starts_with", args: 2},
	"endsWith":              {name: "ends_with", args: 2},
	"contains":              {name: "includes", args: 2},
	"matches":               {name: "matches", args: 2},
	"lowerAscii":            {name: "lower_ascii", args: 1},
	"upperAscii":            {name: "upper_ascii", args: 1},
	"trim":                  {name: "trimmed", args: 1},
	"reverse":               {name: "reversed", args: 1},
	"split":                 {name: "parts", args: 3, fill: []string{"-1"}},
	"join":                  {name: "joined", args: 2, fill: []string{`""`}},
	"replace":               {name: "replaced", args: 4, fill: []string{"-1"}},
	"substring":             {name: "part", args: 3, fewer: "rest"},
	"charAt":                {name: "char_at", args: 2},
	"indexOf":               {name: "index_of", args: 3, fill: []string{"0"}},
	"lastIndexOf":           {name: "last_index_of", args: 2},
	"type":                  {name: "type", args: 1},
	"bool":                  {name: "as_bool", args: 1},
	"int":                   {name: "as_int", args: 1},
	"double":                {name: "as_double", args: 1},
	"string":                {name: "as_string", args: 1},
	"dyn":                   {name: "as_is", args: 1},
	"timestamp":             {name: "timestamp", args: 1},
	"duration":              {name: "duration", args: 1},
}

// parts are the methods of timestamps and durations that return one part.
var parts = map[string]string{
	"getFullYear": "year", "getMonth": "month", "getDate": "date", "getDayOfMonth": "day", "getDayOfYear": "day_of_year",
	"getDayOfWeek": "day_of_week", "getHours": "hours", "getMinutes": "minutes", "getSeconds": "seconds",
	"getMilliseconds": "milliseconds",
}

// functionNames returns the names of functions, methods and macros, sorted.
func functionNames() []string {
	names := []string{"all", "exists", "exists_one", "filter", "has", "map"}
	for name := range functions {
		if sourceName(name) == name && name[0] != '_' {
			names = append(names, name)
		}
	}
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// resolve returns the library's function and its arguments, or "" if the number of
// arguments is wrong.
func (f function) resolve(terms []string) (string, []string) {
	switch missing := f.args - len(terms); {
	case missing == 0:
		return f.name, terms
	case missing == len(f.fill) && missing > 0:
		return f.name, slices.Concat(terms, f.fill)
	case missing == 1 && f.fewer != "":
		return f.fewer, terms
	}
	return "", nil
}

// sourceName returns the name of a function or operator as it is written in CEL.
func sourceName(name string) string {
	switch name {
	case operators.Index:
		return "[]"
	case operators.Conditional:
		return "? :"
	}
	if operator, ok := operators.FindReverse(name); ok && operator != "" {
		return operator
	}
	return name
}

var offset = regexp.MustCompile(`^([+-]?)([01][0-9]|2[0-3]):([0-5][0-9])$`)

// part compiles a method that returns one part of a time, at the offset of a zone.
// Named zones are not supported: their rules differ between machines, and so would
// the decisions.
func (c *compiler) part(args []ast.Expr, name string) string {
	offsetSeconds := 0
	if len(args) == 2 {
		zone, ok := args[1].AsLiteral().(types.String)
		if ok {
			offsetSeconds, ok = parseOffset(string(zone))
		}
		if !ok {
			return c.reject(args[1], `a time zone is "UTC" or an offset such as "+02:00"; others are not supported`)
		}
	}
	return call("part_of_time", c.expression(args[0]), regotext.Quote(name), strconv.Itoa(offsetSeconds))
}

// parseOffset returns the offset of a zone in seconds east of UTC.
func parseOffset(zone string) (int, bool) {
	if zone == "" || zone == "UTC" {
		return 0, true
	}
	m := offset.FindStringSubmatch(zone)
	if m == nil {
		return 0, false
	}
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	offsetSeconds := hours*3600 + minutes*60
	if m[1] == "-" {
		offsetSeconds = -offsetSeconds
	}
	return offsetSeconds, true
}
