package visibility

import (
	"bytes"
	"fmt"
	"regexp"
	regexpsyntax "regexp/syntax"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
	"github.com/writ-policy/writ/translator/tables"
)

// visibilityTests writes, for each policy that can match, one file: for each rule
// a request it decides and a neighbour it must not, and what it says. What is
// asked is the policy itself, since another may come before it.
func visibilityTests(v *tables.Visibility) map[string][]byte {
	files := make(map[string][]byte)
	if v == nil {
		return files
	}
	for i := range v.Policies[:min(len(v.Policies), emit.TestedRoles)] {
		policy := &v.Policies[i]
		if rows := viewRows(policy); len(rows) > 0 {
			name := policyPackage(policy)
			files["compiled/tests/visibility/"+name+"_test.rego"] = viewTestModule(policy, name, rows)
		}
	}
	return files
}

// viewRow is one row of a policy's test.
type viewRow struct {
	note    string
	decides bool
	Rule    int            `json:"rule"`
	Request map[string]any `json:"request"`
	// Says is what the rule grants and which types it has entries for.
	Says map[string]any `json:"says,omitempty"`
}

// cluster is a cluster as a selector sees it.
type cluster struct {
	name   string
	labels map[string]string
}

// strangeCluster is one that no document is expected to name.
var strangeCluster = cluster{name: "writ-other-cluster"}

func viewRows(p *tables.VisibilityPolicy) []viewRow {
	subjects := subjectKeys(p)
	if !applies(p) || len(subjects) == 0 {
		return nil
	}
	var rows []viewRow
	add := func(note string, r *tables.VisibilityRule, hit cluster) {
		miss := viewRequest(strangeCluster, subjects[0])
		if decidingRule(p, strangeCluster) == r.Rule {
			miss = viewRequest(hit, "user:writ:nobody")
		}
		rows = append(rows,
			viewRow{note, true, r.Rule, viewRequest(hit, subjects[0]), ruleSays(p, r)},
			viewRow{"beside " + note, false, r.Rule, miss, nil},
		)
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if hit, ok := sampleCluster(p, r); ok {
			add(fmt.Sprintf("rule %d", r.Rule), r, hit)
		}
	}
	if decidingRule(p, strangeCluster) == defaultRule {
		add("the default", defaultOf(p), strangeCluster)
	}
	return rows
}

func viewRequest(c cluster, subject string) map[string]any {
	request := map[string]any{"cluster": map[string]any{"name": c.name, "labels": object(c.labels)}}
	if user, ok := strings.CutPrefix(subject, "user:"); ok {
		request["user"] = user
	} else {
		// A group alone is no principal.
		request["user"], request["groups"] = "writ:nobody", []string{strings.TrimPrefix(subject, "group:")}
	}
	return request
}

// ruleSays is the part of a rule's table that its test compares.
func ruleSays(p *tables.VisibilityPolicy, r *tables.VisibilityRule) map[string]any {
	table := ruleTable(p, r)
	return map[string]any{"permissions": table["permissions"], "partial": table["partial"], "entries": table["entries"], "filters": table["filters"]}
}

// noRule is the number of no rule and no default.
const noRule = -2

