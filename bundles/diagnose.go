package bundles

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator/diag"
)

// Diagnose returns a diagnostic for each of OPA's errors in err, which Check, Compile or an
// engine returned for b, at the document from which the module is generated. The list is
// empty if err has no such errors.
func Diagnose(b *Bundle, err error) diag.List {
	var list diag.List
	for _, e := range rego.Errors(err) {
		d := diag.Diagnostic{Code: diag.Rego, Message: "the Rego of this document does not compile: " + e.Message}
		if e.Location != nil {
			d.Position = diag.Position{File: e.Location.File, Line: max(e.Location.Row, 1), Column: max(e.Location.Col, 1)}
			d.Message = fmt.Sprintf("the Rego of this document does not compile: %s:%d: %s", e.Location.File, e.Location.Row, e.Message)
			if at, ok := sourceOf(string(b.Files[e.Location.File]), e.Location.Row); ok {
				d.Position = at
			}
		}
		list.Add(d)
	}
	return list.Sorted()
}

// sourceOf returns the position of the document from which the line of a generated module
// comes: the last source at or above it, else the first below it.
func sourceOf(module string, row int) (at diag.Position, found bool) {
	number := 0
	for line := range strings.Lines(module) {
		number++
		if number > row && found {
			break
		}
		if position, ok := readSource(strings.TrimSuffix(line, "\n")); ok {
			at, found = position, true
		}
	}
	return at, found
}

// readSource reads the position in a comment of a generated module: `#   source:
// "FILE:LINE"`, or `Generated from FILE:LINE` at its end.
func readSource(line string) (diag.Position, bool) {
	if !strings.HasPrefix(line, "#") {
		return diag.Position{}, false
	}
	_, text, ok := strings.Cut(line, "#   source: ")
	if ok {
		var unquoted string
		if json.Unmarshal([]byte(text), &unquoted) != nil {
			return diag.Position{}, false
		}
		text = unquoted
	} else if _, text, ok = strings.Cut(line, "Generated from "); !ok {
		return diag.Position{}, false
	}
	return diag.ParseSource(text)
}
