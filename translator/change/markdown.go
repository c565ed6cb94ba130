package change

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/diag"
)

// maxMarkdown bounds the report as a comment of a pull request.
const maxMarkdown = 60000

// Markdown returns the report as a comment of a pull request, with at most limit groups
// and 60,000 bytes; groups that are left out are counted.
func (r *Report) Markdown(limit int) string {
	for shown := min(limit, len(r.Groups)); ; shown-- {
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
	for i := range r.Groups[:shown] {
		g := &r.Groups[i]
		who, what, ok := strings.Cut(g.Title, ": ")
		if !ok {
			who, what = "", g.Title
		}
		what, where, isPlaced := strings.Cut(what, " in ")
		if !isPlaced {
			what, where, _ = strings.Cut(what, " with ")
		}
		mark := ""
		if classes[g.Classes[0]].Accepted {
			mark = " (expected)"
		}
		fmt.Fprintf(&out, "| **%s**%s | %s | %s | %s | %s |\n", g.Change, mark, EscapeMarkdown(who), EscapeMarkdown(what), EscapeMarkdown(where), EscapeMarkdown(causesText(g.Causes)))
	}
	out.WriteByte('\n')
	for i := range r.Groups[:shown] {
		r.markdownDetails(&out, &r.Groups[i], classes)
	}
	if rest := len(r.Groups) - shown; rest > 0 {
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
	fmt.Fprintf(out, "<details><summary>%s</summary>\n\n", elementEscapes.Replace(r.sentence(g)))
	for _, text := range r.exceptions(g, classes) {
		fmt.Fprintf(out, "except %s\n\n", EscapeMarkdown(text))
	}
	for _, id := range g.Classes[:min(len(g.Classes), statement.Longest)] {
		for _, t := range classes[id].Transitions {
			fmt.Fprintf(out, "%s to %s, for example:\n\n```json\n%s\n```\n\n", t.From, t.To, statement.Encode(t.Witness.Request))
		}
		for _, list := range classes[id].All {
			for _, s := range list {
				for _, d := range cutDocuments(r.Statements[s].Documents) {
					fmt.Fprintf(out, "- %s: %s rule %d, `%s`\n", strings.ToUpper(d.In), EscapeMarkdown(statement.DocumentName(d)), d.Rule, strings.ReplaceAll(d.Source, "`", ""))
				}
			}
		}
		out.WriteByte('\n') // the next witness is not part of the list
	}
	out.WriteString("</details>\n\n")
}

func cutDocuments(list []statement.Document) []statement.Document {
	return list[:min(len(list), statement.Longest)]
}

// EscapeMarkdown keeps a text from being read as Markdown or HTML.
func EscapeMarkdown(text string) string { return escapes.Replace(text) }

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`,
	"@", "@\u200b", "#", `\#`, "\r", " ", "\n", " ")

// elementEscapes are those of a text in an element, where Markdown is not read.
var elementEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b", "\r", " ", "\n", " ")

// splitSource splits FILE:LINE.
func splitSource(source string) (file string, line int) {
	at := strings.LastIndexByte(source, ':')
	if at < 0 {
		return source, 0
	}
	n, err := strconv.Atoi(source[at+1:])
	if err != nil {
		return source, 0
	}
	return source[:at], n
}
