package gateway

import (
	"bytes"
	"fmt"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// ruleRow is a state of a request, and what a rule makes of it: a list of one value, or an
// empty one where the rule has none.
type ruleRow struct {
	Input map[string]any `json:"input"`
	Want  []any          `json:"want"`
	// What the rule asks, for rules of Rego and of the access point.
	Applies map[string]bool `json:"applies,omitzero"`
	Allows  any             `json:"allows,omitempty"`
	Review  map[string]any  `json:"review,omitzero"`
}

// ruleTests writes one file for each policy with rules in force: what each rule makes of values
// that its conditions name, and of others. What CEL comes to is computed by cel-go, and not by
// the Rego that it is compiled to.
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
		instead := ""
		if a := rule.Rule.Authorization; a != nil && a.Patterns == nil {
			ref, rows, instead = statedRule(rule)
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&out, `
test_rule_%[1]d[note] if {
	some note, row in _rows_%[1]d
	got := [value | value := data.compiled.gateway.%[2]s] with input as row.input%[3]s
	got == row.want
}
`, i, ref, instead)
		emit.WriteMap(&out, fmt.Sprintf("_rows_%d", i), rows)
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
// outcome only Rego and the access point know, or that no sample covers.
func sampleRule(named *tables.NamedRule) (ref string, rows map[string]ruleRow) {
	id, rule := regotext.Key(named.Name), named.Rule
	switch {
	case rule.Pattern != nil:
		return "pattern" + id, sampleConditions(rule.Pattern.AllOf, nil, func(pattern, _ truth) []any {
			if pattern == failed {
				pattern = no // a pattern has no failure of its own
			}
			return isTrue(pattern, no)
		})
	case rule.Denial != nil:
		return "denial" + id, sampleValues(nil, denialValues(rule.Denial), func(values map[string]any) any { return denialOf(rule.Denial, values) })
	case rule.Authorization != nil && rule.Authorization.Patterns != nil:
		return "judged" + id, sampleConditions(rule.When, *rule.Authorization.Patterns, judgedAs)
	case rule.Item != nil && (rule.Item.Plain != nil || rule.Item.Properties != nil):
		compose := func(values map[string]any) any { return itemOf(rule.Item, values) }
		if rows := sampleValues(rule.When, itemValues(rule.Item), compose); len(rows) > 0 {
			return "item" + id, rows
		}
	}
	return "applies" + id, sampleConditions(rule.When, nil, isTrue)
}

// statedRule returns rows for an authorization rule of Rego or of the access point, with what
// these answer stated by the row: instead is the text that puts it there.
func statedRule(named *tables.NamedRule) (ref string, rows map[string]ruleRow, instead string) {
	a := named.Rule.Authorization
	applies := map[string]bool{named.Name: true}
	verdict := func(outcome string, value any) []any {
		return []any{map[string]any{"outcome": outcome, "value": value}}
	}
	instead = " with data.compiled.gateway.applies as row.applies"
	if rows = make(map[string]ruleRow); len(named.Rule.When) > 0 {
		rows["it does not apply"] = ruleRow{Want: verdict("skip", nil), Applies: map[string]bool{}, Allows: map[string]any{}, Review: map[string]any{}}
	}
	switch {
	case a.Rego != nil && !a.Rego.Allows:
		rows["it does not say what it allows"] = ruleRow{Want: verdict("deny", nil), Applies: applies}
	case a.Rego != nil:
		instead += " with data.compiled.gateway.rego." + emit.Identifier(bodyNames(named)...) + " as row.allows"
		for note, allow := range map[string]any{"it allows": true, "it denies": false, "it answers no bool": "true"} {
			values := map[string]any{"allow": allow, "writ-value": "writ-other"}
			row := ruleRow{Want: verdict("deny", nil), Applies: applies, Allows: values}
			if allow == true && !a.Rego.AllValues {
				row.Want = verdict("allow", map[string]bool{"allow": true})
			} else if allow == true {
				row.Want = verdict("allow", values)
			}
			rows[note] = row
		}
	default:
		instead += " with data.compiled.gateway.review as row.review with data.writ.access.decision as row.allows"
		asked := map[string]any{named.Name: map[string]any{"user": "writ:user"}}
		allowed, notAllowed := map[string]bool{"allowed": true}, map[string]bool{"allowed": false}
		rows["the access point allows"] = ruleRow{Want: verdict("allow", allowed), Applies: applies, Allows: allowed, Review: asked}
		rows["the access point does not allow"] = ruleRow{Want: verdict("deny", nil), Applies: applies, Allows: notAllowed, Review: asked}
		rows["a value of the review is missing"] = ruleRow{
			Want: verdict("error", nil), Applies: applies, Allows: allowed, Review: map[string]any{},
		}
	}
	for note, row := range rows {
		row.Input = map[string]any{}
		rows[note] = row
	}
	return "judged" + regotext.Key(named.Name), rows, instead
}

// judgedAs is what an authorization rule of patterns comes to.
func judgedAs(applies, patterns truth) []any {
	verdict := map[string]any{"outcome": "deny", "value": nil}
	switch {
	case applies == no:
		verdict["outcome"] = "skip"
	case patterns == yes:
		verdict["outcome"], verdict["value"] = "allow", true
	case patterns == failed:
		verdict["outcome"] = "error"
	}
	return []any{verdict}
}

// isTrue is what a rule that states when it applies comes to: it applies also if a condition
// fails.
func isTrue(applies, _ truth) []any {
	if applies != no {
		return []any{true}
	}
	return []any{}
}
