package document

import (
	"slices"

	"github.com/writ-policy/writ/translator/cel"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

var comparisons = []string{"eq", "neq", "incl", "excl", "matches"}

// conditions reads a list of conditions on a request, all of which must hold.
// Those with mistakes are left out. Limits know predicates alone.
func (r *ruleReader) conditions(f *syntax.Field) []tables.RequestCondition {
	if f.Value.Type != syntax.List {
		hint := ""
		if f.Value.Type == syntax.String {
			hint = "write [{predicate: CEL}]"
		}
		r.d.Fail(f.Value, diag.WrongType, hint, "%s must be a list of conditions, not %s", f.Key.Value, syntax.Describe(f.Value))
		return nil
	}
	out := []tables.RequestCondition{}
	for _, n := range f.Value.Items {
		var condition tables.RequestCondition
		var ok bool
		if slices.Contains(tables.LimitKinds, r.kind) {
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
func (r *ruleReader) condition(n *syntax.Node) (tables.RequestCondition, bool) {
	c := r.d.Cursor(n, "a condition", false)
	if c == nil {
		return tables.RequestCondition{}, false
	}
	before, refs := len(r.d.Diags), len(r.refs)
	out := tables.RequestCondition{}
	form := r.form(c)
	switch form {
	case "comparison":
		out.Comparison = r.compare(c)
	case "all", "any":
		f := c.Field(form)
		if conditions := r.conditions(f); form == "all" {
			out.All = conditions
		} else {
			out.Any = conditions
		}
	case "predicate":
		f := c.Field("predicate")
		out.Predicate = celOf(decodeCel(r.d, f.Key, f.Value, cel.CheckPredicate))
	case "patternRef":
		if name := c.Required("patternRef"); name != nil {
			out.Pattern = name.Value
			r.refs = append(r.refs, r.d.Text(name))
		}
	}
	c.Skip("selector", "operator", "value", "predicate", "patternRef", "all", "any")
	c.Done()
	if form == "" && len(r.d.Diags) == before {
		r.d.Fail(n, diag.Missing, "write {predicate: CEL}, {patternRef: NAME}, {all: [...]}, {any: [...]} or {selector: PATH, operator: eq, value: TEXT}",
			"the condition is empty")
	}
	if len(r.d.Diags) > before {
		r.refs = r.refs[:refs] // the condition is left out
		return out, false
	}
	return out, true
}

// form says what a condition is by its first field, and reports others that do
// not go with it.
func (r *ruleReader) form(c *syntax.Cursor) string {
	first, name := "", ""
	for _, f := range c.Node.Fields {
		form := forms[f.Key.Value]
		switch {
		case form == "" || f.Value.IsNull():
		case first == "":
			first, name = form, f.Key.Value
		case form != first:
			r.d.Fail(f.Key, diag.Exclusive, "make two conditions of it", "%s next to %s: a condition is one or the other", f.Key.Value, name)
		}
	}
	return first
}

// comparison reads a comparison of a value, where combinations of conditions are not
// accepted.
func (r *ruleReader) comparison(n *syntax.Node) (tables.RequestCondition, bool) {
	c := r.d.Cursor(n, "a comparison", false)
	if c == nil {
		return tables.RequestCondition{}, false
	}
	before := len(r.d.Diags)
	out := tables.RequestCondition{Comparison: r.compare(c)}
	c.Done()
	return out, len(r.d.Diags) == before
}

// compare reads selector, operator and value. A value that is not written is the
// empty string.
func (r *ruleReader) compare(c *syntax.Cursor) *tables.Comparison {
	out := &tables.Comparison{}
	if selector := c.Required("selector"); selector != nil {
		path, problem := parseSelector(selector.Value)
		if problem != "" {
			reportBadSelector(r.d, selector, problem)
		}
		warnDoubt(r.d, selector, &path)
		out.Path = path
	}
	operator, value := c.Required("operator"), c.Text("value")
	if value != nil {
		out.Value = value.Value
	}
	if operator != nil {
		r.d.Only(operator, comparisons)
	}
	switch {
	case operator == nil:
	case !slices.Contains(comparisons, operator.Value):
		hint := diag.Meant(operator.Value, comparisons, "one of eq, neq, incl, excl, matches; for others write a predicate")
		r.d.Fail(operator, diag.BadOperator, hint, "operator %s is not known", syntax.Quote(operator.Value))
	case operator.Value == "matches" && value != nil:
		checkRegex(r.d, value)
	}
	if operator != nil {
		out.Operator = operator.Value
	}
	return out
}

// predicateOnly reads a condition of a policy with limits.
func (r *ruleReader) predicateOnly(n *syntax.Node) (tables.RequestCondition, bool) {
	c := r.d.Cursor(n, "a condition of a "+r.kind, false)
	if c == nil {
		return tables.RequestCondition{}, false
	}
	before := len(r.d.Diags)
	out := tables.RequestCondition{}
	if f := c.Field("predicate"); f != nil && !f.Value.IsNull() {
		out.Predicate = celOf(decodeCel(r.d, f.Key, f.Value, cel.CheckPredicate))
	}
	c.Done()
	if out.Predicate == "" && len(r.d.Diags) == before {
		c.Missing("predicate", "")
	}
	return out, len(r.d.Diags) == before
}
