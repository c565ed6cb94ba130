package deny

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// writePodSecurity writes what one policy makes of a pod: a rule for each risk factor,
// what the document says as a constant, and when it is asked.
func writePodSecurity(m *emit.Module, policy *tables.DenyPolicy, scope []string) {
	pod := policy.Pod
	m.Metadata("Pod security of DenyPolicy "+policy.Name, pod.Source)
	body := slices.Concat(
		[]string{`input.apiGroup == ""`, `input.resource == "pods"`, emit.OneOf("input.subresource", pod.Subresources)},
		scope,
	)
	emit.WriteRule(&m.Out, fmt.Sprintf("pods contains [%d, %s, 2, deny.judge(%s, %s, %s)]",
		policy.Precedence, regotext.Quote(policy.Name), m.Own, exemptClause(m, pod), m.HelperName("points")), body)
	fmt.Fprintf(&m.Out, "\n%s := %s\n", m.Own, regotext.Constant(podConstant(policy)))
	for _, factor := range pod.Factors {
		writeFactor(m, factor)
	}
}

func writeFactor(m *emit.Module, factor tables.RiskFactor) {
	head := fmt.Sprintf("%s[%s] := %d * times", m.HelperName("points"), regotext.Quote(factor.Name), factor.Weight)
	if factor.Capability != "" {
		emit.WriteRule(&m.Helpers, head, []string{"times := pod.adds(" + regotext.Quote(factor.Capability) + ")", "times > 0"})
		return
	}
	emit.WriteRule(&m.Helpers, head, []string{"times := pod.occurs" + regotext.Key(factor.Name)})
}

func podConstant(policy *tables.DenyPolicy) map[string]any {
	pod := policy.Pod
	thresholds := make([]map[string]any, len(pod.Thresholds))
	for i, threshold := range pod.Thresholds {
		thresholds[i] = map[string]any{"maxScore": threshold.MaxScore, "action": threshold.Action}
		if threshold.Reason != nil {
			thresholds[i]["reason"] = template(threshold.Reason)
		}
	}
	return map[string]any{
		"name": policy.Name, "source": pod.Source, "failOpen": pod.FailOpen,
		"block": elements.NotNil(pod.BlockFactors), "thresholds": thresholds,
	}
}

func template(parts []tables.TemplatePart) []map[string]string {
	written := make([]map[string]string, len(parts))
	for i, part := range parts {
		if part.Variable != "" {
			written[i] = map[string]string{"variable": part.Variable}
		} else {
			written[i] = map[string]string{"text": part.Text}
		}
	}
	return written
}

// exemptClause is Rego for whether the pod or its namespace is exempt.
func exemptClause(m *emit.Module, pod *tables.PodSecurity) string {
	if pod.ExemptNamespaces == nil && len(pod.ExemptLabels) == 0 {
		return "false"
	}
	name := m.HelperName("exempt")
	fmt.Fprintf(&m.Helpers, "\ndefault %s := false\n", name)
	if pod.ExemptNamespaces != nil {
		emit.WriteBoolean(&m.Helpers, name, namespaceFits(m, "exempt_namespace", pod.ExemptNamespaces))
	}
	if len(pod.ExemptLabels) > 0 {
		var body []string
		for _, label := range slices.Sorted(maps.Keys(pod.ExemptLabels)) {
			body = append(body, "input.pod.metadata.labels"+regotext.Key(label)+" == "+regotext.Quote(pod.ExemptLabels[label]))
		}
		emit.WriteBoolean(&m.Helpers, name, body)
	}
	return name
}

// escalationModule writes what an escalation's override relaxes and when: named is the one
// for requests that name the escalation, and owned the one for users of its sessions. Either
// may be nil.
func escalationModule(named, owned *tables.Escalation) []byte {
	of := cmp.Or(named, owned)
	m := emit.NewModule(of.Name)
	fmt.Fprintf(&m.Out, "# What one escalation's podSecurityOverrides relax. Generated from %s\npackage compiled.escalations\n", regotext.Comment(of.Source))
	var scope []string
	if of.NamespaceScope != nil {
		scope = namespaceFits(m, "scope", of.NamespaceScope)
	}
	if named != nil {
		body := []string{"input.escalation == " + regotext.Quote(of.Name)}
		body = append(body, globsClause(m, "clusters", "input.cluster", named.Clusters)...)
		body = append(body, scope...)
		body = append(body, "some group in input.groups", emit.OneOf("group", named.Groups))
		emit.WriteRule(&m.Out, "overrides contains "+regotext.Constant(override(of)), body)
	}
	if owned != nil {
		emit.WriteRule(&m.Out, "owned["+regotext.Quote(of.Name)+"] := "+regotext.Constant(override(of)), scope)
	}
	return m.Bytes()
}

// override is what an escalation relaxes.
func override(of *tables.Escalation) map[string]any {
	relaxed := map[string]any{"exemptFactors": append([]string{}, of.ExemptFactors...)}
	if of.MaxAllowedScore != nil {
		relaxed["maxAllowedScore"] = *of.MaxAllowedScore
	}
	return relaxed
}

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
