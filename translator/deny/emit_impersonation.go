package deny

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// writeImpersonationRule writes the ways in which an entry of impersonationRules denies.
func writeImpersonationRule(m *emit.Module, policy *tables.DenyPolicy, r *tables.ImpersonationRule, scope []string) {
	write := func(unknown string, conditions ...[]string) {
		m.Metadata(fmt.Sprintf("Impersonation rule %d of DenyPolicy %s", r.Rule, policy.Name), r.Source)
		emit.WriteRule(&m.Out, fmt.Sprintf("rules contains [%d, %s, 1, %d, %s, %s, %s]", policy.Precedence, regotext.Quote(policy.Name),
			r.Rule, regotext.Quote(r.Source), unknown, regotext.Quote(r.Reason)), append(slices.Concat(conditions...), scope...))
	}
	if r.Identity == nil && r.Action == nil {
		write("false", []string{emit.OneOf("input.verb", []string{impersonate})})
		for _, prefix := range []string{impersonatePrefix, actionPrefix} {
			write("false", []string{"startswith(input.verb, " + regotext.Quote(prefix) + ")"})
		}
	}
	if i := r.Identity; i != nil {
		purpose := func(what string) string { return fmt.Sprintf("impersonation_%d_%s", r.Rule, what) }
		identity := slices.Concat([]string{emit.OneOf("input.verb", i.Verbs)}, wordList("input.resource", i.Resources))
		if len(i.Names) > 0 {
			identity = append(identity, globsClause(m, purpose("names"), "input.name", i.Names)...)
		}
		if len(i.ExtraKeys) > 0 {
			identity = append(identity, globsClause(m, purpose("keys"), "input.subresource", i.ExtraKeys)...)
		}
		for _, namespace := range namespaceClauses(m, purpose("namespace"), i.Namespaces) {
			write(namespace.unknown, identity, namespace.conditions)
		}
	}
	if a := r.Action; a != nil {
		group := wordList("input.apiGroup", a.Groups)
		if len(a.Resources) == 0 {
			write("false", actionVerb(a), group)
		}
		for i := range a.Resources {
			write("false", actionVerb(a), group, resourceConditions(&a.Resources[i]))
		}
	}
}

// actionVerb is the condition on the verb of an action: one of a list, which OPA's rule
// index can use, or of any form with one of the modes.
func actionVerb(a *tables.ImpersonatedAction) []string {
	if a.Verbs == nil {
		return []string{
			"startswith(input.verb, " + regotext.Quote(actionPrefix) + ")",
			"regex.match(" + regotext.Quote("^"+actionPrefix+"(?:"+strings.Join(a.Modes, "|")+"):[^:]+$") + ", input.verb)",
		}
	}
	var verbs []string
	for _, mode := range a.Modes {
		for _, verb := range a.Verbs {
			verbs = append(verbs, actionPrefix+mode+":"+verb)
		}
	}
	return []string{emit.OneOf("input.verb", verbs)}
}
