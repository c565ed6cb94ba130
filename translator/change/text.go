package change

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/diag"
)

// Fails reports whether the report has changes that count: gain, loss, any or none.
func (r *Report) Fails(on string) bool {
	for i := range r.Classes {
		if k := &r.Classes[i]; !k.Accepted && slices.ContainsFunc(k.Changes, func(c string) bool { return Counts(on, c) }) {
			return true
		}
	}
	return false
}

// Requests returns the requests of all witnesses.
func (r *Report) Requests() []map[string]any {
	var out []map[string]any
	for i := range r.Classes {
		for _, t := range r.Classes[i].Transitions {
			out = append(out, t.Witness.Request)
		}
	}
	return out
}

// Text returns the report for people, with at most limit groups.
func (r *Report) Text(limit int) string {
	var out strings.Builder
	if r.Equivalent {
		out.WriteString("No request is decided differently.\n")
	}
	classes := r.byID()
	for i, g := range r.Groups {
		if i == limit {
			fmt.Fprintf(&out, "and %s more\n", diag.Counted(len(r.Groups)-limit, "group"))
			break
		}
		r.writeGroup(&out, &g, classes)
	}
	if !r.Equivalent {
		fmt.Fprintf(&out, "%s. %s against %d.\n", r.counts(), diag.Counted(r.A.Documents, "document"), r.B.Documents)
	}
	for _, d := range r.Details {
		fmt.Fprintf(&out, "detail: %s\n", d.line())
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "note: %s\n", note)
	}
	out.WriteString(r.Claim())
	return out.String()
}

func (d *Detail) line() string {
	text := fmt.Sprintf("%s of %s: %s", d.Kind, d.What, d.Text)
	if d.Source != "" {
		text += fmt.Sprintf(" (%s: %s)", d.In, d.Source)
	}
	return text
}

func (r *Report) byID() map[string]*Class {
	out := make(map[string]*Class, len(r.Classes))
	for i := range r.Classes {
		out[r.Classes[i].ID] = &r.Classes[i]
	}
	return out
}

// counts returns the number of classes of each change.
func (r *Report) counts() string {
	var parts []string
	for _, change := range append(slices.Clone(changeKinds), "accepted") {
		if n := r.Summary[change]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, change))
		}
	}
	return strings.Join(parts, ", ")
}

// may returns what a title says about a change.
func may(change string) string {
	switch change {
	case changeGain:
		return "may"
	case changeRelax:
		return "are no longer denied"
	case changeLoss, changeTighten:
		return "may no longer"
	}
	return "are denied in another way"
}

func (r *Report) writeGroup(out *strings.Builder, g *Group, classes map[string]*Class) {
	sign := map[string]string{changeGain: "+", changeRelax: "+", changeLoss: "-", changeTighten: "-"}[g.Change]
	first := classes[g.Classes[0]]
	if sign == "" || !first.Exact && len(first.Transitions) == 0 {
		sign = "~"
	}
	mark := ""
	if first.Accepted {
		mark = " (expected)"
	}
	fmt.Fprintf(out, "%s %s%s    %s\n", sign, r.sentence(g), mark, causesText(g.Causes))
	if first.At != nil && first.At.After(r.Now) {
		fmt.Fprintf(out, "    from %s\n", first.At.Format(time.RFC3339Nano))
	}
	for _, text := range r.exceptions(g, classes) {
		fmt.Fprintf(out, "    except %s\n", text)
	}
	for _, id := range g.Classes[:min(len(g.Classes), statement.Longest)] {
		for _, t := range classes[id].Transitions {
			fmt.Fprintf(out, "    %s\n", statement.Encode(t.Witness.Request))
		}
	}
}

// sentence is the title of a group with what changes.
func (r *Report) sentence(g *Group) string {
	who, what, ok := strings.Cut(g.Title, ": ")
	if !ok {
		return g.Title + " are decided differently"
	}
	return who + " " + may(g.Change) + ": " + what
}

func causesText(causes []Cause) string {
	var out []string
	for _, c := range causes {
		out = append(out, fmt.Sprintf("%s (%s, %s)", statement.DocumentName(statement.Document{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}), c.Source, c.What))
	}
	return strings.Join(statement.Shorten(out), ", ")
}

// exceptions states the deny policies and other statements that classes leave out.
func (r *Report) exceptions(g *Group, classes map[string]*Class) []string {
	var out []string
	for _, id := range g.Classes {
		for _, except := range classes[id].Except {
			s := &r.Statements[except]
			text := fmt.Sprintf("what %s states (%s)", statement.DocumentName(s.Documents[0]), s.Documents[0].Source)
			if s.Family == statement.FamilyDeny {
				text = "where " + s.Denial()
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return statement.Shorten(out)
}

// Claim states in words what was compared, and what was not.
func (r *Report) Claim() string {
	who := "by any subject"
	if r.Coverage.Subjects != "all" {
		who = "by " + r.Coverage.Subjects
	}
	if r.Coverage.Namespaces != "all" {
		who += " in namespace " + r.Coverage.Namespaces
	}
	text := fmt.Sprintf("Compared: every request at %s, %s, by outcome.", strings.Join(r.Coverage.Points, " and "), who)
	if n := len(r.Coverage.At); n > 1 {
		text += fmt.Sprintf(" At %d times, the last one %s; holds from then on.", n, r.Coverage.At[n-1].Format(time.RFC3339))
	} else if r.Coverage.Until != nil {
		text += fmt.Sprintf(" Holds until %s, when %s.", r.Until.Format("2006-01-02T15:04:05Z07:00"), r.Coverage.holds)
	}
	text += "\nNot compared: reasons, warnings, rate limits, aggregated values."
	if len(r.Coverage.Inexact) > 0 {
		var parts []string
		for _, i := range r.Coverage.Inexact {
			n := 0
			for j := range r.Classes {
				if slices.Contains(r.Classes[j].Why, i.Why) {
					n++
				}
			}
			how := diag.Counted(n, "class")
			if n == 0 {
				how = "it reads the time"
			}
			parts = append(parts, fmt.Sprintf("%s (%s)", i.Why, how))
		}
		text += "  Not exact (may list too much, never too little): " + strings.Join(parts, ", ") + "."
	}
	return text + "\n"
}
