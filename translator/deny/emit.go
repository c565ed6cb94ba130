package deny

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// emitFiles writes one module a deny policy, all in the package compiled.deny so
// that OPA's rule index works across them, one a pod-security override, and one with
// the resources that policies name.
func emitFiles(deny *tables.Deny, o emit.Options) map[string][]byte {
	files := make(map[string][]byte)
	if deny == nil {
		return files
	}
	for i := range deny.Policies {
		policy := &deny.Policies[i]
		files["compiled/deny/"+emit.FileName(policy.Name)+".rego"] = denyModule(policy)
	}
	named := make(map[string]*tables.Escalation)
	for i := range deny.Escalations {
		named[deny.Escalations[i].Name] = &deny.Escalations[i]
	}
	for i := range deny.Owned { // which has all of them
		owned := &deny.Owned[i]
		files["compiled/escalations/"+emit.FileName(owned.Name)+".rego"] = escalationModule(named[owned.Name], owned)
	}
	if len(deny.Resources) > 0 {
		files["compiled/deny_resources/deny_resources.rego"] = resourcesModule(deny.Resources)
	}
	if o.Tests {
		maps.Copy(files, denyTests(deny))
	}
	return files
}

// globConditions are the Rego expressions that hold where the value of the
// reference matches the glob, what OPA's rule index can use first. None: every
// value matches.
func globConditions(ref string, glob tables.PathGlob) []string {
	if glob.MatchesAll() {
		return nil
	}
	if literal, ok := glob.Literal(); ok {
		return []string{ref + " == " + regotext.Quote(literal)}
	}
	var conditions []string
	if prefix := glob.Prefix(); prefix != "" {
		conditions = append(conditions, "startswith("+ref+", "+regotext.Quote(prefix)+")")
	}
	if suffix := glob.Suffix(); suffix != "" {
		conditions = append(conditions, "endswith("+ref+", "+regotext.Quote(suffix)+")")
	}
	return append(conditions, "regex.match("+regotext.Quote(glob.Expression())+", "+ref+")")
}

// globsClause are the conditions under which the value matches one of the globs.
func globsClause(m *emit.Module, purpose, ref string, globs []tables.PathGlob) []string {
	var literals []string
	var alternatives [][]string
	for _, glob := range globs {
		if literal, ok := glob.Literal(); ok {
			literals = append(literals, literal)
			continue
		}
		alternatives = append(alternatives, globConditions(ref, glob))
	}
	if len(literals) > 0 {
		alternatives = append(alternatives, []string{emit.OneOf(ref, literals)})
	}
	return m.AnyOf(purpose, alternatives)
}

// wordList is the condition of a word list; none for nil.
func wordList(ref string, words []string) []string {
	if words == nil {
		return nil
	}
	return []string{emit.OneOf(ref, words)}
}

// resourcesModule writes the resources that policies name, by the words for the same
// kind.
func resourcesModule(named map[string][]string) []byte {
	var out bytes.Buffer
	out.WriteString(`# METADATA
# description: |
#   The resources that deny policies name, by the lower-case words for the same kind.
package compiled.deny_resources
`)
	emit.WriteMap(&out, "named", named)
	return out.Bytes()
}

func denyModule(policy *tables.DenyPolicy) []byte {
	m := emit.NewModule(policy.Name)
	fmt.Fprintf(&m.Out, "# What one DenyPolicy denies. Generated from %s\npackage compiled.deny\n", regotext.Comment(policy.Source))
	if policy.Pod != nil {
		m.Out.WriteString("\nimport data.writ.access.deny\nimport data.writ.access.pod\n")
	}
	if policy.Dates != nil && policy.Dates.Until != nil {
		m.Metadata("When DenyPolicy "+policy.Name+" ends, in nanoseconds", policy.Source)
		fmt.Fprintf(&m.Out, "\nuntil[%s] := %d\n", regotext.Quote(policy.Name), *policy.Dates.Until)
	}
	scope := slices.Concat(dateClauses(policy.Dates), scopeClauses(m, policy))
	for i := range policy.Rules {
		writeDenyRule(m, policy, &policy.Rules[i], scope)
	}
	for i := range policy.Impersonation {
		writeImpersonationRule(m, policy, &policy.Impersonation[i], scope)
	}
	if policy.Pod != nil {
		writePodSecurity(m, policy, scope)
	}
	return m.Bytes()
}

// dateClauses are the conditions of a period.
func dateClauses(p *dates.Period) []string {
	var conditions []string
	switch {
	case p == nil:
	case p.Never:
		conditions = append(conditions, "false")
	default:
		if p.From != nil {
			conditions = append(conditions, fmt.Sprintf("time.now_ns() >= %d", *p.From))
		}
		if p.Until != nil {
			conditions = append(conditions, fmt.Sprintf("time.now_ns() < %d", *p.Until))
		}
	}
	return conditions
}

