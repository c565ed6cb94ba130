package evaluate

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/gateway/effective"
	"github.com/writ-policy/writ/translator/tables"
)

// reasons explain why a rule is replaced; %s is the policy that replaces it.
var reasons = map[string]string{
	"condition":       "the merge condition of its block is false",
	"unset":           "the lower policy %s unsets it",
	"atomic-default":  "it is an atomic default, and the lower policy %s has rules",
	"default":         "it is a default, and the lower policy %s has this rule",
	"atomic-override": "the atomic override of %s replaces all rules below",
	"override":        "the higher policy %s overrides it",
}

// writeTable writes the effective policy of a target for people: each rule with its
// source and what it replaced, the replaced rules and why, and the conditions of the
// policies.
func writeTable(w io.Writer, g *tables.Gateway, found *effective.Effective) error {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s in force on %s\n", found.Kind, diag.Line(found.Target))
	for _, c := range found.Conditions {
		fmt.Fprintf(out, "%s: %s\n", c.Reason, diag.Line(c.Message))
	}
	for _, v := range found.Each() {
		writeVariant(out, v)
	}
	if len(found.Untargeted) > 0 {
		out.WriteString("\nRoute rules without a policy of their own\n")
		for _, target := range found.Untargeted {
			fmt.Fprintf(out, "  %s\n", diag.Line(target))
		}
	}
	writePolicies(out, g, found)
	return cli.Print(w, out.String())
}

func writeVariant(out *strings.Builder, v effective.Variant) {
	out.WriteString("\n")
	for _, path := range v.Paths {
		fmt.Fprintf(out, "On %s\n", diag.Line(path))
	}
	switch {
	case len(v.Paths) == 0:
		out.WriteString("No path leads to the target, so nothing is in force.\n")
		return
	case len(v.Rules) == 0:
		out.WriteString("No rule is in force.\n")
	default:
		rows := [][]string{{"RULE", "POLICY", "FROM", "REPLACES"}}
		for i := range v.Detail.Rules {
			r := &v.Detail.Rules[i]
			rows = append(rows, []string{r.Key, tables.BareName(r.Policy), r.Source, replaces(v.Detail, r)})
		}
		writeRows(out, rows)
	}
	if v.Detail == nil || len(v.Detail.Replaced) == 0 {
		return
	}
	rows := [][]string{{"REPLACED RULE", "POLICY", "FROM", "HOW", "WHY"}}
	for i := range v.Detail.Replaced {
		r := &v.Detail.Replaced[i]
		rows = append(rows, []string{r.Rule, tables.BareName(r.Policy), r.Source, r.How, reason(r.How, r.By)})
	}
	out.WriteString("\n")
	writeRows(out, rows)
}

// replaces names the rules with the same key that a rule in force replaces.
func replaces(e *tables.EffectivePolicy, rule *tables.EffectiveRule) string {
	var lost []string
	for i := range e.Replaced {
		r := &e.Replaced[i]
		if r.Rule == rule.Key && slices.Contains(r.By, rule.Policy) {
			lost = append(lost, fmt.Sprintf("%s at %s (%s)", tables.BareName(r.Policy), r.Source, r.How))
		}
	}
	return strings.Join(lost, ", ")
}

func reason(how string, by []string) string {
	names := elements.Map(by, tables.BareName)
	text, known := reasons[how]
	switch {
	case !known:
		return strings.Join(names, ", ")
	case !strings.Contains(text, "%s"):
		return text
	}
	return fmt.Sprintf(text, strings.Join(names, ", "))
}

