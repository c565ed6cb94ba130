package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// Keys of rules that are looked for by themselves.
const (
	keyWhen            = "when"
	keyUnauthenticated = "rules.response.unauthenticated"
	keyUnauthorized    = "rules.response.unauthorized"
)

// ruleNames gives the rules in force their names. A rule that is in force on several
// paths has one name.
type ruleNames struct {
	byRule map[*tables.GatewayRule]*tables.NamedRule
	used   map[string]bool
}

// steps puts the rules of each effective AuthPolicy into the order of evaluation.
func (g *lowerer) steps() {
	n := &ruleNames{byRule: make(map[*tables.GatewayRule]*tables.NamedRule), used: make(map[string]bool)}
	for i, f := range g.folded {
		if f.kind == tables.KindAuthPolicy && f.restricts() {
			g.out.Effective[i].Steps = n.steps(f)
		}
	}
}

// restricts reports whether an effective policy has other rules than conditions and
// patterns, which restrict nothing by themselves.
func (f *fold) restricts() bool {
	return slices.ContainsFunc(f.effective.Rules, func(r tables.EffectiveRule) bool {
		return strings.HasPrefix(r.Key, "rules.")
	})
}

// steps returns the rules of an effective policy by their names in Rego, in the order in
// which they are evaluated. Equal steps have the same ID.
func (n *ruleNames) steps(f *fold) *tables.GatewaySteps {
	out := &tables.GatewaySteps{Patterns: make(map[string]*tables.NamedRule)}
	sources := make(map[string]bool)
	hash := sha256.New()
	for i := range f.effective.Rules {
		rule := &f.effective.Rules[i]
		sources[rule.Policy] = true
		name := ""
		if meaning := f.rules[rule.Key].rule.Rule; meaning != nil {
			named := n.named(rule, meaning)
			name = named.Name
			enter(out, named)
		}
		fmt.Fprintf(hash, "%q %q %q\n", rule.Key, name, rule.Source)
	}
	out.ID = "e" + hex.EncodeToString(hash.Sum(nil)[:10])
	out.Policies = slices.Sorted(maps.Keys(sources))
	slices.SortStableFunc(out.Authorization, compareSteps)
	slices.SortStableFunc(out.Items, compareSteps)
	return out
}

func compareSteps(a, b *tables.NamedRule) int {
	return cmp.Or(cmp.Compare(a.Rule.Priority, b.Rule.Priority), strings.Compare(a.Key, b.Key))
}

// enter puts a rule where it is evaluated. A metadata rule is not: the caller sends
// what it fetches.
func enter(steps *tables.GatewaySteps, rule *tables.NamedRule) {
	switch {
	case rule.Key == keyWhen:
		steps.When = rule
	case rule.Key == keyUnauthenticated:
		steps.Unauthenticated = rule
	case rule.Key == keyUnauthorized:
		steps.Unauthorized = rule
	case rule.Rule.Pattern != nil:
		steps.Patterns[rule.ShortName()] = rule
	case rule.Rule.Authentication != nil:
		steps.Authenticates = true
		steps.Authentication = append(steps.Authentication, rule.Place())
		if rule.Rule.Authentication.Anonymous {
			steps.Anonymous = append(steps.Anonymous, rule)
		}
	case rule.Rule.Authorization != nil:
		steps.Authorization = append(steps.Authorization, rule)
	case rule.Rule.Item != nil:
		steps.Items = append(steps.Items, rule)
	}
}

// named returns a rule with its name: its policy and key, numbered where the policy
// has several rules of that key.
func (n *ruleNames) named(rule *tables.EffectiveRule, meaning *tables.GatewayRule) *tables.NamedRule {
	if known, ok := n.byRule[meaning]; ok {
		return known
	}
	own := rule.Policy + " " + rule.Key
	name := own
	for i := 2; n.used[name]; i++ { // a rule may itself be named "a 2"
		name = fmt.Sprintf("%s %d", own, i)
	}
	n.used[name] = true
	named := &tables.NamedRule{Name: name, Policy: rule.Policy, Key: rule.Key, Source: rule.Source, Rule: meaning}
	n.byRule[meaning] = named
	return named
}
