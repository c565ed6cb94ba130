package emit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/lower"
	"github.com/writ-policy/writ/translator/regotext"
)

// denyFiles writes one module a deny policy, all in the package compiled.deny so
// that OPA's rule index works across them, and one a pod-security override.
func denyFiles(deny *lower.Deny, o Options) map[string][]byte {
	files := make(map[string][]byte)
	if deny == nil {
		return files
	}
	for i := range deny.Policies {
		policy := &deny.Policies[i]
		files["compiled/deny/"+fileName(policy.Name)+".rego"] = denyModule(policy)
	}
	for i := range deny.Escalations {
		escalation := &deny.Escalations[i]
		files["compiled/escalations/"+fileName(escalation.Name)+".rego"] = escalationModule(escalation)
	}
	if o.Tests {
		maps.Copy(files, denyTests(deny))
	}
	return files
}

// module is one generated file. Helper rules get names that begin with the
// document's own, since files share a package.
type module struct {
	out     bytes.Buffer
	own     string
	helpers bytes.Buffer
}

func newModule(names ...string) *module { return &module{own: "_" + identifier(names...)} }

// helperName returns the name of a helper rule: the document's own and the purpose,
// which must not begin with two hexadecimal digits. Without a purpose it is the
// document's own.
func (m *module) helperName(purpose string) string {
	if purpose == "" {
		return m.own
	}
	return m.own + "__" + purpose
}

// rule writes "HEAD if { BODY }", or the bare head.
func rule(out *bytes.Buffer, head string, body []string) {
	if len(body) == 0 {
		body = []string{"true"}
	}
	fmt.Fprintf(out, "\n%s if {\n\t%s\n}\n", head, strings.Join(body, "\n\t"))
}

func (m *module) bytes() []byte {
	m.out.Write(m.helpers.Bytes())
	return m.out.Bytes()
}

// anyOf is the conditions under which one of the alternatives holds: itself where
// there is one, else a helper rule.
func (m *module) anyOf(purpose string, alternatives [][]string) []string {
	for _, alternative := range alternatives {
		if len(alternative) == 0 {
			return nil
		}
	}
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	name := m.helperName(purpose)
	for _, alternative := range alternatives {
		rule(&m.helpers, name, alternative)
	}
	return []string{name}
}

// globs are the conditions under which the value fits one of the patterns.
func (m *module) globs(purpose, ref string, patterns []string) []string {
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
		alternatives = append(alternatives, []string{oneOf(ref, literals)})
	}
	return m.anyOf(purpose, alternatives)
}

// oneOf is membership in constants, which OPA's rule index knows.
func oneOf(ref string, words []string) string {
	if len(words) == 1 {
		return ref + " == " + regotext.Quote(words[0])
	}
	return ref + " in {" + strings.Join(quoted(words), ", ") + "}"
}

func quoted(words []string) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = regotext.Quote(word)
	}
	return list
}

// wordList is the condition of a word list; none where it has "*".
func wordList(ref string, words []string) []string {
	if slices.Contains(words, "*") {
		return nil
	}
	return []string{oneOf(ref, words)}
}

func denyModule(policy *lower.DenyPolicy) []byte {
	m := newModule(policy.Name)
	fmt.Fprintf(&m.out, "# What one DenyPolicy denies. Generated from %s\npackage compiled.deny\n", regotext.Comment(policy.Source))
	if policy.Pod != nil {
		m.out.WriteString("\nimport data.writ.access.deny\nimport data.writ.access.pod\n")
	}
	scope := m.scope(policy)
	for i := range policy.Rules {
		m.denyRule(policy, &policy.Rules[i], scope)
	}
	if policy.Pod != nil {
		m.podSecurity(policy, scope)
	}
	return m.bytes()
}

// scope is the conditions of appliesTo. An escalation that refers to the policy
// stands in for sessions and escalationRefs, never for clusters and tenants.
func (m *module) scope(policy *lower.DenyPolicy) []string {
	var conditions []string
	if len(policy.Clusters) > 0 {
		conditions = append(conditions, m.globs("clusters", "input.cluster", policy.Clusters)...)
	}
	if len(policy.Tenants) > 0 {
		conditions = append(conditions, m.globs("tenants", "input.tenant", policy.Tenants)...)
	}
	var attached []string
	if len(policy.Sessions) > 0 {
		attached = append(attached, m.globs("sessions", "input.session", policy.Sessions)...)
	}
	if len(policy.EscalationRefs) > 0 {
		attached = append(attached, m.globs("escalations", "input.escalation", policy.EscalationRefs)...)
	}
	if len(attached) == 0 {
		return conditions
	}
	alternatives := [][]string{attached}
	if len(policy.ReferredBy) > 0 {
		alternatives = append(alternatives, []string{oneOf("input.escalation", policy.ReferredBy)})
	}
	return append(conditions, m.anyOf("attached", alternatives)...)
}

