package companion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// maxSegments bounds the segments of a path: keys of maps may have dots, so each way to split it
// is printed.
const maxSegments = 6

// serverMetadata are the fields of metadata that no user changes by a write.
var serverMetadata = []string{
	"name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink",
	"managedFields", "deletionTimestamp", "deletionGracePeriodSeconds",
}

// maxDepth is how many levels of maps below a path are compared key by key, because an absent map
// is like an empty one. CEL has no recursion.
const maxDepth = 6

// fieldsPrinter prints that a write changes no field outside some paths.
type fieldsPrinter struct {
	// deep is the condition on two values, %[1]s and %[2]s, below maxDepth: that no field of
	// them is changed. An allowing rule takes every difference for a change, a denial none that
	// may be one of empty maps.
	deep string
}

// within returns the expression that a write changes no field outside some paths. It returns
// false for paths that CEL cannot follow.
func within(paths []string, deny bool) (expression string, ok bool) {
	for _, path := range paths {
		if strings.ContainsAny(path, "[]") || strings.Count(path, ".") >= maxSegments {
			return "", false
		}
	}
	p := fieldsPrinter{"%[1]s == %[2]s"}
	if deny {
		p.deep = "(%[1]s == %[2]s || type(%[1]s) == map && type(%[2]s) == map)"
	}
	return p.level("object", "variables.before", paths, 0, []string{"apiVersion", "kind"}, !slices.Contains(paths, "metadata")), true
}

// level is the condition that two maps differ at no key outside some paths below them. Keys of
// ignored are not compared; hasMetadata states that "metadata" has keys of the server.
func (p *fieldsPrinter) level(after, before string, paths []string, depth int, ignored []string, hasMetadata bool) string {
	key := fmt.Sprintf("k%d", depth)
	skipped := slices.Clone(ignored)
	inner := make(map[string][]string)
	var order []string
	if hasMetadata {
		order = append(order, "metadata")
	}
	var begins []string
	for _, path := range paths {
		skipped = append(skipped, path)
		begins = append(begins, fmt.Sprintf("%s.startsWith(%s)", key, quote(path+".")), fmt.Sprintf("%s.startsWith(%s)", key, quote(path+"[")))
		for at, c := range path {
			if c == '.' && !slices.Contains(paths, path[:at]) {
				order = append(order, path[:at])
				inner[path[:at]] = append(inner[path[:at]], path[at+1:])
			}
		}
	}
	skips := []string{isIn(key, append(skipped, order...))}
	if depth == 0 {
		skips = append(skips, fmt.Sprintf(`(%s == "status" && variables.setsStatus)`, key))
	}
	out := []string{fmt.Sprintf("%s.all(%s, %s)", keysOf(after, before), key, anyOf(append(append(skips, begins...), p.same(after, before, key, 0))...))}
	for _, name := range tables.Once(order) {
		var own []string
		if hasMetadata && name == "metadata" {
			own = serverMetadata
		}
		a, b := fmt.Sprintf("a%d", depth), fmt.Sprintf("b%d", depth)
		out = append(out, bound(after, before, quote(name), a, b, p.level(a, b, inner[name], depth+1, own, false)))
	}
	return strings.Join(out, " && ")
}

// same is the condition that a key of two maps has the same value.
func (p *fieldsPrinter) same(after, before, key string, depth int) string {
	x, y, k := fmt.Sprintf("x%d", depth), fmt.Sprintf("y%d", depth), fmt.Sprintf("z%d", depth)
	if depth == maxDepth {
		return bound(after, before, key, x, y, fmt.Sprintf(p.deep, x, y))
	}
	return bound(after, before, key, x, y, fmt.Sprintf("%s.all(%s, %s)", keysOf(x, y), k, p.same(x, y, k, depth+1)))
}

// bound is the condition that the values of a key in two maps are equal, or maps that fulfil a
// condition, which knows them by names. An absent value is an empty map.
func bound(after, before, key, a, b, condition string) string {
	member := func(of string) string { return fmt.Sprintf("%s in %s ? %s[%s] : dyn({})", key, of, of, key) }
	return fmt.Sprintf("[%s].all(%s, [%s].all(%s, %s == %s || type(%s) == map && type(%s) == map && %s))", member(after), a, member(before), b, a, b, a, b, condition)
}

func keysOf(a, b string) string { return fmt.Sprintf("(%s.map(k, k) + %s.map(k, k))", a, b) }
