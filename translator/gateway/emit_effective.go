package gateway

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/gateway/document"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// Prefixes of rule keys.
const (
	keyWhen            = "when"
	prefixPattern      = "patterns."
	prefixHeader       = "rules.response.success.headers."
	prefixFilter       = "rules.response.success.filters."
	prefixAuthorize    = "rules.authorization."
	keyUnauthenticated = "rules.response.unauthenticated"
	keyUnauthorized    = "rules.response.unauthorized"
)

// effectiveEmitter writes the module of one effective policy.
type effectiveEmitter struct {
	*gatewayEmitter
	out       bytes.Buffer
	effective *tables.EffectivePolicy
	state     string // the rule that holds the request's state by now
}

// effectiveModule puts the rules of an effective policy in their order. Each sees
// the state that those before it left, so the module is a chain of states: Rego has
// no loop that carries one.
func (g *gatewayEmitter) effectiveModule(index int) []byte {
	e := &effectiveEmitter{gatewayEmitter: g, effective: &g.tables.Effective[index], state: "_start"}
	e.head()
	e.identity()
	e.authorization()
	e.items()
	return e.file(g.effective[index])
}

// file is the whole module: what it imports shows in the end.
func (e *effectiveEmitter) file(id string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# METADATA\n# description: What the policies of some paths come to.\npackage compiled.gateway.effective.%s\n", id)
	if bytes.Contains(e.out.Bytes(), []byte("gateway.")) {
		out.WriteString("\nimport data.compiled.gateway\n")
	}
	out.WriteString("\nimport data.writ.gateway.outcome\n")
	out.Write(e.out.Bytes())
	return out.Bytes()
}

func (e *effectiveEmitter) head() {
	sources := make(map[string]bool)
	patterns := make(map[string]string)
	for i := range e.effective.Rules {
		rule := &e.effective.Rules[i]
		sources[rule.Policy] = true
		if name, ok := strings.CutPrefix(rule.Key, prefixPattern); ok {
			patterns[name] = e.ruleName(rule)
		}
	}
	policies := slices.Sorted(maps.Keys(sources))
	fmt.Fprintf(&e.out, "\npolicies := %s\n\n_start := outcome.start(%s)\n", regotext.Indented(policies), regotext.Indented(patterns))
}

// identity writes whether the policy applies, and who asks.
func (e *effectiveEmitter) identity() {
	if when := e.rule(keyWhen); when != nil {
		fmt.Fprintf(&e.out, "\napplies if gateway.applies[%s] with input as _start\n", regotext.Quote(e.ruleName(when)))
	} else {
		e.out.WriteString("\napplies := true\n")
	}
	e.out.WriteString("\n_identified := _start if _start.auth.identity\n")
	anonymous := "\n_identified := outcome.anonymous(_start) if {\n\tnot _start.auth.identity\n"
	authenticates := false
	for i := range e.effective.Rules {
		rule := &e.effective.Rules[i]
		meaning, ok := rule.Meaning.(*document.Authentication)
		if !ok {
			continue
		}
		authenticates = true
		if meaning.Anonymous {
			fmt.Fprintf(&e.out, "%s\tgateway.applies[%s] with input as _start\n}\n", anonymous, regotext.Quote(e.ruleName(rule)))
		}
	}
	if !authenticates {
		e.out.WriteString(anonymous + "}\n")
	}
	e.out.WriteString("\nidentified if _identified\n")
	e.denial(e.rule(keyUnauthenticated), "unauthenticated", "_start")
	e.state = "_identified"
}

func (e *effectiveEmitter) denial(rule *tables.EffectiveRule, name, state string) {
	if rule == nil {
		fmt.Fprintf(&e.out, "\n%s := {}\n", name)
		return
	}
	fmt.Fprintf(&e.out, "\n%s := said if {\n\tsaid := gateway.denial[%s] with input as %s\n}\n", name, regotext.Quote(e.ruleName(rule)), state)
}

func (e *effectiveEmitter) rule(key string) *tables.EffectiveRule {
	for i := range e.effective.Rules {
		if e.effective.Rules[i].Key == key {
			return &e.effective.Rules[i]
		}
	}
	return nil
}

