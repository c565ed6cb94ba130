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
func superfluousKubernetes(d *KubernetesRole, rules []tables.KubernetesRule) (list diag.List) {
	if len(rules) < 2 {
		return nil
	}
	entries := 0
	for i := range rules {
		entries += len(rules[i].Verbs) + len(rules[i].Groups) + len(rules[i].Resources) + len(rules[i].Names) + len(rules[i].Paths)
	}
	left := rule.NewBudget(entries)
	for i := range rules {
		for j := range i {
			if left--; left <= 0 {
				return list
			}
			if left.CoversKubernetes(&rules[j], &rules[i]) {
				list.Add(superfluous(&d.Header, i, j, d.Rules[i].At, d.Rules[j].At, "grants"))
				break
			}
		}
	}
	return list
}

// superfluousOrigin does the same for Origin rules. It compares denials with denials.
func superfluousOrigin(d *OriginRole, rules []tables.OriginRule) (list diag.List) {
	if len(rules) < 2 {
		return nil
	}
	entries := 0
	for i := range rules {
		entries += len(rules[i].Verbs) + len(rules[i].NotVerbs) + len(rules[i].Kinds) + len(rules[i].NotKinds)
	}
	left := rule.NewBudget(entries)
	for i := range rules {
		if rule.MatchesNothing(&rules[i]) {
			continue // has a warning of its own
		}
		for j := range i {
			if left--; left <= 0 {
				return list
			}
			if left.CoversOrigin(&rules[j], &rules[i]) {
				what := "grants"
				if rules[i].Deny {
					what = "denies"
				}
				list.Add(superfluous(&d.Header, i, j, d.Rules[i].At, d.Rules[j].At, what))
				break
			}
		}
	}
	return list
}

func superfluous(h *syntax.Header, later, earlier int, at, first diag.Position, what string) diag.Diagnostic {
	return diag.Diagnostic{
		Position: at,
		Severity: diag.Warning,
		Code:     diag.SuperfluousRule,
		Message:  fmt.Sprintf("rule %d of %s %q %s nothing that rule %d does not", later, h.Kind, h.Name, what, earlier),
		Hint:     "remove it",
		Related:  []diag.Related{{Position: first, Message: fmt.Sprintf("rule %d is here", earlier)}},
	}
}
