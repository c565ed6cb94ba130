package deny

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// Emit writes one module a deny policy, all in the package compiled.deny so
// that OPA's rule index works across them, and one a pod-security override.
func Emit(deny *tables.Deny, o emit.Options) map[string][]byte {
	files := make(map[string][]byte)
	if deny == nil {
		return files
	}
	for i := range deny.Policies {
		policy := &deny.Policies[i]
		files["compiled/deny/"+emit.FileName(policy.Name)+".rego"] = denyModule(policy)
	}
	for i := range deny.Escalations {
		escalation := &deny.Escalations[i]
		files["compiled/escalations/"+emit.FileName(escalation.Name)+".rego"] = escalationModule(escalation)
	}
	if o.Tests {
		maps.Copy(files, denyTests(deny))
	}
	return files
}

// globsClause are the conditions under which the value fits one of the patterns.
func globsClause(m *emit.Module, purpose, ref string, patterns []string) []string {
	var literals []string
	var alternatives [][]string
	for _, pattern := range patterns {
		if literal, ok := globOf(pattern).Literal(); ok {
			literals = append(literals, literal)
			continue
		}
		alternatives = append(alternatives, globConditions(ref, pattern))
	}
	if len(literals) > 0 {
		alternatives = append(alternatives, []string{emit.OneOf(ref, literals)})
	}
	return m.AnyOf(purpose, alternatives)
}

// wordList is the condition of a word list; none where it has "*".
func wordList(ref string, words []string) []string {
	if slices.Contains(words, "*") {
		return nil
	}
	return []string{emit.OneOf(ref, words)}
}

func denyModule(policy *tables.DenyPolicy) []byte {
	m := emit.NewModule(policy.Name)
	fmt.Fprintf(&m.Out, "# What one DenyPolicy denies. Generated from %s\npackage compiled.deny\n", regotext.Comment(policy.Source))
	if policy.Pod != nil {
		m.Out.WriteString("\nimport data.writ.access.deny\nimport data.writ.access.pod\n")
	}
	scope := scopeClauses(m, policy)
	for i := range policy.Rules {
		writeDenyRule(m, policy, &policy.Rules[i], scope)
	}
	if policy.Pod != nil {
		writePodSecurity(m, policy, scope)
	}
	return m.Bytes()
}

// scopeClauses is the conditions of appliesTo. An escalation that refers to the policy
// stands in for sessions and escalationRefs, never for clusters and tenants.
func scopeClauses(m *emit.Module, policy *tables.DenyPolicy) []string {
	var conditions []string
	if len(policy.Clusters) > 0 {
		conditions = append(conditions, globsClause(m, "clusters", "input.cluster", policy.Clusters)...)
	}
	if len(policy.Tenants) > 0 {
		conditions = append(conditions, globsClause(m, "tenants", "input.tenant", policy.Tenants)...)
	}
	var attached []string
	if len(policy.Sessions) > 0 {
		attached = append(attached, globsClause(m, "sessions", "input.session", policy.Sessions)...)
	}
	if len(policy.EscalationRefs) > 0 {
		attached = append(attached, globsClause(m, "escalations", "input.escalation", policy.EscalationRefs)...)
	}
	if len(attached) == 0 {
		return conditions
	}
	alternatives := [][]string{attached}
	if len(policy.ReferredBy) > 0 {
		alternatives = append(alternatives, []string{emit.OneOf("input.escalation", policy.ReferredBy)})
	}
	return append(conditions, m.AnyOf("attached", alternatives)...)
}

// Impersonation: newer API servers ask verbs that begin with impersonatePrefix on
// resources of authenticationGroup, where older ones ask the core group.
const (
	impersonate         = "impersonate"
	impersonatePrefix   = "impersonate:"
	authenticationGroup = "authentication.k8s.io"
)

func writeDenyRule(m *emit.Module, policy *tables.DenyPolicy, r *tables.DenyRule, scope []string) {
	purpose := func(what string) string { return fmt.Sprintf("rule_%d_%s", r.Rule, what) }
	head := func(unknown string) string {
		return fmt.Sprintf("rules contains [%d, %s, 0, %d, %s, %s]", policy.Precedence, regotext.Quote(policy.Name), r.Rule, regotext.Quote(r.Source), unknown)
	}
	var names []string
	if len(r.Names) > 0 {
		names = globsClause(m, purpose("names"), "input.name", r.Names)
		if !slices.Contains(r.Names, "*") && !slices.Contains(r.Names, "") {
			names = append(names, `input.name != ""`)
		}
	}
	namespaces := namespaceClauses(m, purpose("namespace"), r.Namespaces)
	for _, verb := range verbClauses(r) {
		for _, resource := range resourceClauses(r) {
			for _, namespace := range namespaces {
				m.Metadata(fmt.Sprintf("Rule %d of DenyPolicy %s", r.Rule, policy.Name), r.Source)
				emit.WriteRule(&m.Out, head(namespace.unknown), slices.Concat(verb, resource, scope, names, namespace.conditions))
			}
		}
	}
}

// verbClauses are the conditions on verb and group. "impersonate" covers the verbs
// of the newer impersonation too, and for those the core group and that of
// authentication fit, whichever the request is in.
func verbClauses(r *tables.DenyRule) [][]string {
	clauses := [][]string{slices.Concat(wordList("input.verb", r.Verbs), wordList("input.apiGroup", r.Groups))}
	isMode := func(verb string) bool { return strings.HasPrefix(verb, impersonatePrefix) }
	var verb []string
	switch {
	case slices.Contains(r.Verbs, "*"), slices.Contains(r.Verbs, impersonate):
		verb = []string{"startswith(input.verb, " + regotext.Quote(impersonatePrefix) + ")"}
	case slices.ContainsFunc(r.Verbs, isMode):
		verb = wordList("input.verb", slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return !isMode(v) }))
	default:
		return clauses
	}
	switch {
	case slices.Contains(r.Groups, ""), slices.Contains(r.Groups, authenticationGroup):
		return append(clauses, verb)
	case slices.Contains(r.Verbs, impersonate):
		return append(clauses, append(verb, wordList("input.apiGroup", r.Groups)...))
	}
	return clauses
}

// resourceClauses are the conditions on resource and subresource: one clause for
// the entries without a slash, one for each entry in RBAC's spelling.
func resourceClauses(r *tables.DenyRule) [][]string {
	var clauses [][]string
	var plain []string
	for _, entry := range r.Resources {
		resource, subresource, slash := strings.Cut(entry, "/")
		if !slash {
			plain = append(plain, entry)
			continue
		}
		clause := []string{`input.path == ""`}
		clause = append(clause, wordList("input.resource", []string{resource})...)
		if subresource == "*" {
			clause = append(clause, `input.subresource != ""`)
		} else {
			clause = append(clause, "input.subresource == "+regotext.Quote(subresource))
		}
		clauses = append(clauses, clause)
	}
	if len(plain) > 0 {
		clause := append([]string{`input.path == ""`}, wordList("input.resource", plain)...)
		if len(r.Subresources) > 0 {
			clause = append(clause, wordList("input.subresource", r.Subresources)...)
		}
		clauses = append(clauses, clause)
	}
	return clauses
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
	var alternatives [][]string
	for _, pattern := range f.Patterns {
		alternatives = append(alternatives, globConditions("input.namespace", pattern))
	}
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
	case "In":
		return emit.OneOf(label, r.Values)
	case "NotIn":
		return "not " + purposeRule(m, purpose, []string{emit.OneOf(label, r.Values)})
	case "Exists":
		return "is_string(" + label + ")"
	default:
		return "not " + label
	}
}