// writePolicies writes the conditions of the policies over all paths, highest first.
func writePolicies(out *strings.Builder, g *tables.Gateway, found *effective.Effective) {
	var policies []*tables.GatewayPolicy
	for locator := range found.PolicyConditions {
		if p := effective.Policy(g, locator); p != nil {
			policies = append(policies, p)
		}
	}
	if len(policies) == 0 {
		return
	}
	place := make(map[string]int) // position in the order of paths
	for _, v := range found.Each() {
		for i, locator := range v.Policies {
			place[locator] = max(place[locator], i)
		}
	}
	slices.SortFunc(policies, func(a, b *tables.GatewayPolicy) int {
		x, y := tables.Locator(a.Kind, a.Namespace, a.Name), tables.Locator(b.Kind, b.Namespace, b.Name)
		if a.Level != b.Level {
			return a.Level - b.Level
		}
		if place[x] != place[y] {
			return place[x] - place[y]
		}
		return strings.Compare(x, y)
	})
	out.WriteString("\nPolicies, highest first, and their conditions\n")
	for _, p := range policies {
		fmt.Fprintf(out, "  %s on %s, %s, at %s\n", diag.Line(p.Namespace+"/"+p.Name), diag.Line(p.Target), blocks(p), diag.Line(p.Source))
		for _, c := range p.Conditions {
			if c.Type != "Accepted" || c.Status != "True" {
				fmt.Fprintf(out, "    %s: %s\n", c.Reason, diag.Line(c.Message))
			}
		}
	}
}

// writeConditions writes policies, each with its decisive condition.
func writeConditions(w io.Writer, list []effective.PolicyStatus) error {
	out := &strings.Builder{}
	rows := [][]string{{"POLICY", "TARGET", "CONDITION", "FROM"}}
	for i := range list {
		p := &list[i]
		reasons := elements.Map(p.Conditions, func(c tables.GatewayCondition) string { return c.Reason })
		rows = append(rows, []string{p.Namespace + "/" + p.Name, p.Target, strings.Join(reasons, ", "), p.Source})
	}
	writeRows(out, rows)
	return cli.Print(w, out.String())
}

// blocks lists the blocks of a policy: "merge defaults and atomic overrides".
func blocks(p *tables.GatewayPolicy) string {
	var parts []string
	for _, b := range p.Blocks {
		if b.Block == "bare" {
			parts = append(parts, "bare rules")
			continue
		}
		parts = append(parts, b.Strategy+" "+b.Block)
	}
	if len(p.Unset) > 0 {
		parts = append(parts, "unset")
	}
	return strings.Join(parts, " and ")
}

// writeReplaced writes the replaced rules of all paths.
func writeReplaced(w io.Writer, kind string, list []effective.ReplacedPath) error {
	out := &strings.Builder{}
	if len(list) == 0 {
		fmt.Fprintf(out, "No rule of these %s documents is replaced on any path.\n", kind)
	}
	path := ""
	var rows [][]string
	for _, r := range list {
		if r.Path != path {
			writeRows(out, rows)
			if path != "" {
				out.WriteString("\n")
			}
			path = r.Path
			fmt.Fprintf(out, "On %s\n", diag.Line(path))
			rows = [][]string{{"REPLACED RULE", "POLICY", "FROM", "HOW", "WHY"}}
		}
		rows = append(rows, []string{r.Rule, tables.BareName(r.Policy), r.Place, r.How, reason(r.How, r.By)})
	}
	writeRows(out, rows)
	return cli.Print(w, out.String())
}

// writeReach writes the paths on which a rule is in force.
func writeReach(w io.Writer, reach *effective.Reach) error {
	out := &strings.Builder{}
	if len(reach.Reach) == 0 {
		fmt.Fprintf(out, "%s of %s is not in force on any path.\n", diag.Line(reach.Rule), reach.Kind)
	} else {
		rows := [][]string{{"PATH", "POLICY", "FROM"}}
		for _, r := range reach.Reach {
			rows = append(rows, []string{r.Path, tables.BareName(r.Source), r.Place})
		}
		writeRows(out, rows)
	}
	return cli.Print(w, out.String())
}

// writeRows writes rows in columns. The last column of a row may be empty.
func writeRows(out *strings.Builder, rows [][]string) {
	var text diag.Lines
	text.AddTable(rows)
	for line := range strings.Lines(text.String()) {
		out.WriteString("  " + strings.TrimRight(line, " \n") + "\n")
	}
}