// scopeClauses is the conditions of appliesTo. An escalation or a session that refers to the
// policy stands in for sessions and escalationRefs, never for clusters and tenants.
func scopeClauses(m *emit.Module, policy *tables.DenyPolicy) []string {
	var conditions, attached []string
	for i, globs := range policy.Scope() {
		a, to := &tables.ScopeAttributes[i], &conditions
		if a.IsReferred {
			to = &attached
		}
		if len(*globs) > 0 {
			*to = append(*to, globsClause(m, a.Key+"s", "input."+a.Key, *globs)...)
		}
	}
	if len(attached) == 0 {
		return conditions
	}
	alternatives := [][]string{attached, {regotext.Quote(policy.Name) + " in data.writ.access.deny.attached"}}
	if len(policy.ReferredBy) > 0 {
		alternatives = append(alternatives, []string{emit.OneOf("input.escalation", policy.ReferredBy)})
	}
	return append(conditions, m.AnyOf("attached", alternatives)...)
}

func writeDenyRule(m *emit.Module, policy *tables.DenyPolicy, r *tables.DenyRule, scope []string) {
	purpose := func(what string) string { return fmt.Sprintf("rule_%d_%s", r.Rule, what) }
	head := func(unknown string) string {
		name, source := regotext.Quote(policy.Name), regotext.Quote(r.Source)
		return fmt.Sprintf("rules contains [%d, %s, 0, %d, %s, %s]", policy.Precedence, name, r.Rule, source, unknown)
	}
	var names []string
	if len(r.Names) > 0 {
		names = globsClause(m, purpose("names"), "input.name", r.Names)
	}
	if r.NeedsName {
		names = append(names, `input.name != ""`)
	}
	namespaces := namespaceClauses(m, purpose("namespace"), r.Namespaces)
	for i := range r.Actions {
		for j := range r.Resources {
			for _, namespace := range namespaces {
				m.Metadata(fmt.Sprintf("Rule %d of DenyPolicy %s", r.Rule, policy.Name), r.Source)
				resource := append([]string{`input.path == ""`}, resourceConditions(&r.Resources[j])...)
				emit.WriteRule(&m.Out, head(namespace.unknown),
					slices.Concat(actionClause(&r.Actions[i]), resource, scope, names, namespace.conditions))
			}
		}
	}
}

func actionClause(a *tables.DenyAction) []string {
	clause := wordList("input.verb", a.Verbs)
	if a.VerbPrefix != "" {
		clause = append(clause, "startswith(input.verb, "+regotext.Quote(a.VerbPrefix)+")")
	}
	return append(clause, wordList("input.apiGroup", a.Groups)...)
}

func resourceConditions(r *tables.DenyResource) []string {
	clause := wordList("input.resource", r.Resources)
	if r.NeedsSubresource {
		clause = append(clause, `input.subresource != ""`)
	}
	return append(clause, wordList("input.subresource", r.Subresources)...)
}

// namespaceClause is one way for a namespace filter to fit; unknown is Rego for
// whether it does only because the labels are not known.
type namespaceClause struct {
	unknown    string
	conditions []string
}

func namespaceClauses(m *emit.Module, purpose string, f *tables.NamespaceFilter) []namespaceClause {
	if f == nil {
		return []namespaceClause{{"false", nil}}
	}
	if len(f.Terms) == 0 {
		return []namespaceClause{{"false", globsClause(m, purpose, "input.namespace", f.Patterns)}}
	}
	fits := namespaceFits(m, purpose, f)
	unknown := []string{`input.namespace != ""`, `not input.namespaceLabels`}
	if len(f.Patterns) > 0 {
		unknown = append(unknown, "not "+purposeRule(m, purpose+"_name", globsClause(m, purpose+"_pattern", "input.namespace", f.Patterns)))
	}
	return []namespaceClause{{"false", fits}, {"true", unknown}}
}

// purposeRule gives conditions a name, so that they can be negated.
func purposeRule(m *emit.Module, purpose string, conditions []string) string {
	name := m.HelperName(purpose)
	emit.WriteBoolean(&m.Helpers, name, conditions)
	return name
}

// namespaceFits is the conditions under which a filter fits for certain: by a
// pattern, or by known labels.
func namespaceFits(m *emit.Module, purpose string, f *tables.NamespaceFilter) []string {
	alternatives := elements.Map(f.Patterns, func(glob tables.PathGlob) []string { return globConditions("input.namespace", glob) })
	for i, term := range f.Terms {
		conditions := []string{`input.namespace != ""`, `input.namespaceLabels`}
		for j, requirement := range term {
			conditions = append(conditions, requirementClause(m, fmt.Sprintf("%s_label_%d_%d", purpose, i, j), requirement))
		}
		alternatives = append(alternatives, conditions)
	}
	return m.AnyOf(purpose, alternatives)
}

func requirementClause(m *emit.Module, purpose string, r tables.LabelRequirement) string {
	label := "input.namespaceLabels" + regotext.Key(r.Key)
	switch r.Operator {
	case tables.In:
		return emit.OneOf(label, r.Values)
	case tables.NotIn:
		return "not " + purposeRule(m, purpose, []string{emit.OneOf(label, r.Values)})
	case tables.Exists:
		return "is_string(" + label + ")"
	case tables.DoesNotExist:
	}
	return "not " + label
}
