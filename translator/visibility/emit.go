package visibility

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

const visibilityPath = "compiled/visibility/"

// emitFiles writes one module for each policy: when it is active and which clusters its
// rules select. Everything else is data. Each policy has its own package, because the
// time that OPA's compiler takes for a package grows with the square of its rules.
func emitFiles(v *tables.Visibility, o emit.Options) map[string][]byte {
	files := make(map[string][]byte)
	if v == nil {
		return files
	}
	for i := range v.Policies {
		policy := &v.Policies[i]
		files[visibilityPath+policy.Module+".rego"] = visibilityModule(policy)
	}
	if o.Tests {
		maps.Copy(files, visibilityTests(v))
	}
	return files
}

func visibilityModule(p *tables.VisibilityPolicy) []byte {
	m := emit.NewModule(p.Name)
	fmt.Fprintf(&m.Out, "# The rules of one MonitorAccessPolicy. Generated from %s\npackage compiled.visibility.policies[%s]\n",
		regotext.Comment(p.Source), regotext.Quote(p.Module))
	switch {
	case p.Disabled:
		m.Out.WriteString("\n# The policy is not enabled: it has no rules.\n")
	case p.Malformed:
		m.Out.WriteString("\n# notBefore or notAfter is not a valid time: the policy never applies and has no rules.\n")
	case !p.Applies:
		m.Out.WriteString("\n# The policy applies to no cluster: it has no rules.\n")
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
			m.Metadata(fmt.Sprintf("The clusters that rule %d selects", i), r.Source)
			emit.WriteRule(&m.Out, fmt.Sprintf("clusters contains %d", i), conditions)
		}
	}
}

// validity returns the conditions on the time, both ends included.
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

// nanoseconds returns an instant in the unit of OPA's clock. It may exceed 64 bits,
// because integers of Rego are unbounded.
func nanoseconds(t time.Time) string {
	n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(int64(time.Second)))
	return n.Add(n, big.NewInt(int64(t.Nanosecond()))).String()
}

// selectorClauses returns the alternatives of a rule's selector. A clause without
// conditions selects every cluster.
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
		for _, label := range slices.Sorted(maps.Keys(*r.Labels)) {
			conditions = append(conditions, labels+regotext.Key(label)+" == "+regotext.Quote((*r.Labels)[label]))
		}
		clauses = append(clauses, conditions)
	}
	return clauses
}
