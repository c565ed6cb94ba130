package document

import (
	"slices"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
)

var comparisons = []string{"eq", "neq", "incl", "excl", "matches"}

// conditions reads a list of conditions on a request, all of which must hold.
// Those with mistakes are left out. A RateLimitPolicy knows predicates alone.
func (r *ruleReader) conditions(f *field) []Condition {
	if f.value.kind != list {
		hint := ""
		if f.value.kind == text {
			hint = "write [{predicate: CEL}]"
		}
		r.d.fail(f.value, diag.WrongType, hint, "%s is a list of conditions, this is %s", f.key.value, describe(f.value))
		return nil
	}
	out := []Condition{}
	for _, n := range f.value.items {
		condition, ok := Condition{}, false
		if r.kind == kindRateLimitPolicy {
			condition, ok = r.predicateOnly(n)
		} else {
			condition, ok = r.condition(n)
		}
		if ok {
			out = append(out, condition)
		}
	}
	return out
}

// forms are what a condition may be, by the field that says so.
var forms = map[string]string{
	"selector": "comparison", "operator": "comparison", "value": "comparison",
	"predicate": "predicate", "patternRef": "patternRef", "all": "all", "any": "any",
}

// condition reads one item of a list of conditions.
func (r *ruleReader) condition(n *node) (Condition, bool) {
	c := r.d.cursor(n, "a condition", false)
	if c == nil {
		return Condition{}, false
	}
	before := len(r.d.diags)
	out := Condition{At: r.d.at(n)}
	form := r.form(c)
	switch form {
	case "comparison":
		r.compare(c, &out)
	case "all", "any":
		f := c.field(form)
		if conditions := r.conditions(f); form == "all" {
			out.All = conditions
		} else {
			out.Any = conditions
		}
	case "predicate":
		f := c.field("predicate")
		out.Predicate = r.d.cel(f.key, f.value, cel.CheckPredicate)
	case "patternRef":
		if name := c.required("patternRef"); name != nil {
			t := r.d.text(name)
			out.PatternRef = &t
		}
	}
	c.skip("selector", "operator", "value", "predicate", "patternRef", "all", "any")
	c.done()
	if form == "" && len(r.d.diags) == before {
		r.d.fail(n, diag.Missing, "write {predicate: CEL}, {patternRef: NAME}, {all: [...]}, {any: [...]} or {selector: PATH, operator: eq, value: TEXT}",
			"the condition is empty")
	}
	return out, len(r.d.diags) == before
}

// form says what a condition is by its first field, and reports others that do
// not go with it.
func (r *ruleReader) form(c *cursor) string {
	first, name := "", ""
	for _, f := range c.n.fields {
		form := forms[f.key.value]
		switch {
		case form == "" || f.value.isNull():
		case first == "":
			first, name = form, f.key.value
		case form != first:
			r.d.fail(f.key, diag.Exclusive, "make two conditions of it", "%s next to %s: a condition is one or the other", f.key.value, name)
		}
	}
	return first
}

// comparison reads a condition that can only be one.
func (r *ruleReader) comparison(n *node) (Condition, bool) {
	c := r.d.cursor(n, "a comparison", false)
	if c == nil {
		return Condition{}, false
	}
	before := len(r.d.diags)
	out := Condition{At: r.d.at(n)}
	r.compare(c, &out)
	c.done()
	return out, len(r.d.diags) == before
}

// compare reads selector, operator and value. A value that is not written is the
// empty string.
func (r *ruleReader) compare(c *cursor, out *Condition) {
	if selector := c.required("selector"); selector != nil {
		path, problem := ParseSelector(selector.value)
		if problem != "" {
			r.d.badSelector(selector, problem)
		}
		r.d.doubt(selector, &path)
		out.Selector = selector.value
	}
	operator, value := c.required("operator"), c.text("value")
	if value != nil {
		out.Value = value.value
	}
	switch {
	case operator == nil:
	case !slices.Contains(comparisons, operator.value):
		hint := "one of eq, neq, incl, excl, matches; for others write a predicate"
		if near := diag.Suggest(operator.value, comparisons); near != "" {
			hint = "did you mean " + quote(near) + "?"
		}
		r.d.fail(operator, diag.BadOperator, hint, "operator %s is not known", quote(operator.value))
	case operator.value == "matches" && value != nil:
		r.d.regex(value)
	}
	if operator != nil {
		out.Operator = operator.value
	}
}

// predicateOnly reads a condition of a RateLimitPolicy.
func (r *ruleReader) predicateOnly(n *node) (Condition, bool) {
	c := r.d.cursor(n, "a condition of a RateLimitPolicy", false)
	if c == nil {
		return Condition{}, false
	}
	before := len(r.d.diags)
	out := Condition{At: r.d.at(n)}
	if f := c.field("predicate"); f != nil && !f.value.isNull() {
		out.Predicate = r.d.cel(f.key, f.value, cel.CheckPredicate)
	}
	c.done()
	if out.Predicate == nil && len(r.d.diags) == before {
		c.missing("predicate", "")
	}
	return out, len(r.d.diags) == before
}
