package emit

import (
	"bytes"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/lower"
)

// visibilityFiles writes one module a policy and one a MetricSource, all in the
// package compiled.visibility. Who a policy is for are rules whose heads have the
// subject, so that a principal's policies are looked up and not searched.
func visibilityFiles(v *lower.Visibility) map[string][]byte {
	files := make(map[string][]byte)
	if v == nil {
		return files
	}
	for i := range v.Policies {
		policy := &v.Policies[i]
		files[visibilityPath+fileName(policyKey(policy))+".rego"] = visibilityModule(policy)
	}
	for i := range v.Sources {
		if source := &v.Sources[i]; source.Type != "" {
			files[visibilityPath+"sources/"+fileName(source.Namespace+"/"+source.Name)+".rego"] = metricSourceModule(source)
		}
	}
	return files
}

const visibilityPath = "compiled/visibility/"

// policyKey is what a policy is called in Rego and between engine and Rego.
func policyKey(p *lower.VisibilityPolicy) string { return p.Namespace + "/" + p.Name }

// defaultRule is the number under which a policy's default stands.
const defaultRule = -1

// matchesByDefault reports whether the policy is about clusters no rule matches.
func matchesByDefault(p *lower.VisibilityPolicy) bool {
	return p.Default == "all" || p.Default == "allow"
}

func visibilityModule(p *lower.VisibilityPolicy) []byte {
	m := newModule(policyKey(p))
	fmt.Fprintf(&m.out, "# What one MonitorAccessPolicy says. Generated from %s\npackage compiled.visibility\n", comment(p.Source))
	switch {
	case p.Disabled:
		m.out.WriteString("\n# It is not enabled, so it has no rules.\n")
	case p.Malformed:
		m.out.WriteString("\n# One of its times is none, so it never holds and has no rules.\n")
	case len(p.Rules) == 0 && !matchesByDefault(p):
		m.out.WriteString("\n# It is about no cluster, so it has no rules.\n")
	default:
		m.visibility(p)
	}
	return m.bytes()
}

func (m *module) visibility(p *lower.VisibilityPolicy) {
	key := quote(policyKey(p))
	m.subjects(p)
	for i := range p.Rules {
		r := &p.Rules[i]
		description := fmt.Sprintf("Rule %d of MonitorAccessPolicy %s", r.Rule, p.Name)
		m.metadata(description, r.Source)
		fmt.Fprintf(&m.out, "\nrules[%s][%d] := %s\n", key, r.Rule, constant(ruleTable(p, r)))
		for _, conditions := range selectorClauses(r) {
			m.metadata("Clusters of "+strings.ToLower(description[:1])+description[1:], r.Source)
			rule(&m.out, fmt.Sprintf("clusters[%s] contains %d", key, r.Rule), conditions)
		}
	}
	if matchesByDefault(p) {
		m.metadata("The default of MonitorAccessPolicy "+p.Name, p.DefaultSource)
		fmt.Fprintf(&m.out, "\nrules[%s][%d] := %s\n", key, defaultRule, constant(ruleTable(p, defaultOf(p))))
	}
	if types := firstRules(p); len(types) > 0 {
		m.metadata("The first rule for each type, whatever the cluster", p.Source)
		fmt.Fprintf(&m.out, "\nlisted[%s] := %s\n", key, constant(types))
	}
}

// subjects writes, for each subject, the policy's place in the order of
// evaluation and its key, while it holds.
func (m *module) subjects(p *lower.VisibilityPolicy) {
	var body []string
	if conditions := validity(p); len(conditions) > 0 {
		body = []string{purposeRule(m, "holds", conditions)}
	}
	head := "allows"
	if p.Deny {
		head = "denies"
	}
	row := fmt.Sprintf("[%d, %s, %s, %s]", p.Priority, quote(p.Namespace), quote(p.Name), quote(policyKey(p)))
	for _, subject := range subjectKeys(p) {
		line := fmt.Sprintf("\n%s[%s] contains %s", head, quote(subject), row)
		if len(body) > 0 {
			line += " if " + body[0]
		}
		m.out.WriteString(line + "\n")
	}
}

func subjectKeys(p *lower.VisibilityPolicy) []string {
	var keys []string
	for _, user := range slices.Concat(p.Users, p.ServiceAccounts) {
		keys = append(keys, "user:"+user)
	}
	for _, group := range p.Groups {
		keys = append(keys, "group:"+group)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// validity is when the policy holds, both ends included.
func validity(p *lower.VisibilityPolicy) []string {
	var conditions []string
	if p.NotBefore != nil {
		conditions = append(conditions, "time.now_ns() >= "+nanoseconds(*p.NotBefore))
	}
	if p.NotAfter != nil {
		conditions = append(conditions, "time.now_ns() <= "+nanoseconds(*p.NotAfter))
	}
	return conditions
}

// nanoseconds is an instant as OPA's clock counts. Years that 64 bits cannot hold
// are as good as any: Rego's integers are not bounded.
func nanoseconds(t time.Time) string {
	n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(int64(time.Second)))
	return n.Add(n, big.NewInt(int64(t.Nanosecond()))).String()
}

// selectorClauses are the alternatives of a rule's selector; a clause without
// conditions fits every cluster.
func selectorClauses(r *lower.VisibilityRule) [][]string {
	const name, labels = "input.cluster.name", "input.cluster.labels"
	var clauses [][]string
	if len(r.Names) > 0 {
		clauses = append(clauses, []string{oneOf(name, r.Names)})
	}
	switch r.Pattern {
	case "":
	case ".*", "^.*":
		clauses = append(clauses, nil)
	default:
		clauses = append(clauses, []string{"regex.match(" + quote(r.Pattern) + ", " + name + ")"})
	}
	if r.Labels != nil {
		var conditions []string
		for _, key := range sortedKeys(*r.Labels) {
			conditions = append(conditions, labels+"["+quote(key)+"] == "+quote((*r.Labels)[key]))
		}
		clauses = append(clauses, conditions)
	}
	return clauses
}

// firstRules is, for each type, the first rule that has something to say of it:
// an Allow that hides all of a type grants none of it.
func firstRules(p *lower.VisibilityPolicy) map[string]int {
	first := make(map[string]int)
	for i := range p.Rules {
		for _, entry := range p.Rules[i].Entries {
			if _, ok := first[entry.Type]; !ok && (p.Deny || entry.Visibility != "none") {
				first[entry.Type] = p.Rules[i].Rule
			}
		}
	}
	return first
}

// defaultOf is what a policy grants on clusters no rule of it matches.
func defaultOf(p *lower.VisibilityPolicy) *lower.VisibilityRule {
	return &lower.VisibilityRule{Rule: defaultRule, Source: p.DefaultSource, Permissions: []string{"view"}}
}

// visibilityGlob is a pattern as an RE2 expression over the whole value: "*" is
// any run of characters, "?" is one, all else is itself.
func visibilityGlob(pattern string) string {
	var out bytes.Buffer
	out.WriteString(`(?s)^`)
	last := rune(0)
	for _, r := range pattern {
		switch {
		case r == '*' && last == '*':
		case r == '*':
			out.WriteString(`.*`)
		case r == '?':
			out.WriteByte('.')
		default:
			out.WriteString(regexp.QuoteMeta(string(r)))
		}
		last = r
	}
	out.WriteByte('$')
	return out.String()
}
