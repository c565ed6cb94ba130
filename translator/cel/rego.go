package cel

import (
	"fmt"
	"strings"

	"github.com/writ-policy/writ/translator/regotext"
)

// Rego returns the rules of the program. Other rules of the module must not begin with
// this name. A predicate has the rules NAME_true, NAME_false and NAME_error; at most
// one is true, and none if a key is missing. Any other expression has the rule
// NAME_value, which is undefined without a value. The rules call the library's
// package writ.cel by its full name, so the module needs no import.
func (p *Program) Rego(name string) string {
	var out strings.Builder
	for line := range strings.Lines(p.text) {
		fmt.Fprintf(&out, "# %s\n", regotext.Comment(strings.TrimSuffix(line, "\n")))
	}
	rules := append([]string{p.value}, p.rules...)
	if p.conditions == nil {
		rules = append(rules, selfPlaceholder+"_value := "+call("as_json", selfPlaceholder)+"\n")
	} else {
		rules = append(rules,
			conditional(selfPlaceholder+"_true", p.conditions.whenTrue), conditional(selfPlaceholder+"_false", p.conditions.whenFalse),
			conditional(selfPlaceholder+"_error", [][]string{{"not " + selfPlaceholder + "_true", "not " + selfPlaceholder + "_false", call("broken", selfPlaceholder)}}),
		)
	}
	out.WriteString(strings.Join(rules, "\n"))
	return strings.ReplaceAll(out.String(), selfPlaceholder, name)
}
