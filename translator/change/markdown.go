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
	var out diag.Lines
	out.Addf("<!-- writ diff -->")
	if r.Equivalent {
		out.Addf("### %s", r.noDifference())
		out.Addf("")
	} else {
		out.Addf("### Policy changes: %s", r.counts())
		out.Addf("")
		out.Addf("| | who | what | where | why |")
		out.Addf("| --- | --- | --- | --- | --- |")
	}
	classes := r.byID()
	for i := range r.parts[:shown] {
		g := &r.parts[i]
		t := &g.title
		where := strings.TrimPrefix(strings.TrimPrefix(t.where, "in "), "with ")
		out.Addf("| **%s**%s | %s | %s | %s | %s |", g.Change, g.mark(classes), EscapeMarkdown(t.subjects()), EscapeMarkdown(t.what), EscapeMarkdown(where), EscapeMarkdown(causesText(g.Causes)))
	}
	out.Addf("")
	for i := range r.parts[:shown] {
		r.markdownDetails(&out, &r.parts[i], classes)
	}
	if rest := len(r.parts) - shown; rest > 0 {
		out.Addf("and %s more.", diag.Counted(rest, "group"))
		out.Addf("")
	}
	if len(r.Details) > 0 {
		out.Addf("<details><summary>%s without a decision that differs</summary>", diag.Counted(len(r.Details), "difference"))
		out.Addf("")
		for _, d := range r.Details[:min(len(r.Details), statement.Longest)] {
			out.Addf("- %s", EscapeMarkdown(d.line()))
		}
		if rest := len(r.Details) - statement.Longest; rest > 0 {
			out.Addf("- and %d more", rest)
		}
		out.Addf("")
		out.Addf("</details>")
		out.Addf("")
	}
	for _, note := range r.Notes {
		out.Addf("Note: %s", EscapeMarkdown(note))
		out.Addf("")
	}
	for _, line := range strings.Split(strings.TrimSpace(r.Claim()), "\n") {
		out.Addf("%s", EscapeMarkdown(line))
	}
	return out.String()
}

// markdownDetails writes the witnesses and the lines of a group.
func (r *Report) markdownDetails(out *diag.Lines, g *Group, classes map[string]*Class) {
	out.Addf("<details><summary>%s</summary>", elementEscapes.Replace(g.title.sentence(g.Change)))
	out.Addf("")
	for _, text := range r.remarks(g, classes) {
		out.Addf("%s", EscapeMarkdown(text))
		out.Addf("")
	}
	found := g.transitions(classes)
	for _, t := range found[:min(len(found), statement.Longest)] {
		out.Addf("%s to %s, for example:", t.From, t.To)
		out.Addf("")
		for _, line := range []string{"```json", string(statement.Encode(t.Witness.Request)), "```", ""} {
			out.Addf("%s", line)
		}
	}
	lines := r.lines(g, classes)
	for _, line := range lines[:min(len(lines), maxLines)] {
		out.Addf("- %s", line)
	}
	if rest := len(lines) - maxLines; rest > 0 {
		out.Addf("- and %s more", diag.Counted(rest, "line"))
	}
	out.Addf("")
	out.Addf("</details>")
	out.Addf("")
}

// maxLines is how many lines of documents a group shows.
const maxLines = 10

// lines returns the lines of both revisions that are responsible for a group.
func (r *Report) lines(g *Group, classes map[string]*Class) []string {
	var out []string
	for _, id := range g.Classes {
		for _, s := range slices.Concat(classes[id].All...) {
			for _, d := range r.Statements[s].Documents {
				places := "`" + strings.ReplaceAll(d.Place(), "`", "") + "`"
				if d.Place() != d.Source {
					places += ", `" + strings.ReplaceAll(d.Source, "`", "") + "`"
				}
				out = append(out, fmt.Sprintf("%s: %s rule %d, %s", strings.ToUpper(d.In), EscapeMarkdown(statement.DocumentName(d)), d.Rule, places))
			}
		}
	}
	return tables.Once(out)
}

// EscapeMarkdown keeps a text from being read as Markdown or HTML.
func EscapeMarkdown(text string) string { return escapes.Replace(diag.Line(text)) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "|", `\|`, "~", `\~`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`,
	"@", mention, "#", `\#`)

// elementEscapes are those of a text in an element, where Markdown is not read.
var elementEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", mention)

// mention is an @ before an invisible character: it does not name an account.
const mention = "@&#8203;"
