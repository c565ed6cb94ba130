package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// effectiveEmitter writes the module of one effective policy.
type effectiveEmitter struct {
	steps *tables.GatewaySteps
	out   bytes.Buffer
	state string // the rule that holds the request's state by now
}

// effectiveModule writes the rules of an effective policy in their order. Each sees
// the state that those before it left, so the module is a chain of states: Rego has
// no loop that carries one.
func effectiveModule(steps *tables.GatewaySteps) []byte {
	e := &effectiveEmitter{steps: steps, state: "_start"}
	patterns := make(map[string]string, len(steps.Patterns))
	for pattern, rule := range steps.Patterns {
		patterns[pattern] = rule.Name
	}
	fmt.Fprintf(&e.out, "\npolicies := %s\n\n_start := outcome.start(%s)\n", regotext.Indented(steps.Policies), regotext.Indented(patterns))
	e.identity()
	e.authorization()
	e.items()
	return e.file()
}

// file is the whole module: what it imports shows in the end.
func (e *effectiveEmitter) file() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# METADATA\n# description: What the policies of some paths come to.\npackage compiled.gateway.effective.%s\n", e.steps.ID)
	if bytes.Contains(e.out.Bytes(), []byte("gateway.")) {
		out.WriteString("\nimport data.compiled.gateway\n")
	}
	out.WriteString("\nimport data.writ.gateway.outcome\n")
	out.Write(e.out.Bytes())
	return out.Bytes()
}

// identity writes whether the policy applies, and who asks.
func (e *effectiveEmitter) identity() {
	if when := e.steps.When; when != nil {
		fmt.Fprintf(&e.out, "\napplies if gateway.applies[%s] with input as _start\n", regotext.Quote(when.Name))
		fmt.Fprintf(&e.out, "\ncondition := %s\n", regotext.Indented(when.Place()))
	} else {
		e.out.WriteString("\napplies := true\n")
	}
	authentication := slices.Concat([]tables.GatewayPlace{}, e.steps.Authentication)
	fmt.Fprintf(&e.out, "\nauthentication := %s\n", regotext.Indented(authentication))
	e.out.WriteString("\n_identified := _start if _start.auth.identity\n")
	anonymous := "\n_identified := outcome.anonymous(_start) if {\n\tnot _start.auth.identity\n"
	for _, rule := range e.steps.Anonymous {
		fmt.Fprintf(&e.out, "%s\tgateway.applies[%s] with input as _start\n}\n", anonymous, regotext.Quote(rule.Name))
	}
	if !e.steps.Authenticates {
		e.out.WriteString(anonymous + "}\n")
	}
	e.out.WriteString("\nidentified if _identified\n")
	e.denial(e.steps.Unauthenticated, "unauthenticated", "_start")
	e.state = "_identified"
}

func (e *effectiveEmitter) denial(rule *tables.NamedRule, name, state string) {
	if rule == nil {
		fmt.Fprintf(&e.out, "\n%s := {}\n", name)
		return
	}
	fmt.Fprintf(&e.out, "\n%s := response if {\n\tresponse := gateway.denial[%s] with input as %s\n}\n", name, regotext.Quote(rule.Name), state)
}

