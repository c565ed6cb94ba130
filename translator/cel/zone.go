package cel

import (
	"regexp"
	"strconv"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/writ-policy/writ/translator/regotext"
)

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
