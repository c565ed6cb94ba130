package cel

import (
	"regexp"
	"strconv"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
)

var offset = regexp.MustCompile(`^([+-]?)([01][0-9]|2[0-3]):([0-5][0-9])$`)

// part takes a part out of a time, at the offset of a zone. A zone by its name would
// mean what the machine knows of it, so that two would decide differently.
func (c *compiler) part(e ast.Expr, args []ast.Expr, name string) string {
	east := 0
	if len(args) == 2 {
		zone, ok := args[1].AsLiteral().(types.String)
		if ok {
			east, ok = seconds(string(zone))
		}
		if !ok {
			return c.refuse(args[1], `a time zone is "UTC" or an offset such as "+02:00"; others are not supported`)
		}
	}
	return call("part_of_time", c.expression(args[0]), quote(name), strconv.Itoa(east))
}

// seconds is how many seconds a zone is east of UTC.
func seconds(zone string) (int, bool) {
	if zone == "" || zone == "UTC" {
		return 0, true
	}
	m := offset.FindStringSubmatch(zone)
	if m == nil {
		return 0, false
	}
	hours, _ := strconv.Atoi(m[2])
	minutes, _ := strconv.Atoi(m[3])
	east := hours*3600 + minutes*60
	if m[1] == "-" {
		east = -east
	}
	return east, true
}
