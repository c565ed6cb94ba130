package effective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/tables"
)

// sections are the listeners or rules of a target.
type sections struct {
	numbers []int
	noun    string
	of      func(*tables.GatewayPath) int
}

func ruleOf(p *tables.GatewayPath) int { return p.Rule }

func listenerOf(p *tables.GatewayPath) int { return p.Listener }

// affected returns the condition Affected of a target: the policies that affect its
// sections. A policy affects a section if one of its rules is in force on a path through
// it. For gateways only policies attached to gateways count.
func (v *view) affected(paths []*tables.GatewayPath, of sections, above bool) []tables.GatewayCondition {
	by := make(map[string]map[int]bool) // sections by the policy's name
	some := make(map[int]bool)
	seen := make(map[[2]int]bool)
	for _, p := range paths {
		index, section := v.effective(p.Effective), of.of(p)
		if index == none || seen[[2]int{index, section}] {
			continue
		}
		seen[[2]int{index, section}] = true
		for i := range v.g.Effective[index].Rules {
			locator := v.g.Effective[index].Rules[i].Policy
			if policy := v.policies[locator]; above && (policy == nil || policy.Level > 1) {
				continue
			}
			name := tables.BareName(locator)
			if by[name] == nil {
				by[name] = make(map[int]bool)
			}
			by[name][section] = true
			some[section] = true
		}
	}
	out := tables.GatewayCondition{Type: "kuadrant.io/" + v.kind + "Affected", Status: "True", Reason: "PartiallyAffected"}
	switch {
	case len(some) == 0:
		out.Status, out.Reason = "False", "Unaffected"
		out.Message = fmt.Sprintf("The object is not affected by any %s", v.kind)
		return []tables.GatewayCondition{out}
	case len(some) == len(of.numbers):
		out.Reason = "Affected"
	}
	out.Message = v.affectedBy(by, of)
	return []tables.GatewayCondition{out}
}

// affectedBy lists the policies that affect all sections first, then the others with
// their sections.
func (v *view) affectedBy(by map[string]map[int]bool, of sections) string {
	names := slices.Sorted(maps.Keys(by))
	var whole, parts []string
	for _, name := range names {
		if len(by[name]) == len(of.numbers) {
			whole = append(whole, name)
			continue
		}
		var some []string
		for _, number := range of.numbers {
			if by[name][number] {
				some = append(some, fmt.Sprintf("%s.%d", of.noun, number))
			}
		}
		parts = append(parts, fmt.Sprintf("the following sections of the object are affected by %s %s: %s",
			v.kind, name, strings.Join(some, ", ")))
	}
	if len(whole) > 0 {
		parts = slices.Insert(parts, 0, fmt.Sprintf("the object is affected by %s %s", v.kind, strings.Join(whole, ", ")))
	}
	return "T" + strings.Join(parts, "; ")[1:]
}
