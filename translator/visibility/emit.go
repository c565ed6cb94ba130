package visibility

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// Emit writes one module a policy and one a MetricSource, and one that
// finds a principal's policies. Each policy has a package of its own: what OPA's
// compiler does with a package grows with the square of its rules.
func Emit(v *tables.Visibility, o emit.Options) map[string][]byte {
	files := make(map[string][]byte)
	if v == nil || len(v.Policies)+len(v.Sources) == 0 {
		return files
	}
	files[visibilityPath+"subjects.rego"] = subjectsModule(v)
	for i := range v.Policies {
		policy := &v.Policies[i]
		files[visibilityPath+policyPackage(policy)+".rego"] = visibilityModule(policy)
	}
	for i := range v.Sources {
		if source := &v.Sources[i]; source.Type != "" {
			files[visibilityPath+"sources/"+emit.FileName(source.Namespace, source.Name)+".rego"] = metricSourceModule(source)
		}
	}
	if o.Tests {
		maps.Copy(files, visibilityTests(v))
	}
	return files
}

const visibilityPath = "compiled/visibility/"

// visibilityKey is NAMESPACE/NAME. A namespace of this family may be any text, so
// what would be taken for the slash between is written otherwise.
func visibilityKey(namespace, name string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(namespace) + "/" + name
}

// policyPackage is the last part of the package of a policy, and its file's name.
func policyPackage(p *tables.VisibilityPolicy) string {
	return emit.FileName(p.Namespace, p.Name)
}

// defaultRule is the number under which a policy's default stands.
const defaultRule = -1

// matchesByDefault reports whether the policy is about clusters no rule matches.
func matchesByDefault(p *tables.VisibilityPolicy) bool {
	return p.Default == "all" || p.Default == "allow"
}

// applies reports whether the policy can ever be about a cluster or a type.
func applies(p *tables.VisibilityPolicy) bool {
	return !p.Disabled && !p.Malformed && (len(p.Rules) > 0 || matchesByDefault(p))
}

// subjectsModule finds policies by subject, in the order of evaluation. A row is
// [priority, namespace, name, package, whether the default matches].
func subjectsModule(v *tables.Visibility) []byte {
	var out bytes.Buffer
	out.WriteString("# Which policies are for whom. Generated from all MonitorAccessPolicies.\npackage compiled.visibility\n")
	denies, allows, packages := map[string][]any{}, map[string][]any{}, map[string]string{}
	for i := range v.Policies {
		p := &v.Policies[i]
		if !applies(p) {
			continue
		}
		packages[visibilityKey(p.Namespace, p.Name)] = policyPackage(p)
		rows := allows
		if p.Deny {
			rows = denies
		}
		row := []any{p.Priority, p.Namespace, p.Name, policyPackage(p), matchesByDefault(p)}
		for _, subject := range subjectKeys(p) {
			rows[subject] = append(rows[subject], row)
		}
	}
	// OPA's types refuse to look into an empty constant.
	if len(denies) > 0 {
		writeEntries(&out, "denies", denies)
	}
	if len(allows) > 0 {
		writeEntries(&out, "allows", allows)
	}
	if len(packages) > 0 {
		writeEntries(&out, "packages", packages)
	}
	return out.Bytes()
}

// writeEntries writes an object, an entry a line.
func writeEntries[V any](out *bytes.Buffer, name string, entries map[string]V) {
	fmt.Fprintf(out, "\n%s := {\n", name)
	for _, key := range sortedKeys(entries) {
		fmt.Fprintf(out, "\t%s: %s,\n", regotext.Quote(key), regotext.Constant(entries[key]))
	}
	out.WriteString("}\n")
}

func subjectKeys(p *tables.VisibilityPolicy) []string {
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

func visibilityModule(p *tables.VisibilityPolicy) []byte {
	m := emit.NewModule(p.Name)
	fmt.Fprintf(&m.Out, "# What one MonitorAccessPolicy says. Generated from %s\npackage compiled.visibility.policies[%s]\n",
		regotext.Comment(p.Source), regotext.Quote(policyPackage(p)))
	switch {
	case p.Disabled:
		m.Out.WriteString("\n# It is not enabled: it has no rules.\n")
	case p.Malformed:
		m.Out.WriteString("\n# One of its times is none: it never holds and has no rules.\n")
	case !applies(p):
		m.Out.WriteString("\n# It is about no cluster: it has no rules.\n")
	default:
		writeVisibility(m, p)
	}
	return m.Bytes()
}

func writeVisibility(m *emit.Module, p *tables.VisibilityPolicy) {
	m.Metadata("When MonitorAccessPolicy "+p.Name+" holds", p.Source)
	emit.WriteBoolean(&m.Out, "holds", validity(p))
	for i := range p.Rules {
		r := &p.Rules[i]
		for _, conditions := range selectorClauses(r) {
			m.Metadata(fmt.Sprintf("The clusters of rule %d", r.Rule), r.Source)
			emit.WriteRule(&m.Out, fmt.Sprintf("clusters contains %d", r.Rule), conditions)
		}
	}
	m.Metadata("What the rules grant, by their numbers; -1 is the default", p.Source)
	m.Out.WriteString("\nrules := {\n")
	if matchesByDefault(p) {
		fmt.Fprintf(&m.Out, "\t%d: %s,\n", defaultRule, regotext.Constant(ruleTable(p, defaultOf(p))))
	}
	for i := range p.Rules {
		fmt.Fprintf(&m.Out, "\t%d: %s,\n", p.Rules[i].Rule, regotext.Constant(ruleTable(p, &p.Rules[i])))
	}
	m.Out.WriteString("}\n")
	if types := firstRules(p); len(types) > 0 {
		m.Metadata("The first rule for each type, whatever the cluster", p.Source)
		fmt.Fprintf(&m.Out, "\nlisted := %s\n", regotext.Constant(types))
	}
}

// validity is when the policy holds, both ends included.
func validity(p *tables.VisibilityPolicy) []string {
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
func selectorClauses(r *tables.VisibilityRule) [][]string {
	const name, labels = "input.cluster.name", "input.cluster.labels"
	var clauses [][]string
	if len(r.Names) > 0 {
		clauses = append(clauses, []string{emit.OneOf(name, r.Names)})
	}
	switch r.Pattern {
	case "":
	case ".*", "^.*":
		clauses = append(clauses, nil)
	default:
		clauses = append(clauses, []string{"regex.match(" + regotext.Quote(r.Pattern) + ", " + name + ")"})
	}
	if r.Labels != nil {
		var conditions []string
		for _, label := range sortedKeys(*r.Labels) {
			conditions = append(conditions, labels+regotext.Key(label)+" == "+regotext.Quote((*r.Labels)[label]))
		}
		clauses = append(clauses, conditions)
	}
	return clauses
}

// firstRules is, for each type, the first rule that has something to say of it:
// an Allow that hides all of a type grants none of it.
func firstRules(p *tables.VisibilityPolicy) map[string]int {
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
func defaultOf(p *tables.VisibilityPolicy) *tables.VisibilityRule {
	return &tables.VisibilityRule{Rule: defaultRule, Source: p.DefaultSource, Permissions: []string{"view"}}
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
