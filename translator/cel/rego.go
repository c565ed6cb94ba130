package cel

import (
	"fmt"
	"strings"
)

// Rego is the rules of the program, for a module that has no others whose names
// begin with this one. Of a condition NAME_true, NAME_false and NAME_error hold or are
// undefined, and none of them holds where a key is missing; of an expression
// NAME_value is the value, undefined where there is none. The rules call the library's
// package writ.cel by its full name, so the module needs no import.
func (p *Program) Rego(name string) string {
	var out strings.Builder
	for line := range strings.Lines(p.text) {
		fmt.Fprintf(&out, "# %s\n", comment(strings.TrimSuffix(line, "\n")))
	}
	rules := append([]string{p.value}, p.rules...)
	if p.halves == nil {
		rules = append(rules, here+"_value := "+call("as_json", here)+"\n")
	} else {
		rules = append(rules,
			conditional(here+"_true", p.halves.yes), conditional(here+"_false", p.halves.no),
			conditional(here+"_error", [][]string{{"not " + here + "_true", "not " + here + "_false", call("broken", here)}}),
		)
	}
	out.WriteString(strings.Join(rules, "\n"))
	return strings.ReplaceAll(out.String(), here, name)
}

// comment makes text fit for one line of a Rego comment.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, text)
}