// decidingRule is the first rule for the cluster, else the default.
func decidingRule(p *tables.VisibilityPolicy, c cluster) int {
	for i := range p.Rules {
		if selects(&p.Rules[i], c) {
			return p.Rules[i].Rule
		}
	}
	if matchesByDefault(p) {
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
	if r.Labels == nil {
		return false
	}
	for key, value := range *r.Labels {
		if got, ok := c.labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// sampleCluster is a cluster that the rule is the first for. There may be none.
func sampleCluster(p *tables.VisibilityPolicy, r *tables.VisibilityRule) (cluster, bool) {
	var candidates []cluster
	for _, name := range r.Names {
		candidates = append(candidates, cluster{name: name})
	}
	if expression, err := regexpsyntax.Parse(r.Pattern, regexpsyntax.Perl); err == nil && r.Pattern != "" {
		sample := sampleExpression(expression)
		candidates = append(candidates, cluster{name: sample}, cluster{name: sample + "x"}, cluster{name: "x" + sample})
	}
	if r.Labels != nil {
		candidates = append(candidates, cluster{strangeCluster.name, *r.Labels})
	}
	for _, c := range candidates {
		if c.name != "" && decidingRule(p, c) == r.Rule {
			return c, true
		}
	}
	return cluster{}, false
}

// sampleExpression is a text that an expression is likely to find itself in;
// whether it does is up to the caller to try.
func sampleExpression(e *regexpsyntax.Regexp) string {
	switch e.Op {
	case regexpsyntax.OpLiteral:
		return string(e.Rune)
	case regexpsyntax.OpCharClass:
		return string(sampleRune(e.Rune))
	case regexpsyntax.OpAnyChar, regexpsyntax.OpAnyCharNotNL:
		return "x"
	case regexpsyntax.OpConcat:
		var out strings.Builder
		for _, part := range e.Sub {
			out.WriteString(sampleExpression(part))
		}
		return out.String()
	case regexpsyntax.OpCapture, regexpsyntax.OpPlus, regexpsyntax.OpAlternate:
		return sampleExpression(e.Sub[0])
	case regexpsyntax.OpRepeat:
		return strings.Repeat(sampleExpression(e.Sub[0]), e.Min)
	}
	return "" // what may be left out, and places between characters
}

// sampleRune is a plain character of a class, else its first.
func sampleRune(ranges []rune) rune {
	for _, r := range "a1A-" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	if len(ranges) == 0 {
		return 'x' // a class of nothing; no text fits
	}
	return ranges[0]
}

func viewTestModule(p *tables.VisibilityPolicy, name string, rows []viewRow) []byte {
	head := "allows"
	if p.Deny {
		head = "denies"
	}
	var out bytes.Buffer
	// Policy and subject are named everywhere: through a variable, OPA's type
	// checker would put all of them together, once a test.
	subject := regotext.Quote(subjectKeys(p)[0])
	policy := "data.compiled.visibility.policies[" + regotext.Quote(name) + "]"
	fmt.Fprintf(&out, `# METADATA
# description: |
#   What the rules of one MonitorAccessPolicy decide and what they leave alone.
#   Generated from it; its source: %s
package compiled.tests.visibility[%s]

import data.writ.visibility.request

_decides(row) if {
	%s in request.subjects with input as row.request
	some found in data.compiled.visibility.%s[%s]
	found[3] == %s
	_rule(found) == row.rule with input as row.request
	%s.holds with time.now_ns as %s
}

_rule(found) := min(%s.clusters) if {
	found
} else := -1 if found[4]

_says(row) if {
	every key, value in row.says {
		%s.rules[row.rule][key] == value
	}
}

test_rule[note] if {
	some note, row in _decisive
	_decides(row)
	_says(row)
}

test_neighbour[note] if {
	some note, row in _neighbours
	not _decides(row)
}
`, regotext.Comment(p.Source), regotext.Quote(name+"_test"), subject, head, subject, regotext.Quote(name), policy, whileItHolds(p), policy, policy)
	writeViewRows(&out, "_decisive", rows, true)
	writeViewRows(&out, "_neighbours", rows, false)
	return out.Bytes()
}

// whileItHolds is an instant at which a policy holds.
func whileItHolds(p *tables.VisibilityPolicy) string {
	switch {
	case p.NotBefore != nil:
		return nanoseconds(*p.NotBefore)
	case p.NotAfter != nil:
		return nanoseconds(*p.NotAfter)
	}
	return "0"
}

func writeViewRows(out *bytes.Buffer, name string, rows []viewRow, decides bool) {
	entries := make(map[string]viewRow)
	for _, row := range rows {
		if row.decides == decides {
			entries[row.note] = row
		}
	}
	writeEntries(out, name, entries)
}
