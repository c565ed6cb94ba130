package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/writ-policy/writ/analysis/diff"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/diag"
)

const unusedTitle = "Unused in these events. A log proves use, and never that something is useless."

// head returns what was replayed, a sentence each.
func (r *Report) head() []string {
	text := fmt.Sprintf("%s, %d replayed", diag.Counted(r.Events, "event"), r.Replayed)
	if r.Window.First != nil {
		text += fmt.Sprintf(", %s to %s", r.Window.First.Format(time.RFC3339), r.Window.Last.Format(time.RFC3339))
	}
	out := []string{text + "."}
	for _, list := range []struct {
		name   string
		counts map[string]int
	}{{"Skipped", r.Skipped}, {"Uncertain, because the log lacks a fact", r.Uncertain}} {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(list.counts)) {
			parts = append(parts, fmt.Sprintf("%s %d", name, list.counts[name]))
		}
		if len(parts) > 0 {
			out = append(out, fmt.Sprintf("%s: %s.", list.name, strings.Join(parts, ", ")))
		}
	}
	if len(r.Malformed) > 0 {
		out = append(out, fmt.Sprintf("Malformed: %s.", strings.Join(r.Malformed, ", ")))
	}
	if r.Fidelity.Differ > 0 {
		out = append(out, fmt.Sprintf("%d of %d recorded outcomes are not those of the revision compared with.", r.Fidelity.Differ, r.Fidelity.Agree+r.Fidelity.Differ))
	}
	return out
}

// Text returns the report for people.
func (r *Report) Text() string {
	var out diag.Lines
	for _, line := range r.head() {
		out.Addf("%s", line)
	}
	for i := range r.Changed {
		r.Changed[i].write(&out)
	}
	out.Addf("%d unchanged, %s of changes.", r.Unchanged, diag.Counted(len(r.Changed), "group"))
	if r.Unused != nil {
		out.Addf(unusedTitle)
		for _, line := range r.Unused.lines() {
			out.Addf("  %s", line)
		}
	}
	return out.String()
}

func (c *Change) write(out *diag.Lines) {
	sign := "~"
	switch {
	case diff.Counts("gain", c.Change):
		sign = "+"
	case diff.Counts("loss", c.Change):
		sign = "-"
	}
	who := ""
	if c.Subjects.Total > 0 {
		who = " (" + c.Subjects.text() + ")"
	}
	out.Addf("%s %d × %s: %s to %s%s", sign, c.Count, strings.TrimSpace(c.what()+" "+c.where()), c.From, c.To, who)
	if c.B.Reason != "" {
		out.Addf("    %s", c.B.Reason)
	}
	for _, d := range c.Documents {
		out.Addf("    %s", d.line())
	}
}

// text lists the first subjects and states how many more there are.
func (s *Subjects) text() string {
	shown := s.Principals[:min(len(s.Principals), statement.Longest)]
	text := strings.Join(shown, ", ")
	if more := s.Total - len(shown); more > 0 {
		if s.More {
			text += fmt.Sprintf(" and at least %d more, -o json lists %d", more+1, s.Total)
		} else {
			text += fmt.Sprintf(" and %d more, -o json lists them", more)
		}
	}
	return text
}

// what returns what was asked for; a resource as who-can takes it, RESOURCE.GROUP/SUB.
func (c *Change) what() string {
	switch {
	case c.Point == statement.PointVisibility:
		return "see " + cmp.Or(c.Type, "the cluster")
	case c.Target != "":
		return "requests to " + c.Target
	case c.Point == statement.PointGateway:
		return "requests without a route"
	}
	resource, sub, hasSub := strings.Cut(c.Resource, "/")
	if c.APIGroup != "" {
		resource += "." + c.APIGroup
	}
	if hasSub {
		resource += "/" + sub
	}
	return c.Verb + " " + resource + c.Path
}

func (c *Change) where() string {
	switch {
	case c.Namespace != "":
		return "in " + c.Namespace
	case c.Cluster != "":
		return "on " + c.Cluster
	}
	return ""
}

func (d *Document) line() string {
	return strings.ToUpper(d.In) + ": " + ruleName(d.Kind, d.Namespace, d.Name, d.Rule, cmp.Or(d.Binding.Source, d.Source))
}

// Markdown returns the report as a comment of a pull request. Groups and lines above 60,000
// bytes are left out and counted.
func (r *Report) Markdown() string {
	escape := diff.EscapeMarkdown
	var out diag.Lines
	out.Addf("<!-- writ replay -->")
	out.Addf("### Recorded requests decided differently: %s", diag.Counted(len(r.Changed), "group"))
	out.Addf("")
	for _, line := range r.head() {
		out.Addf("%s", escape(line))
	}
	rows := make([]string, 0, len(r.Changed))
	for i := range r.Changed {
		c := &r.Changed[i]
		why := make([]string, 0, len(c.Documents))
		for _, d := range c.Documents {
			why = append(why, d.line())
		}
		rows = append(rows, fmt.Sprintf("| **%s** | %d | %s | %s | %s | %s |", c.Change, c.Count, escape(c.Subjects.text()),
			escape(c.what()), escape(c.where()), escape(strings.Join(why, ", "))))
	}
	if len(rows) > 0 {
		out.Addf("")
		out.Addf("| | events | who | what | where | why |")
		out.Addf("| --- | --- | --- | --- | --- | --- |")
		writeWithin(&out, rows)
	}
	if r.Unused != nil {
		out.Addf("")
		out.Addf("<details><summary>%s</summary>", unusedTitle)
		out.Addf("")
		lines := r.Unused.lines()
		for i := range lines {
			lines[i] = "- " + escape(lines[i])
		}
		writeWithin(&out, lines)
		out.Addf("")
		out.Addf("</details>")
	}
	return out.String()
}

// writeWithin writes lines as long as the whole has less than 60,000 bytes, and how many
// are left out.
func writeWithin(out *diag.Lines, lines []string) {
	const most = 59000
	for i, line := range lines {
		if out.Len()+len(line) > most {
			out.Addf("")
			out.Addf("and %d more, -o json lists them", len(lines)-i)
			return
		}
		out.Addf("%s", line)
	}
}
