package visibility

import (
	"cmp"

	"github.com/writ-policy/writ/server/decision"
)

// criterion is what hides an item: a field of the entry of a type, as a policy names it.
// The zero value hides nothing.
type criterion struct {
	entry string // the type
	field string
	key   string // of fields
	part  string // denied, allowed, or the value of the field
}

// The parts of criteria.
const (
	partDenied  = "denied"
	partAllowed = "allowed"
)

var (
	namesDenied       = criterion{field: "names", part: partDenied}
	namesAllowed      = criterion{field: "names", part: partAllowed}
	namespacesDenied  = criterion{field: "namespaces", part: partDenied}
	namespacesAllowed = criterion{field: "namespaces", part: partAllowed}
	withoutName       = criterion{field: "names", part: "the item has none"}
	withoutNamespace  = criterion{field: "namespaces", part: "the item has none"}
	visibilityNone    = criterion{field: "visibility", part: "none"}
)

func (c criterion) hides() bool { return c.field != "" }

// in returns the criterion as one of the entry of a type.
func (c criterion) in(typ string) criterion {
	c.entry = typ
	return c
}

// text names the criterion: "pods: names.denied".
func (c criterion) text() string {
	text := c.entry + ": " + c.field
	if c.key != "" {
		text += "." + c.key
	}
	switch c.part {
	case "":
		return text
	case partDenied, partAllowed:
		return text + "." + c.part
	}
	return text + ": " + c.part
}

// Hidden returns what hides each item of a request by an authorization for it, "" for an
// item that is visible: the same as FilterItems decides.
func (p *Policies) Hidden(r *decision.VisibilityRequest, a *decision.Authorization) []string {
	if r.Items == nil {
		return nil
	}
	f, out := p.newFilter(r, a, false), make([]string, len(*r.Items))
	for i := range *r.Items {
		switch {
		case f.rule == nil:
			out[i] = "the request is denied: " + cmp.Or(a.EvaluationError, a.Reason)
		case f.hides == nil:
			out[i] = "the rule shows no item of the type"
		default:
			if by := f.hides(&(*r.Items)[i]); by.hides() {
				out[i] = by.text()
			}
		}
	}
	return out
}
