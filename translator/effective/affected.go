package effective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/lower"
)

// affected is the condition of the target: which policies have a rule in force on
// its sections.
func (q *question) affected() lower.GatewayCondition {
	sections := q.sections()
	byPolicy := make(map[string]map[int]bool)
	touched := make(map[int]bool)
	for _, p := range q.paths {
		section := p.Rule
		if q.target.Kind == kindGateway {
			section = p.Listener
		}
		for _, policy := range q.sourcesOn(p) {
			if byPolicy[policy] == nil {
				byPolicy[policy] = make(map[int]bool)
			}
			byPolicy[policy][section] = true
			touched[section] = true
		}
	}
	condition := lower.GatewayCondition{Type: "kuadrant.io/" + q.kind + "Affected", Status: "True", Reason: "Affected"}
	switch {
	case len(touched) == 0:
		condition.Status, condition.Reason = "False", "Unaffected"
		condition.Message = "The object is not affected by any " + q.kind
		return condition
	case len(touched) < len(sections):
		condition.Reason = "PartiallyAffected"
	}
	condition.Message = q.message(byPolicy, sections)
	return condition
}

// sections are the positions that count: all of the object, or the one that was
// asked about.
func (q *question) sections() []int {
	if q.section >= 0 {
		return []int{q.section}
	}
	n := 0
	if q.target.Kind == kindGateway {
		n = len(q.g.Gateways[q.object].Listeners)
	} else {
		n = len(q.g.Routes[q.object].Rules)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// sourcesOn are the policies with a rule in force on a path, by their full names;
// for a gateway those of its own levels.
func (q *question) sourcesOn(p *lower.GatewayPath) []string {
	seen := make(map[string]bool)
	for i := range q.g.Effective[p.Effective[q.kind]].Rules {
		locator := q.g.Effective[p.Effective[q.kind]].Rules[i].Policy
		if q.target.Kind == kindGateway && q.level(locator) > 1 {
			continue
		}
		seen[strings.TrimPrefix(locator, q.kind+"/")] = true
	}
	return slices.Collect(maps.Keys(seen))
}

func (q *question) level(locator string) int {
	if q.levels == nil {
		q.levels = make(map[string]int)
		for i := range q.g.Policies {
			p := &q.g.Policies[i]
			q.levels[p.Kind+"/"+p.Namespace+"/"+p.Name] = p.Level
		}
	}
	return q.levels[locator]
}

func (q *question) message(byPolicy map[string]map[int]bool, sections []int) string {
	word := "rules"
	if q.target.Kind == kindGateway {
		word = "listeners"
	}
	var whole, parts []string
	for _, policy := range slices.Sorted(maps.Keys(byPolicy)) {
		if len(byPolicy[policy]) == len(sections) {
			whole = append(whole, policy)
			continue
		}
		var names []string
		for _, section := range slices.Sorted(maps.Keys(byPolicy[policy])) {
			names = append(names, fmt.Sprintf("%s.%d", word, section))
		}
		parts = append(parts, fmt.Sprintf("the following sections of the object are affected by %s %s: %s", q.kind, policy, strings.Join(names, ", ")))
	}
	if len(whole) > 0 {
		parts = append([]string{fmt.Sprintf("the object is affected by %s %s", q.kind, strings.Join(whole, ", "))}, parts...)
	}
	text := strings.Join(parts, "; ")
	return strings.ToUpper(text[:1]) + text[1:]
}
