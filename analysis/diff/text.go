package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/risk"
	"github.com/writ-policy/writ/translator/tables"
)

// FailOnAssertion counts the assertions of B that fail the run.
const FailOnAssertion = "assertion"

// Fails reports whether the report has changes that count: gain, loss, any, none or assertion. A
// class that was accepted until an earlier time counts whatever its changes are.
func (r *Report) Fails(on string) bool {
	if on == FailOnAssertion {
		return r.asserted != nil && r.asserted.Failed > 0
	}
	if r.pathsFail(on) {
		return true
	}
	for i := range r.Classes {
		k := &r.Classes[i]
		if k.Expired && on != "none" || !k.Accepted && slices.ContainsFunc(k.Changes, func(c string) bool { return Counts(on, c) }) {
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

// Text returns the report for people, with at most limit groups. Lists of a group are cut,
// and counted, unless they are wanted in full.
func (r *Report) Text(limit int, full bool) string {
	var out diag.Lines
	r.writeAssertions(&out)
	r.writeReach(&out, limit)
	if r.Equivalent {
		out.Addf("%s.", r.noDifference())
	}
	classes := r.byID()
	for i, g := range r.parts {
		if i == limit {
			out.Addf("and %s more; --limit %d shows all", diag.Counted(len(r.parts)-limit, "group"), len(r.parts))
			break
		}
		r.writeGroup(&out, &g, classes, lists{full, "--details lists them"})
	}
	if !r.Equivalent {
		out.Addf("%s. %s against %d.", r.counts(), diag.Counted(r.A.Documents, "document"), r.B.Documents)
	}
	for _, d := range r.Details {
		out.Addf("detail: %s", d.line())
	}
	for _, note := range r.Notes {
		out.Addf("note: %s", note)
	}
	for line := range strings.Lines(r.Claim()) {
		out.Addf("%s", strings.TrimSuffix(line, "\n"))
	}
	return out.String()
}

// Brief returns the outcome of the report, as Fails has it, in at most so many bytes: its counts, and a
// line for each group from the most dangerous one on. Groups that have no room are counted.
func (r *Report) Brief(on string, most int) string {
	head := "writ: nothing that counts changes: "
	if r.Fails(on) {
		head = "writ: changes that count (--fail-on " + on + "): "
	}
	head += cmp.Or(r.counts(), r.noDifference()) + ". " + diag.Line("Compared with "+r.A.Source+", revision "+r.A.Revision) + ".\n"
	classes := r.byID()
	lines := elements.Map(r.shown(), func(p *ReachChange) string { return diag.Line(p.Change+": "+p.line()) + "\n" })
	for i := range r.parts {
		g := &r.parts[i]
		lines = append(lines, diag.Line(fmt.Sprintf("%s: %s%s (%s)", g.Change, g.Summary, g.expected(classes), strings.Join(inJSON.list(g.documents()), ", ")))+"\n")
	}
	for _, note := range r.Notes {
		lines = append(lines, diag.Line("note: "+note)+"\n")
	}
	return Cut(head, lines, most)
}

// Cut returns a text with the lines that have room in so many bytes; others are counted.
func Cut(head string, lines []string, most int) string {
	if len(head) > most {
		return strings.ToValidUTF8(head[:most], "")
	}
	const longestRest = len("and 1000000000 more lines\n")
	var out strings.Builder
	out.WriteString(head)
	for i, line := range lines {
		room := most - out.Len()
		if i < len(lines)-1 {
			room -= longestRest
		}
		if len(line) > room {
			if rest := fmt.Sprintf("and %s more\n", diag.Counted(len(lines)-i, "line")); out.Len()+len(rest) <= most {
				out.WriteString(rest)
			}
			break
		}
		out.WriteString(line)
	}
	return out.String()
}

// noDifference states that no class was found, and until when that holds if boundaries are
// left that were not compared.
func (r *Report) noDifference() string {
	if r.Coverage.Until == nil {
		return "No request is decided differently"
	}
	return "No request is decided differently until " + r.Coverage.Until.Format(time.RFC3339)
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

func (r *Report) writeGroup(out *diag.Lines, g *Group, classes map[string]*Class, l lists) {
	found := g.transitions(classes)
	sign := map[string]string{changeGain: "+", changeRelax: "+", changeLoss: "-", changeTighten: "-"}[g.Change]
	if sign == "" || len(found) == 0 {
		sign = "~"
	}
	out.Addf("%s %s%s    %s", sign, g.Summary, g.expected(classes), strings.Join(l.list(g.documents()), ", "))
	for _, text := range r.remarks(g, classes, l) {
		out.Addf("    %s", text)
	}
	requests := elements.Map(found, func(t *Transition) string { return string(statement.Encode(t.Witness.Request)) })
	for _, text := range l.list(requests) {
		out.Addf("    %s", text)
	}
}

// lists is how the lists of a group are shown: in full, or cut with what shows the rest.
type lists struct {
	full bool
	rest string
}

// list returns what is shown of a list.
func (l lists) list(list []string) []string {
	if l.full || len(list) <= statement.Longest {
		return list
	}
	return append(slices.Clone(list[:statement.Longest]), fmt.Sprintf("and %d more, %s", len(list)-statement.Longest, l.rest))
}

// transitions returns those of the classes of a group that go through its change, of exact
// classes first, of the most dangerous one of them.
func (g *Group) transitions(classes map[string]*Class) []*Transition {
	var out []*Transition
	ids := slices.Clone(g.Classes)
	slices.SortStableFunc(ids, func(a, b string) int {
		return cmp.Or(len(classes[a].Why)-len(classes[b].Why), classes[b].danger-classes[a].danger)
	})
	for _, id := range ids {
		for i := range classes[id].Transitions {
			if t := &classes[id].Transitions[i]; t.Change == g.Change {
				out = append(out, t)
			}
		}
	}
	return out
}

// expected states which classes of a group are, and why.
func (g *Group) expected(classes map[string]*Class) string {
	n := 0
	var reasons []string
	for _, id := range g.Classes {
		if k := classes[id]; k.Accepted {
			n++
			if k.Reason != "" {
				reasons = append(reasons, k.Reason)
			}
		}
	}
	text := "expected"
	switch n {
	case 0:
		return ""
	case len(g.Classes):
	default:
		text = fmt.Sprintf("%d of %d expected", n, len(g.Classes))
	}
	if reasons = tables.Once(reasons); len(reasons) > 0 {
		text += ": " + strings.Join(reasons, "; ")
	}
	return " (" + text + ")"
}

// remarks returns what a group leaves out, whom it concerns and what it is about if its
// sentence counts them, the pods, and changes that may happen too.
func (r *Report) remarks(g *Group, classes map[string]*Class, l lists) []string {
	out := elements.Map(l.list(r.exceptions(g, classes, l)), func(text string) string { return "except " + text })
	who := g.title.who
	if strings.HasPrefix(g.title.subjects(), everybody) {
		who = concerned(g, classes)
	} else if len(who) <= fewSubjects {
		who = nil
	}
	if len(who) > 0 {
		out = append(out, diag.Counted(len(who), "subject")+": "+strings.Join(l.list(who), ", "))
	}
	if l.full && !strings.HasSuffix(g.Summary, strings.Join(g.title.all, "; ")) {
		for _, text := range g.title.all {
			out = append(out, "requests: "+text)
		}
	}
	out = append(out, l.list(podTexts(g, classes))...)
	var more []string
	for _, id := range g.Classes {
		k := classes[id]
		isFound := func(change string) bool { return slices.Contains(k.found(), change) }
		more = append(more, slices.DeleteFunc(slices.Clone(k.Changes), isFound)...)
	}
	if len(more) > 0 {
		out = append(out, "possible too: "+strings.Join(sortedChanges(more), ", "))
	}
	return out
}

// concerned returns the principals that go through the change of a group alone.
func concerned(g *Group, classes map[string]*Class) []string {
	var list []string
	for _, t := range g.transitions(classes) {
		list = append(list, t.Affected.Principals...)
	}
	list = tables.Entries(list)
	for i := range list {
		list[i] = risk.Subject(list[i])
	}
	return list
}

// podTexts states the smallest pods that go through the change of a group.
func podTexts(g *Group, classes map[string]*Class) []string {
	var out []string
	for _, id := range g.Classes {
		for _, p := range classes[id].Pods {
			if changeOf(classes[id].Point, p.From, p.To) != g.Change {
				continue
			}
			var factors []string
			for _, name := range slices.Sorted(maps.Keys(p.Factors)) {
				if factors = append(factors, name); p.Factors[name] > 1 {
					factors[len(factors)-1] = fmt.Sprintf("%d × %s", p.Factors[name], name)
				}
			}
			score := fmt.Sprintf("score %d", p.Score["b"])
			if p.Score["a"] != p.Score["b"] {
				score += fmt.Sprintf(", %d before", p.Score["a"])
			}
			out = append(out, fmt.Sprintf("a pod with %s (%s)", cmp.Or(strings.Join(factors, ", "), "no risk factor"), score))
		}
	}
	return tables.Once(out)
}

// documents names the documents that a group comes from.
func (g *Group) documents() []string {
	var out []string
	for _, c := range g.Causes {
		out = append(out, c.Document()+" ("+strings.TrimPrefix(c.Source+", "+c.What, ", ")+")")
	}
	return out
}

// exceptions states the statements that classes of a group leave out.
func (r *Report) exceptions(g *Group, classes map[string]*Class, l lists) []string {
	var out []string
	for _, id := range g.Classes {
		for _, except := range classes[id].Except {
			out = append(out, exceptionText(&r.Statements[except], l))
		}
	}
	return tables.Once(out)
}

// exceptionText states what a class leaves out: what another statement decides, or decided in
// A alone.
func exceptionText(s *statement.JSON, l lists) string {
	wasBefore := slices.Equal(s.In, []string{"a"})
	verbs := map[bool]string{false: "allows", true: "allowed before"}
	if s.Effect == statement.OutcomeDeny {
		verbs = map[bool]string{false: "denies", true: "denied before"}
	}
	most := statement.Longest
	if l.full {
		most = statement.All
	}
	what := strings.TrimSpace(s.Phrase(most) + " " + connected(s.Place(most)))
	return fmt.Sprintf("what %s %s: %s (%s)", statement.DocumentName(s.Documents[0]), verbs[wasBefore], what, s.Documents[0].Place())
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
	text := fmt.Sprintf("Compared: every request at %s, %s, by outcome.", inWords(r.Coverage.Points), who)
	n, until := len(r.Coverage.At), r.Coverage.Until
	if n > 1 {
		text += fmt.Sprintf(" At %d times, the last one %s", n, r.Coverage.At[n-1].Format(time.RFC3339))
		if until == nil {
			text += "; holds from then on"
		}
		text += "."
	}
	if until != nil {
		text += fmt.Sprintf(" Holds until %s, when %s.", until.Format(time.RFC3339), r.Coverage.holds)
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
			parts = append(parts, fmt.Sprintf("%s (%s)", whyText(i.Why), how))
		}
		text += "  Not exact (may list too much, never too little): " + strings.Join(parts, ", ") + "."
	}
	return text + "\n"
}

// inWords joins words as a sentence does.
func inWords(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// whyText returns the reason of an inexact class in words.
func whyText(why string) string {
	if statement.IsExtension(why) {
		return strings.Replace(why, ":", " ", 1)
	}
	return cmp.Or(map[string]string{statement.WhyPod: "pods", statement.WhyCEL: "CEL expressions", statement.WhyCustomType: "custom types",
		statement.WhyPattern: "patterns", statement.WhyGateway: "conditions of gateways"}[why], why)
}
