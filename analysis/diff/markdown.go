package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// maxMarkdown bounds the report as a comment of a pull request.
const maxMarkdown = 60000

// Markdown returns the report as a comment of a pull request, with at most limit groups
// and 60,000 bytes. Each group has its lists in full as long as there is room, the first
// groups before others; groups that are left out are counted.
func (r *Report) Markdown(limit int) string {
	classes := r.byID()
	var blocks [][2]string // of each group and of the details, cut and in full
	for i := range r.parts[:min(limit, len(r.parts))] {
		blocks = append(blocks, [2]string{r.markdownGroup(&r.parts[i], classes, inJSON), r.markdownGroup(&r.parts[i], classes, lists{full: true})})
	}
	details := [2]string{r.markdownDetails(inJSON), r.markdownDetails(lists{full: true})}
	for shown := len(blocks); ; shown-- {
		chosen := append(slices.Clone(blocks[:shown]), details)
		length := len(r.markdown(shown, classes, nil))
		for i := range chosen {
			length += len(chosen[i][0])
		}
		if length > maxMarkdown && shown > 0 {
			continue
		}
		texts := make([]string, 0, len(chosen))
		for _, block := range chosen {
			text := block[0]
			if more := len(block[1]) - len(block[0]); length+more <= maxMarkdown {
				text, length = block[1], length+more
			}
			texts = append(texts, text)
		}
		return r.markdown(shown, classes, texts)
	}
}

// inJSON cuts lists and names the report that has all of them.
var inJSON = lists{rest: "-o json lists them"}

// markdown returns the report with so many groups and the blocks that describe them.
func (r *Report) markdown(shown int, classes map[string]*Class, blocks []string) string {
	var out diag.Lines
	out.Addf("<!-- writ diff -->")
	r.markdownAssertions(&out)
	r.markdownReach(&out)
	if r.Equivalent {
		out.Addf("### %s", r.noDifference())
		out.Addf("")
	} else {
		out.Addf("### Policy changes: %s", r.counts())
		out.Addf("")
		out.Addf("| | change | why |")
		out.Addf("| --- | --- | --- |")
	}
	for i := range r.parts[:shown] {
		g := &r.parts[i]
		out.Addf("| **%s**%s | %s | %s |", g.Change, EscapeMarkdown(g.expected(classes)), EscapeMarkdown(g.Summary), EscapeMarkdown(strings.Join(inJSON.list(g.documents()), ", ")))
	}
	out.Addf("")
	for _, block := range blocks {
		for line := range strings.Lines(block) {
			out.Addf("%s", strings.TrimSuffix(line, "\n"))
		}
	}
	if rest := len(r.parts) - shown; rest > 0 {
		out.Addf("and %s more, -o json lists them.", diag.Counted(rest, "group"))
		out.Addf("")
	}
	for _, note := range r.Notes {
		out.Addf("Note: %s", EscapeMarkdown(note))
		out.Addf("")
	}
	for line := range strings.SplitSeq(strings.TrimSpace(r.Claim()), "\n") {
		out.Addf("%s", EscapeMarkdown(line))
	}
	return out.String()
}

// markdownDetails writes what differs without a decision that differs.
func (r *Report) markdownDetails(l lists) string {
	if len(r.Details) == 0 {
		return ""
	}
	var out diag.Lines
	out.Addf("<details><summary>%s without a decision that differs</summary>", diag.Counted(len(r.Details), "difference"))
	out.Addf("")
	texts := elements.Map(r.Details, func(d Detail) string { return d.line() })
	for _, text := range l.list(texts) {
		out.Addf("- %s", EscapeMarkdown(text))
	}
	out.Addf("")
	out.Addf("</details>")
	out.Addf("")
	return out.String()
}

// markdownGroup writes whom a group concerns, the witnesses and the lines.
func (r *Report) markdownGroup(g *Group, classes map[string]*Class, l lists) string {
	var out diag.Lines
	out.Addf("<details><summary>%s</summary>", elementEscapes.Replace(g.Summary))
	out.Addf("")
	for _, text := range r.remarks(g, classes, l) {
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
	if rest := len(found) - statement.Longest; rest > 0 {
		out.Addf("and %s more, -o json lists them.", diag.Counted(rest, "request"))
		out.Addf("")
	}
	for _, line := range l.list(r.lines(g, classes)) {
		out.Addf("- %s", line)
	}
	out.Addf("")
	out.Addf("</details>")
	out.Addf("")
	return out.String()
}

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
