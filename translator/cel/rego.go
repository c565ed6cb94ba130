package cel

import (
	"fmt"
	"strings"
)

// Rego is the rules of the program, for a module that has no others whose names
// begin with this one: NAME_true, NAME_false and NAME_error hold or are undefined,
// and none of them holds where a key is missing; NAME_value is the value, undefined
// where there is none. The rules call the library's package writ.cel by its full
// name, so the module needs no import.
func (p *Program) Rego(name string) string {
	var out strings.Builder
	for line := range strings.Lines(p.text) {
		fmt.Fprintf(&out, "# %s\n", comment(strings.TrimSuffix(line, "\n")))
	}
	if len(p.body) == 0 {
		fmt.Fprintf(&out, "%s := %s\n", name, p.value)
	} else {
		fmt.Fprintf(&out, "%s := value if {\n", name)
		for _, line := range append(p.body, "value := "+p.value) {
			fmt.Fprintf(&out, "\t%s\n", strings.ReplaceAll(line, "\n", "\n\t"))
		}
		out.WriteString("}\n")
	}
	for _, half := range [][2]string{{"true", "holds"}, {"false", "fails"}, {"error", "broken"}} {
		fmt.Fprintf(&out, "\n%s_%s if %s\n", name, half[0], call(half[1], name))
	}
	fmt.Fprintf(&out, "\n%s_value := %s\n", name, call("as_json", name))
	return out.String()
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
