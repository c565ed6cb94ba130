package certificate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// expr is a condition on requests: all or any of a list, or a value of one key, which matches an
// expression or, for the key holds, is one of some principals. Without op it cannot be read.
type expr struct {
	op, key string
	list    []*expr
	any     []string
}

var unknown = new(expr)

func and(list ...*expr) *expr                  { return &expr{op: "and", list: list} }
func or(list ...*expr) *expr                   { return &expr{op: "or", list: list} }
func not(e *expr) *expr                        { return &expr{op: "not", list: []*expr{e}} }
func matching(key string, any ...string) *expr { return &expr{op: "key", key: key, any: any} }

// region is conditions on the values of each key, all of which a request meets.
type region struct {
	of    map[string][]condition
	apart [][]string // lists of principals of which a request holds one at most
	alone bool       // a request holds one principal
}

type condition struct {
	any []string
	not bool
}

// within returns the parts of regions that an expression fits, or does not.
func within(e *expr, positive bool, regions []*region) (out []*region) {
	for _, r := range regions {
		out = append(out, r.parts(e, positive)...)
	}
	return out
}

// parts are r itself if all its requests fit, none if none do.
func (r *region) parts(e *expr, positive bool) (out []*region) {
	switch {
	case e.op == "":
		return []*region{r}
	case e.op == "not":
		return r.parts(e.list[0], !positive)
	case e.op == "key" && len(r.with(e, !positive)) == 0:
		return []*region{r}
	case e.op == "key":
		return r.with(e, positive)
	case (e.op == "and") == positive:
		out = []*region{r}
		for _, x := range e.list {
			out = within(x, positive, out)
		}
		return out
	}
	for _, x := range e.list {
		found := r.parts(x, positive)
		if len(found) == 1 && found[0] == r {
			return found
		}
		out = append(out, found...)
	}
	return out
}

// emptiness keeps what hasNoText returns.
var emptiness = make(map[string]bool)

func (r *region) with(e *expr, positive bool) []*region {
	next := &region{maps.Clone(r.of), r.apart, r.alone}
	if next.of == nil {
		next.of = make(map[string][]condition)
	}
	conditions := append(slices.Clip(r.of[e.key]), condition{e.any, !positive})
	next.of[e.key] = conditions
	id := fmt.Sprintf("%#v", conditions)
	if _, isKnown := emptiness[id]; !isKnown && e.key != "holds" {
		emptiness[id] = hasNoText(conditions)
	}
	if e.key == "holds" && next.hasNoSubject() || e.key != "holds" && emptiness[id] {
		return nil
	}
	return []*region{next}
}

// hasNoSubject reports whether no subject holds one principal of each list that it must.
func (r *region) hasNoSubject() bool {
	var lists [][]string
	for _, c := range r.of["holds"] {
		if !c.not {
			lists = append(lists, slices.DeleteFunc(slices.Clone(c.any), func(p string) bool {
				return slices.ContainsFunc(r.of["holds"], func(o condition) bool { return o.not && slices.Contains(o.any, p) })
			}))
		}
	}
	for i, a := range lists {
		for _, b := range lists[:i] {
			both := append(slices.Clone(a), b...)
			areIn := func(in func(string) bool) bool {
				return !slices.ContainsFunc(both, func(p string) bool { return !in(p) })
			}
			isApart := r.alone || areIn(func(p string) bool { return strings.HasPrefix(p, "user:") }) ||
				slices.ContainsFunc(r.apart, func(list []string) bool { return areIn(func(p string) bool { return slices.Contains(list, p) }) })
			if isApart && !slices.ContainsFunc(a, func(p string) bool { return slices.Contains(b, p) }) {
				return true
			}
		}
		if len(a) == 0 {
			return true
		}
	}
	return false
}
