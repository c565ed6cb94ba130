package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// ruleRow is a state of a request, and what a rule makes of it: a list of one value, or an
// empty one where the rule has none.
type ruleRow struct {
	Input map[string]any `json:"input"`
	Want  []any          `json:"want"`
}

// ruleTests writes one file for each policy with rules in force: what each rule whose
// conditions compare values makes of values that they name, and of others. Rules with CEL and
// Rego are left out.
func ruleTests(lowered *tables.Gateway, files map[string][]byte) {
	for rest := lowered.NamedRules(); len(rest) > 0; {
		policy, count := rest[0].Policy, 1
		for count < len(rest) && rest[count].Policy == policy {
			count++
		}
		names := policyNames(policy)
		name := names[0] + "-" + emit.FileName(names[1:]...)
		if text := policyTest(policy, name, rest[:count]); text != nil && len(files) < emit.TestedRoles {
			files["compiled/tests/gateway/policies/"+name+"_test.rego"] = text
		}
		rest = rest[count:]
	}
}

func policyTest(policy, name string, rules []*tables.NamedRule) []byte {
	var out bytes.Buffer
	for i, rule := range rules {
		ref, rows := sampleRule(rule)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&out, `
test_rule_%[1]d[note] if {
	some note, row in _rows_%[1]d
	got := [value | value := data.compiled.gateway.%[2]s] with input as row.input
	got == row.want
}

_rows_%[1]d := {
`, i, ref)
		for _, note := range slices.Sorted(maps.Keys(rows)) {
			fmt.Fprintf(&out, "\t%s: %s,\n", regotext.Quote(note), regotext.Constant(rows[note]))
		}
		out.WriteString("}\n")
	}
	if out.Len() == 0 {
		return nil
	}
	head := fmt.Sprintf(`# METADATA
# description: |
#   What the rules of one policy make of requests. Generated from %s
package compiled.tests.gateway.policies[%s]
`, regotext.Comment(policy), regotext.Quote(name+"_test"))
	return append([]byte(head), out.Bytes()...)
}

// sampleRule returns what to ask of a rule, and rows by their notes; none for a rule whose
// outcome only Rego and CEL know.
func sampleRule(named *tables.NamedRule) (ref string, rows map[string]ruleRow) {
	id, rule := regotext.Key(named.Name), named.Rule
	switch {
	case rule.Pattern != nil:
		return "pattern" + id, sampleConditions(rule.Pattern.AllOf, nil, isTrue)
	case rule.Denial != nil:
		if want, ok := constantDenial(rule.Denial); ok {
			return "denial" + id, map[string]ruleRow{"any request": {map[string]any{}, []any{want}}}
		}
		return "", nil
	case rule.Authorization != nil && rule.Authorization.Patterns != nil:
		return "judged" + id + ".outcome", sampleConditions(rule.When, *rule.Authorization.Patterns, func(applies, holds bool) []any {
			switch {
			case !applies:
				return []any{"skip"}
			case holds:
				return []any{"allow"}
			}
			return []any{"deny"}
		})
	}
	return "applies" + id, sampleConditions(rule.When, nil, isTrue)
}

func isTrue(applies, _ bool) []any {
	if applies {
		return []any{true}
	}
	return []any{}
}

// constantDenial returns the response of a denial that reads nothing of the request.
func constantDenial(d *tables.GatewayDenial) (map[string]any, bool) {
	want, headers := map[string]any{}, map[string]string{}
	if d.Code != 0 {
		want["code"] = d.Code
	}
	constant := func(v *tables.RequestValue) string {
		text, ok := v.Value.(string)
		if !ok || v.Template != nil || v.Expression != "" {
			want = nil
		}
		return text
	}
	for name, value := range d.Headers {
		headers[name] = constant(&value)
	}
	for key, value := range map[string]*tables.RequestValue{"message": d.Message, "body": d.Body} {
		if value == nil {
			continue
		}
		if text := constant(value); want != nil {
			want[key] = text
		}
	}
	if want == nil {
		return nil, false
	}
	want["headers"] = headers
	return want, true
}