// authorization writes the authorization rules by priority and key. After a
// priority in which one denied, those of higher numbers are not evaluated.
func (e *effectiveEmitter) authorization() {
	rules := e.authorizationRules()
	locators := make([]map[string]string, len(rules))
	for i, rule := range rules {
		locators[i] = locator(rule)
	}
	fmt.Fprintf(&e.out, "\nrules := %s\n", regotext.Indented(locators))
	if len(rules) == 0 {
		e.out.WriteString("\noutcomes := {}\n")
	}
	states := []string{e.state}
	var group []string // of one priority: that its verdicts are no denials
	for i, rule := range rules {
		id, verdict := regotext.Quote(e.ruleName(rule)), fmt.Sprintf("_verdict_%d", i)
		var conditions []string
		if i > 0 && priority(rules[i-1]) != priority(rule) {
			conditions, group = group, nil
		}
		group = append(group, "not "+verdict+".outcome in outcome.denials")
		e.define(verdict+" := verdict", append(conditions, fmt.Sprintf("verdict := gateway.judged[%s] with input as %s", id, e.state))...)
		fmt.Fprintf(&e.out, "\noutcomes[%s] := %s.outcome\n", regotext.Quote(rule.Key), verdict)
		next := fmt.Sprintf("_after_%d", i)
		name := strings.TrimPrefix(rule.Key, prefixAuthorize)
		fmt.Fprintf(&e.out, "\n%s := outcome.after(%s, %s, %s)\n", next, e.state, regotext.Quote(name), verdict)
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
	e.denial(e.rule(keyUnauthorized), "unauthorized", "_end")
	e.reviews(rules)
}

// define writes a rule.
func (e *effectiveEmitter) define(head string, body ...string) { emit.WriteRule(&e.out, head, body) }

// authorizationRules are in the order of evaluation.
func (e *effectiveEmitter) authorizationRules() []*tables.EffectiveRule {
	var rules []*tables.EffectiveRule
	for i := range e.effective.Rules {
		if _, ok := e.effective.Rules[i].Meaning.(*document.Authorization); ok {
			rules = append(rules, &e.effective.Rules[i])
		}
	}
	slices.SortStableFunc(rules, func(a, b *tables.EffectiveRule) int {
		return cmp.Or(cmp.Compare(priority(a), priority(b)), strings.Compare(a.Key, b.Key))
	})
	return rules
}

func priority(rule *tables.EffectiveRule) int {
	switch meaning := rule.Meaning.(type) {
	case *document.Authorization:
		return meaning.Priority
	case *document.SuccessItem:
		return meaning.Priority
	}
	return 0
}

// locator is a rule as decisions name what decided.
func locator(rule *tables.EffectiveRule) map[string]string {
	parts := strings.SplitN(rule.Policy, "/", 3)
	return map[string]string{
		"key": rule.Key, "rule": rule.Key, "source": rule.Source,
		"kind": parts[0], "namespace": parts[1], "name": parts[2],
	}
}

// reviews writes the set of access requests of the authorization rules that are evaluated.
func (e *effectiveEmitter) reviews(rules []*tables.EffectiveRule) {
	states := append([]string{"_identified"}, verdictStates(len(rules))...)
	for i, rule := range rules {
		if rule.Meaning.(*document.Authorization).Review == nil {
			continue
		}
		id := regotext.Quote(e.ruleName(rule))
		e.define("reviews contains review",
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
	var rules []*tables.EffectiveRule
	for i := range e.effective.Rules {
		if _, ok := e.effective.Rules[i].Meaning.(*document.SuccessItem); ok {
			rules = append(rules, &e.effective.Rules[i])
		}
	}
	slices.SortStableFunc(rules, func(a, b *tables.EffectiveRule) int {
		return cmp.Or(cmp.Compare(priority(a), priority(b)), strings.Compare(a.Key, b.Key))
	})
	parts := map[string][]string{"headers": nil, "metadata": nil}
	for i, rule := range rules {
		item := rule.Meaning.(*document.SuccessItem)
		group, name := "headers", strings.TrimPrefix(rule.Key, prefixHeader)
		if rest, ok := strings.CutPrefix(rule.Key, prefixFilter); ok {
			group, name = "metadata", rest
		}
		value := fmt.Sprintf("_item_%d", i)
		parts[group] = append(parts[group], value)
		e.item(value, cmp.Or(item.Key, name), group, rule)
		next := fmt.Sprintf("_answered_%d", i)
		fmt.Fprintf(&e.out, "\n%s := outcome.answered(%s, %s, %s_entry)\n", next, e.state, regotext.Quote(name), value)
		e.state = next
	}
	for _, group := range []string{"headers", "metadata"} {
		fmt.Fprintf(&e.out, "\n%s := object.union_n([%s])\n", group, strings.Join(parts[group], ", "))
	}
}

// item writes one item twice: as the entry of the state that later ones see, and as
// what the answer has.
func (e *effectiveEmitter) item(value, key, group string, rule *tables.EffectiveRule) {
	shown := "entry[1]"
	if group == "headers" {
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
`, value, regotext.Quote(key), regotext.Quote(e.ruleName(rule)), e.state, shown)
}
