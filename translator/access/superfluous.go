package access

import (
	"fmt"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/rule"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// superfluousKubernetes warns about rules that grant nothing more than an earlier rule of
// the same role.
func superfluousKubernetes(d *KubernetesRole, rules []tables.KubernetesRule) diag.List {
	entries := 0
	for i := range rules {
		entries += len(rules[i].Verbs) + len(rules[i].Groups) + len(rules[i].Resources) + len(rules[i].Names) + len(rules[i].Paths)
	}
	left := rule.NewBudget(entries)
	return superfluous(&d.Header, len(rules), &left, func(earlier, later int) bool {
		return left.CoversKubernetes(&rules[earlier], &rules[later])
	}, func(i int) (diag.Position, string) { return d.Rules[i].At, "grants" })
}

// superfluousOrigin does the same for Origin rules. It compares denials with denials.
func superfluousOrigin(d *OriginRole, rules []tables.OriginRule) diag.List {
	entries := 0
	for i := range rules {
		entries += len(rules[i].Verbs) + len(rules[i].NotVerbs) + len(rules[i].Kinds) + len(rules[i].NotKinds)
	}
	left := rule.NewBudget(entries)
	return superfluous(&d.Header, len(rules), &left, func(earlier, later int) bool {
		return !rule.MatchesNothing(&rules[later]) && left.CoversOrigin(&rules[earlier], &rules[later]) // nothing has a warning of its own
	}, func(i int) (diag.Position, string) {
		if rules[i].Deny {
			return d.Rules[i].At, "denies"
		}
		return d.Rules[i].At, "grants"
	})
}

// superfluous warns about each of n rules that an earlier one covers, while the budget lasts.
func superfluous(
	h *syntax.Header, n int, left *rule.Budget, covers func(earlier, later int) bool, rule func(int) (diag.Position, string),
) (list diag.List) {
	for later := range n {
		for earlier := range later {
			if *left--; *left <= 0 {
				return list
			}
			if !covers(earlier, later) {
				continue
			}
			at, what := rule(later)
			first, _ := rule(earlier)
			list.Add(diag.Diagnostic{
				Position: at,
				Severity: diag.Warning,
				Code:     diag.SuperfluousRule,
				Message:  fmt.Sprintf("rule %d of %s %q %s nothing that rule %d does not", later, h.Kind, h.Name, what, earlier),
				Hint:     "remove it",
				Related:  []diag.Related{{Position: first, Message: fmt.Sprintf("rule %d is here", earlier)}},
			})
			break
		}
	}
	return list
}