// sampleConditions returns rows for the values that conditions compare: when are the
// conditions under which a rule applies, patterns those that must hold. It returns none if a
// condition is not a comparison of a plain path.
func sampleConditions(when, patterns []tables.RequestCondition, want func(applies, holds bool) []any) map[string]ruleRow {
	all := slices.Concat(when, patterns)
	comparisons, ok := comparisonsOf(all)
	if !ok {
		return nil
	}
	rows := make(map[string]ruleRow)
	add := func(note string, input map[string]any) {
		rows[note] = ruleRow{input, want(holdsAll(when, input), holdsAll(patterns, input))}
	}
	build := func(changed *tables.Comparison, value any) (map[string]any, bool) {
		input := make(map[string]any)
		for _, c := range comparisons {
			if c.Operator != "neq" && c.Operator != "excl" && c != changed && !setPath(input, c.Path.Steps, holding(c)) {
				return nil, false
			}
		}
		return input, changed == nil || value == nil || setPath(input, changed.Path.Steps, value)
	}
	if input, ok := build(nil, nil); ok {
		add("all hold", input)
	}
	for i, c := range comparisons {
		for note, value := range varied(c) {
			if input, ok := build(c, value); ok {
				add(fmt.Sprintf("%s of condition %d", note, i), input)
			}
		}
	}
	return rows
}

// comparisonsOf returns the comparisons of conditions. It returns false if there are others.
func comparisonsOf(conditions []tables.RequestCondition) (list []*tables.Comparison, ok bool) {
	for i := range conditions {
		c := &conditions[i]
		if c.Comparison == nil {
			inner, ok := comparisonsOf(slices.Concat(c.All, c.Any))
			if c.Predicate != "" || c.Pattern != "" || !ok {
				return nil, false
			}
			list = append(list, inner...)
			continue
		}
		path := c.Comparison.Path
		if len(path.Steps) == 0 || path.Length || len(path.Modifiers) > 0 ||
			slices.ContainsFunc(path.Steps, func(step string) bool { return strings.Trim(step, "0123456789") == "" }) {
			return nil, false
		}
		list = append(list, c.Comparison)
	}
	return list, true
}

// holding returns a value for which a comparison is likely to hold.
func holding(c *tables.Comparison) any {
	switch c.Operator {
	case "matches":
		return emit.SampleExpression(c.Value)
	case "incl":
		return []string{c.Value}
	}
	return c.Value
}

// varied returns values that a comparison tells apart, and nil for none.
func varied(c *tables.Comparison) map[string]any {
	sample := c.Value
	if c.Operator == "matches" {
		sample = emit.SampleExpression(c.Value)
	}
	values := map[string]any{"the value": sample, "a longer value": sample + "z", "a value with a prefix": "z" + sample, "another value": "writ-other", "no value": nil}
	if c.Operator == "incl" || c.Operator == "excl" {
		values["a list"], values["another list"] = []string{"writ-other", sample}, []string{"writ-other"}
	}
	return values
}

func setPath(input map[string]any, steps []string, value any) bool {
	for _, step := range steps[:len(steps)-1] {
		next, ok := input[step].(map[string]any)
		if _, taken := input[step]; taken && !ok {
			return false
		}
		if !ok {
			next = make(map[string]any)
			input[step] = next
		}
		input = next
	}
	last := steps[len(steps)-1]
	if _, isObject := input[last].(map[string]any); isObject {
		return false
	}
	input[last] = value
	return true
}

// valueAt returns the value at a path, nil if the path leads nowhere.
func valueAt(input map[string]any, steps []string) any {
	var value any = input
	for _, step := range steps {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[step]
	}
	return value
}

func holdsAll(conditions []tables.RequestCondition, input map[string]any) bool {
	return !slices.ContainsFunc(conditions, func(c tables.RequestCondition) bool { return !holds(&c, input) })
}

func holds(c *tables.RequestCondition, input map[string]any) bool {
	switch {
	case c.All != nil:
		return holdsAll(c.All, input)
	case c.Any != nil:
		return slices.ContainsFunc(c.Any, func(c tables.RequestCondition) bool { return holds(&c, input) })
	}
	value := valueAt(input, c.Comparison.Path.Steps)
	text, _ := value.(string)
	elements, isList := value.([]string)
	if isList {
		text = strings.ReplaceAll(regotext.Constant(elements), `", "`, `","`)
	} else if value != nil {
		elements = []string{text}
	}
	switch c.Comparison.Operator {
	case "eq":
		return text == c.Comparison.Value
	case "neq":
		return text != c.Comparison.Value
	case "incl":
		return slices.Contains(elements, c.Comparison.Value)
	case "excl":
		return !slices.Contains(elements, c.Comparison.Value)
	}
	expression, err := regexp.Compile(c.Comparison.Value)
	return err == nil && expression.MatchString(text)
}
