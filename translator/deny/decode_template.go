package deny

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// templateVariables are what a reason may speak of, in either spelling.
var templateVariables = []string{"score", "factors", "pod", "namespace"}

// decodeTemplate takes a reason apart. Anything but a variable between braces is a
// mistake: it would be printed as it stands.
func decodeTemplate(d *syntax.Decoder, n *syntax.Node) []tables.TemplatePart {
	var parts []tables.TemplatePart
	for rest := n.Value; rest != ""; {
		text, after, found := strings.Cut(rest, "{{")
		if text != "" {
			parts = append(parts, tables.TemplatePart{Text: text})
		}
		if !found {
			break
		}
		inside, next, closed := strings.Cut(after, "}}")
		if !closed {
			d.Fail(n, diag.BadTemplate, `close it with "}}"`, "reason has a \"{{\" that is not closed: %s", syntax.Quote("{{"+after))
			return nil
		}
		variable := templateVariable(inside)
		if variable == "" {
			d.Fail(n, diag.BadTemplate, templateHint(inside), "reason contains %s, which is not a variable", syntax.Quote("{{"+inside+"}}"))
			return nil
		}
		parts = append(parts, tables.TemplatePart{Variable: variable})
		rest = next
	}
	return parts
}

// templateVariable is the variable between braces, or "".
func templateVariable(inside string) string {
	name, dotted := strings.CutPrefix(strings.Trim(inside, " \t\r\n"), ".")
	if !dotted || name == "" {
		return ""
	}
	lower := strings.ToLower(name[:1]) + name[1:]
	if !slices.Contains(templateVariables, lower) {
		return ""
	}
	return lower
}

func templateHint(inside string) string {
	word := strings.TrimPrefix(strings.Trim(inside, " \t\r\n-"), ".")
	if slices.Contains(templateVariables, syntax.Fold(word)) {
		return "write {{." + syntax.Fold(word) + "}}"
	}
	if near := diag.Suggest(word, templateVariables); near != "" {
		return "did you mean {{." + near + "}}?"
	}
	return "one of {{.score}}, {{.factors}}, {{.pod}}, {{.namespace}}"
}