// Impersonation: newer API servers ask verbs that begin with impersonatePrefix on
// resources of authenticationGroup, where older ones ask the core group.
const (
	impersonate         = "impersonate"
	impersonatePrefix   = "impersonate:"
	authenticationGroup = "authentication.k8s.io"
)

func (m *module) denyRule(policy *lower.DenyPolicy, r *lower.DenyRule, scope []string) {
	purpose := func(what string) string { return fmt.Sprintf("rule_%d_%s", r.Rule, what) }
	head := func(unknown string) string {
		return fmt.Sprintf("rules contains [%d, %s, 0, %d, %s, %s]", policy.Precedence, regotext.Quote(policy.Name), r.Rule, regotext.Quote(r.Source), unknown)
	}
	var names []string
	if len(r.Names) > 0 {
		names = m.globs(purpose("names"), "input.name", r.Names)
		if !slices.Contains(r.Names, "*") && !slices.Contains(r.Names, "") {
			names = append(names, `input.name != ""`)
		}
	}
	namespaces := m.namespaceClauses(purpose("namespace"), r.Namespaces)
	for _, verb := range verbClauses(r) {
		for _, resource := range resourceClauses(r) {
			for _, namespace := range namespaces {
				m.metadata(fmt.Sprintf("Rule %d of DenyPolicy %s", r.Rule, policy.Name), r.Source)
				rule(&m.out, head(namespace.unknown), slices.Concat(verb, resource, scope, names, namespace.conditions))
			}
		}
	}
}

// metadata annotates the rule that follows. It is YAML in comments, so text goes
// in quoted.
func (m *module) metadata(description, source string) {
	fmt.Fprintf(&m.out, "\n# METADATA\n# description: %s\n# custom:\n#   source: %s", regotext.Metadata(description), regotext.Metadata(source))
}

// verbClauses are the conditions on verb and group. "impersonate" covers the verbs
// of the newer impersonation too, and for those the core group and that of
// authentication fit, whichever the request is in.
func verbClauses(r *lower.DenyRule) [][]string {
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
func resourceClauses(r *lower.DenyRule) [][]string {
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

func (m *module) namespaceClauses(purpose string, f *lower.NamespaceFilter) []namespaceClause {
	if f == nil {
		return []namespaceClause{{"false", nil}}
	}
	if len(f.Terms) == 0 {
		return []namespaceClause{{"false", m.globs(purpose, "input.namespace", f.Patterns)}}
	}
	fits := m.namespaceFits(purpose, f)
	unknown := []string{`input.namespace != ""`, `not input.namespaceLabels`}
	if len(f.Patterns) > 0 {
		unknown = append(unknown, "not "+purposeRule(m, purpose+"_name", m.globs(purpose+"_pattern", "input.namespace", f.Patterns)))
	}
	return []namespaceClause{{"false", fits}, {"true", unknown}}
}

// purposeRule gives conditions a name, so that they can be negated.
func purposeRule(m *module, purpose string, conditions []string) string {
	name := m.helperName(purpose)
	rule(&m.helpers, name, conditions)
	return name
}

// namespaceFits is the conditions under which a filter fits for certain: by a
// pattern, or by known labels.
func (m *module) namespaceFits(purpose string, f *lower.NamespaceFilter) []string {
	var alternatives [][]string
	for _, pattern := range f.Patterns {
		alternatives = append(alternatives, globConditions("input.namespace", pattern))
	}
	for i, term := range f.Terms {
		conditions := []string{`input.namespace != ""`, `input.namespaceLabels`}
		for j, requirement := range term {
			conditions = append(conditions, m.requirement(fmt.Sprintf("%s_label_%d_%d", purpose, i, j), requirement))
		}
		alternatives = append(alternatives, conditions)
	}
	return m.anyOf(purpose, alternatives)
}

func (m *module) requirement(purpose string, r lower.LabelRequirement) string {
	label := "input.namespaceLabels[" + regotext.Quote(r.Key) + "]"
	switch r.Operator {
	case "In":
		return oneOf(label, r.Values)
	case "NotIn":
		return "not " + purposeRule(m, purpose, []string{oneOf(label, r.Values)})
	case "Exists":
		return "is_string(" + label + ")"
	default:
		return "not " + label
	}
}
