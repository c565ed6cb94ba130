package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/writ-policy/writ/translator/effective"
	"github.com/writ-policy/writ/translator/lower"
)

// effectiveTable writes answers for people to read. The first error of writing is
// kept.
type effectiveTable struct {
	out io.Writer
	err error
}

func (t *effectiveTable) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format+"\n", args...)
	}
}

// columns writes rows under a head, each column as wide as it needs to be.
func (t *effectiveTable) columns(head string, rows [][]string) {
	if t.err != nil {
		return
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, head)
	for _, row := range rows {
		fmt.Fprintln(w, "  "+strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	t.err = w.Flush()
}

func (t *effectiveTable) policy(p *effective.Policy) {
	variants := p.Variants
	if p.Variant != nil {
		variants = []*effective.Variant{p.Variant}
	}
	t.line("%s on %s", p.Kind, p.Target)
	for _, c := range p.Conditions {
		t.line("%s", c.Message)
	}
	for i, v := range variants {
		t.line("")
		if len(variants) > 1 {
			t.line("Variant %d of %d", i+1, len(variants))
		}
		t.variant(v)
	}
	if p.Untargeted != nil {
		t.line("")
		t.list("Route rules beneath it that no policy targets, where this is in force", p.Untargeted)
	}
	t.line("")
	t.conditions(p.PolicyConditions)
}

func (t *effectiveTable) variant(v *effective.Variant) {
	t.list("Paths", v.Paths)
	t.list("Policies, the highest first", v.Policies)
	if len(v.Rules) == 0 {
		t.line("No rule is in force.")
	} else {
		var rows [][]string
		for _, key := range slices.Sorted(maps.Keys(v.Rules)) {
			rows = append(rows, []string{key, "from " + v.Sources[key], v.Places[key], replacedBy(v, key)})
		}
		t.columns("In force", rows)
	}
	if len(v.Replaced) == 0 {
		return
	}
	var rows [][]string
	for _, r := range v.Replaced {
		rows = append(rows, []string{r.Rule, "of " + r.Policy, r.Place, why(r)})
	}
	t.columns("Lost", rows)
}

// replacedBy says what a rule in force took the place of.
func replacedBy(v *effective.Variant, key string) string {
	var took []string
	for _, r := range v.Replaced {
		if r.Rule == key && slices.Contains(r.By, v.Sources[key]) && r.Policy != v.Sources[key] && !slices.Contains(took, r.Policy) {
			took = append(took, r.Policy)
		}
	}
	if len(took) == 0 {
		return ""
	}
	return "in place of that of " + strings.Join(took, ", ")
}

// why says in words how a rule lost.
func why(r effective.Replacement) string {
	by := strings.Join(r.By, ", ")
	switch r.How {
	case "condition":
		return "condition: that of its block does not hold here"
	case "unset":
		return "unset: by " + by
	case "atomic-default":
		return "atomic-default: " + by + " had rules already"
	case "default":
		return "default: " + by + " has a rule of this name"
	case "atomic-override":
		return "atomic-override: " + by + " replaces all that is below"
	}
	return r.How + ": by " + by
}

func (t *effectiveTable) list(head string, items []string) {
	if len(items) == 0 {
		t.line("%s: none", head)
		return
	}
	t.line("%s", head)
	for _, item := range items {
		t.line("  %s", item)
	}
}

func (t *effectiveTable) conditions(all map[string][]lower.GatewayCondition) {
	var rows [][]string
	for _, locator := range slices.Sorted(maps.Keys(all)) {
		for _, c := range all[locator] {
			rows = append(rows, []string{locator, c.Type + "=" + c.Status, c.Reason, c.Message})
		}
	}
	if len(rows) > 0 {
		t.columns("Conditions of policies, over all their paths", rows)
	}
}

func (t *effectiveTable) lost(list []effective.Lost) {
	if len(list) == 0 {
		t.line("No rule lost.")
		return
	}
	path := ""
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			t.columns(path, rows)
		}
		rows = nil
	}
	for _, l := range list {
		if l.Path != path {
			flush()
			path = l.Path
		}
		rows = append(rows, []string{l.Rule, "of " + l.Policy, l.Place, why(l.Replacement)})
	}
	flush()
}

func (t *effectiveTable) reach(answer *effective.InForce) {
	if len(answer.Reach) == 0 {
		t.line("%s %s is in force nowhere.", answer.Kind, answer.Rule)
		return
	}
	var rows [][]string
	for _, r := range answer.Reach {
		rows = append(rows, []string{r.Path, "from " + r.Source, r.Place})
	}
	t.columns(fmt.Sprintf("%s %s is in force on", answer.Kind, answer.Rule), rows)
}
