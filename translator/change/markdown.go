package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// maxMarkdown bounds the report as a comment of a pull request.
const maxMarkdown = 60000

// Markdown returns the report as a comment of a pull request, with at most limit groups
// and 60,000 bytes; groups that are left out are counted.
func (r *Report) Markdown(limit int) string {
	for shown := min(limit, len(r.parts)); ; shown-- {
		if text := r.markdown(shown); len(text) <= maxMarkdown || shown <= 0 {
			return text
		}
	}
}

func (r *Report) markdown(shown int) string {
	var out strings.Builder
	out.WriteString("<!-- writ diff -->\n")
	if r.Equivalent {
		out.WriteString("### No request is decided differently\n\n")
	} else {
		fmt.Fprintf(&out, "### Policy changes: %s\n\n", r.counts())
		out.WriteString("| | who | what | where | why |\n| --- | --- | --- | --- | --- |\n")
	}
	classes := r.byID()
	for i := range r.parts[:shown] {
		g := &r.parts[i]
		t := &g.title
		where := strings.TrimPrefix(strings.TrimPrefix(t.where, "in "), "with ")
		fmt.Fprintf(&out, "| **%s**%s | %s | %s | %s | %s |\n", g.Change, g.mark(classes), EscapeMarkdown(t.subjects()), EscapeMarkdown(t.what), EscapeMarkdown(where), EscapeMarkdown(causesText(g.Causes)))
	}
	out.WriteByte('\n')
	for i := range r.parts[:shown] {
		r.markdownDetails(&out, &r.parts[i], classes)
	}
	if rest := len(r.parts) - shown; rest > 0 {
		fmt.Fprintf(&out, "and %s more.\n\n", diag.Counted(rest, "group"))
	}
	if len(r.Details) > 0 {
		fmt.Fprintf(&out, "<details><summary>%s without a decision that differs</summary>\n\n", diag.Counted(len(r.Details), "difference"))
		for _, d := range r.Details[:min(len(r.Details), statement.Longest)] {
			fmt.Fprintf(&out, "- %s\n", EscapeMarkdown(d.line()))
		}
		if rest := len(r.Details) - statement.Longest; rest > 0 {
			fmt.Fprintf(&out, "- and %d more\n", rest)
		}
		out.WriteString("\n</details>\n\n")
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "Note: %s\n\n", EscapeMarkdown(note))
	}
	for _, line := range strings.Split(strings.TrimSpace(r.Claim()), "\n") {
		fmt.Fprintf(&out, "%s\n", EscapeMarkdown(line))
	}
	return out.String()
}

// markdownDetails writes the witnesses and the lines of a group.
func (r *Report) markdownDetails(out *strings.Builder, g *Group, classes map[string]*Class) {
	fmt.Fprintf(out, "<details><summary>%s</summary>\n\n", elementEscapes.Replace(g.title.sentence(g.Change)))
	for _, text := range r.remarks(g, classes) {
		fmt.Fprintf(out, "%s\n\n", EscapeMarkdown(text))
	}
	found := g.transitions(classes)
	for _, t := range found[:min(len(found), statement.Longest)] {
		fmt.Fprintf(out, "%s to %s, for example:\n\n```json\n%s\n```\n\n", t.From, t.To, statement.Encode(t.Witness.Request))
	}
	lines := r.lines(g, classes)
	for _, line := range lines[:min(len(lines), maxLines)] {
		fmt.Fprintf(out, "- %s\n", line)
	}
	if rest := len(lines) - maxLines; rest > 0 {
		fmt.Fprintf(out, "- and %s more\n", diag.Counted(rest, "line"))
	}
	out.WriteString("\n</details>\n\n")
}

// maxLines is how many lines of documents a group shows.
const maxLines = 10

// lines returns the lines of both revisions that are responsible for a group.
func (r *Report) lines(g *Group, classes map[string]*Class) []string {
	var out []string
	for _, id := range g.Classes {
		for _, s := range slices.Concat(classes[id].All...) {
			for _, d := range r.Statements[s].Documents {
				out = append(out, fmt.Sprintf("%s: %s rule %d, `%s`", strings.ToUpper(d.In), EscapeMarkdown(statement.DocumentName(d)), d.Rule, strings.ReplaceAll(d.Source, "`", "")))
			}
		}
	}
	return tables.Once(out)
}

// EscapeMarkdown keeps a text from being read as Markdown or HTML.
func EscapeMarkdown(text string) string { return escapes.Replace(text) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "|", `\|`, "~", `\~`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`,
	"@", "@\u200b", "#", `\#`, "\r", " ", "\n", " ")

// elementEscapes are those of a text in an element, where Markdown is not read.
var elementEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b", "\r", " ", "\n", " ")
