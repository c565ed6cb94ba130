package visibility

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// visibilityTests writes one file for each policy that can apply. For each rule it has
// a request that the rule decides, and a similar one that it does not decide. The test
// asks the policy itself, since another policy may precede it.
func visibilityTests(v *tables.Visibility) map[string][]byte {
	files := make(map[string][]byte)
	if v == nil {
		return files
	}
	for i := range v.Policies[:min(len(v.Policies), emit.TestedRoles)] {
		policy := &v.Policies[i]
		if rows := visibilityRows(policy); len(rows) > 0 {
			files["compiled/tests/visibility/"+policy.Module+"_test.rego"] = visibilityTestModule(policy, rows)
		}
	}
	return files
}

// visibilityRow is one row of a policy's test.
type visibilityRow struct {
	note    string
	decides bool
	Rule    int            `json:"rule"`
	Request map[string]any `json:"request"`
	// Permissions and Visibility, by type, are those of the rule; nil unless it decides.
	Permissions []string          `json:"permissions,omitzero"`
	Visibility  map[string]string `json:"visibility,omitzero"`
}

// cluster holds the properties of a cluster that a selector reads.
type cluster struct {
	name   string
	labels map[string]string
}

// otherCluster has a name that documents are not expected to use.
var otherCluster = cluster{name: "writ-other-cluster"}

func visibilityRows(p *tables.VisibilityPolicy) []visibilityRow {
	subjects := p.SubjectKeys()
	if !p.Applies || len(subjects) == 0 {
		return nil
	}
	var rows []visibilityRow
	add := func(note string, index int, r *tables.VisibilityRule, hit cluster) {
		miss := visibilityRequest(otherCluster, subjects[0])
		if decidingRule(p, otherCluster) == index {
			miss = visibilityRequest(hit, "user:writ:unbound")
		}
		rows = append(rows,
			visibilityRow{note, true, index, visibilityRequest(hit, subjects[0]), r.Permissions, visibilities(r)},
			visibilityRow{note: "beside " + note, Rule: index, Request: miss},
		)
	}
	for i := range p.Rules {
		if hit, ok := sampleCluster(p, i); ok {
			add(fmt.Sprintf("rule %d", i), i, &p.Rules[i], hit)
		}
	}
	if decidingRule(p, otherCluster) == defaultRule {
		add("the default", defaultRule, p.ByDefault, otherCluster)
	}
	return rows
}

func visibilities(r *tables.VisibilityRule) map[string]string {
	out := make(map[string]string, len(r.Entries))
	for name, entry := range r.Entries {
		out[name] = entry.Visibility
	}
	return out
}

func visibilityRequest(c cluster, subject string) map[string]any {
	labels := c.labels
	if labels == nil {
		labels = map[string]string{}
	}
	request := map[string]any{"cluster": map[string]any{"name": c.name, "labels": labels}}
	if of := tables.ParseSubject(subject); !of.IsGroup {
		request["user"] = of.Name
	} else {
		// Groups without a user are not a principal.
		request["user"], request["groups"] = "writ:unbound", []string{of.Name}
	}
	return request
}

const (
	// defaultRule is the number by which requests and tests refer to a policy's default.
	defaultRule = -1
	// noRule means that neither a rule nor the default applies.
	noRule = -2
)

// decidingRule returns the index of the first rule that selects the cluster, else the
// default.
func decidingRule(p *tables.VisibilityPolicy, c cluster) int {
	for i := range p.Rules {
		if selects(&p.Rules[i], c) {
			return i
		}
	}
	if p.ByDefault != nil {
		return defaultRule
	}
	return noRule
}

func selects(r *tables.VisibilityRule, c cluster) bool {
	if slices.Contains(r.Names, c.name) {
		return true
	}
	if r.Pattern != "" {
		if expression, err := regexp.Compile(r.Pattern); err == nil && expression.MatchString(c.name) {
			return true
		}
	}
	return r.Labels != nil && tables.HasPairs(c.labels, *r.Labels)
}

// sampleCluster finds a cluster that the rule decides; it reports whether it found one.
func sampleCluster(p *tables.VisibilityPolicy, index int) (cluster, bool) {
	for _, c := range candidates(&p.Rules[index]) {
		if c.name != "" && decidingRule(p, c) == index {
			return c, true
		}
	}
	return cluster{}, false
}

// candidates returns clusters that a rule is likely to select.
func candidates(r *tables.VisibilityRule) []cluster {
	list := elements.Map(r.Names, func(name string) cluster { return cluster{name: name} })
	if r.Pattern != "" {
		sample := emit.SampleExpression(r.Pattern)
		list = append(list, cluster{name: sample}, cluster{name: sample + "x"}, cluster{name: "x" + sample})
	}
	if r.Labels != nil {
		list = append(list, cluster{otherCluster.name, *r.Labels})
	}
	return list
}

func visibilityTestModule(p *tables.VisibilityPolicy, rows []visibilityRow) []byte {
	effect := "allows"
	if p.Deny {
		effect = "denies"
	}
	var out bytes.Buffer
	// The policy is a constant everywhere: for a variable, OPA's type checker would
	// merge the types of all policies, once a test.
	subject, name := regotext.Quote(p.SubjectKeys()[0]), regotext.Quote(p.Module)
	policy := "data.compiled.visibility.policies[" + name + "]"
	fmt.Fprintf(&out, `# METADATA
# description: |
#   Requests that the rules of one MonitorAccessPolicy decide, and similar ones that
#   they do not decide. Generated from the policy; its source: %s
package compiled.tests.visibility[%s]

import data.writ.visibility.request

_table := policy if {
	some index in data.compiled.visibility_tables.%s[%s]
	policy := data.compiled.visibility_tables.policies[index]
	policy.module == %s
}

_decides(row) if {
	%s in request.subjects with input as row.request
	_rule(_table) == row.rule with input as row.request
	%s.holds with time.now_ns as %s
}

_rule(table) := min(%s.clusters) if {
	table
} else := -1 if table.byDefault

_granting(-1) := _table.byDefault

_granting(number) := _table.rules[number] if number >= 0

_grants(row) if {
	rule := _granting(row.rule)
	rule.permissions == row.permissions
	{type: entry.visibility | some type, entry in rule.entries} == row.visibility
}

test_rule[note] if {
	some note, row in _decisive
	_decides(row)
	_grants(row)
}

test_neighbour[note] if {
	some note, row in _neighbours
	not _decides(row)
}
`, regotext.Comment(p.Source), regotext.Quote(p.Module+"_test"), effect, subject, name, subject, policy, whileItHolds(p), policy)
	writeVisibilityRows(&out, "_decisive", rows, true)
	writeVisibilityRows(&out, "_neighbours", rows, false)
	writeSelections(&out, p, policy)
	writeTimes(&out, p, policy)
	return out.Bytes()
}

// whileItHolds returns an instant at which the policy is active.
func whileItHolds(p *tables.VisibilityPolicy) string {
	switch {
	case p.NotBefore != nil:
		return nanoseconds(*p.NotBefore)
	case p.NotAfter != nil:
		return nanoseconds(*p.NotAfter)
	}
	return "0"
}

func writeVisibilityRows(out *bytes.Buffer, name string, rows []visibilityRow, decides bool) {
	entries := make(map[string]visibilityRow)
	for _, row := range rows {
		if row.decides == decides {
			entries[row.note] = row
		}
	}
	emit.WriteMap(out, name, entries)
}