// authorization writes the authorization rules by priority and key. After a
// priority in which one denied, those of higher numbers are not evaluated.
func (e *effectiveEmitter) authorization() {
	rules := e.steps.Authorization
	fmt.Fprintf(&e.out, "\nrules := %s\n", regotext.Indented(ruleLocators(rules)))
	if len(rules) == 0 {
		e.out.WriteString("\noutcomes := {}\n")
	}
	states := []string{e.state}
	var group []string // of one priority: that its verdicts do not deny
	for i, rule := range rules {
		id, verdict := regotext.Quote(rule.Name), fmt.Sprintf("_verdict_%d", i)
		var conditions []string
		if i > 0 && rules[i-1].Rule.Priority != rule.Rule.Priority {
			conditions, group = group, nil
		}
		group = append(group, "not "+verdict+".outcome in outcome.denials")
		e.writeRule(verdict+" := verdict", append(conditions, fmt.Sprintf("verdict := gateway.judged[%s] with input as %s", id, e.state))...)
		fmt.Fprintf(&e.out, "\noutcomes[%s] := %s.outcome\n", regotext.Quote(rule.Key), verdict)
		next := fmt.Sprintf("_after_%d", i)
		fmt.Fprintf(&e.out, "\n%s := outcome.after(%s, %s, %s)\n", next, e.state, regotext.Quote(rule.ShortName()), verdict)
		e.state = next
		states = append(states, next)
	}
	e.out.WriteString("\n_end")
	for i, state := range slices.Backward(states) {
		fmt.Fprintf(&e.out, " := state if {\n\tstate := %s\n}", state)
		if i > 0 {
			e.out.WriteString(" else")
		}
	}
	e.out.WriteString("\n")
	e.denial(e.steps.Unauthorized, "unauthorized", "_end")
	e.reviews(rules)
}

// writeRule writes a rule to the module.
func (e *effectiveEmitter) writeRule(head string, body ...string) { emit.WriteRule(&e.out, head, body) }

func ruleLocators(rules []*tables.NamedRule) []map[string]string {
	list := make([]map[string]string, len(rules))
	for i, rule := range rules {
		list[i] = locator(rule)
	}
	return list
}

// locator is a rule as decisions name what decided.
func locator(rule *tables.NamedRule) map[string]string {
	p := rule.Place()
	return map[string]string{
		"key": rule.Key, "rule": p.Rule, "source": p.Source, "kind": p.Kind, "namespace": p.Namespace, "name": p.Name,
	}
}

// reviews writes the set of access requests of the authorization rules that are evaluated.
func (e *effectiveEmitter) reviews(rules []*tables.NamedRule) {
	states := append([]string{"_identified"}, verdictStates(len(rules))...)
	for i, rule := range rules {
		if rule.Rule.Authorization.Review == nil {
			continue
		}
		id := regotext.Quote(rule.Name)
		e.writeRule("reviews contains review",
			fmt.Sprintf("_verdict_%d", i),
			"gateway.applies["+id+"] with input as "+states[i],
			"review := gateway.review["+id+"] with input as "+states[i],
		)
	}
}

func verdictStates(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("_after_%d", i)
	}
	return names
}

// items writes what the answer to an allowed request adds: headers and metadata.
func (e *effectiveEmitter) items() {
	parts := map[string][]string{"headers": nil, "metadata": nil}
	for i, rule := range e.steps.Items {
		group := "metadata"
		if rule.Rule.Item.Header {
			group = "headers"
		}
		value := fmt.Sprintf("_item_%d", i)
		parts[group] = append(parts[group], value)
		e.item(value, rule)
		next := fmt.Sprintf("_answered_%d", i)
		fmt.Fprintf(&e.out, "\n%s := outcome.answered(%s, %s, %s_entry)\n", next, e.state, regotext.Quote(rule.ShortName()), value)
		e.state = next
	}
	for _, group := range []string{"headers", "metadata"} {
		fmt.Fprintf(&e.out, "\n%s := object.union_n([%s])\n", group, strings.Join(parts[group], ", "))
	}
}

// item writes one item twice: as the entry of the state that later ones see, and as
// what the answer has.
func (e *effectiveEmitter) item(value string, rule *tables.NamedRule) {
	shown := "entry[1]"
	if rule.Rule.Item.Header {
		shown = "outcome.header(entry[1])"
	}
	fmt.Fprintf(&e.out, `
%[1]s_entry := [%[2]s, value] if {
	value := gateway.item[%[3]s] with input as %[4]s
} else := []

%[1]s := {entry[0]: %[5]s} if {
	entry := %[1]s_entry
	count(entry) == 2
} else := {}
`, value, regotext.Quote(rule.Rule.Item.Key), regotext.Quote(rule.Name), e.state, shown)
}
