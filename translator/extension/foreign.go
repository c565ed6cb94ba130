package extension

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// packageLine is the statement that a module begins with, as far as it is plain.
var packageLine = regexp.MustCompile(`^package[ \t]+([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)[ \t]*(?:#.*)?$`)

// foreignModule returns the module of another project, such as a test of Conftest, or nil if
// a file may be an extension: one with a mistake is an error. It reads the first
// statement alone, because modules of others may be of another version of Rego.
func foreignModule(file string, content []byte) *syntax.Skipped {
	line := 0
	for text := range bytes.Lines(content) {
		line++
		statement := strings.TrimSpace(string(text))
		if statement == "" || strings.HasPrefix(statement, "#") {
			continue
		}
		m := packageLine.FindStringSubmatch(statement)
		if m == nil || isNearExtensions(strings.Split(m[1], ".")) {
			return nil
		}
		name, _ := syntax.Shorten("package " + m[1])
		return &syntax.Skipped{
			At:         diag.Position{File: file, Line: line, Column: 1 + bytes.Index(text, []byte("package"))},
			Length:     len("package"),
			APIVersion: name, Kind: "Rego module",
		}
	}
	return nil
}

// isNearExtensions reports whether the name of a package is below writ, or has a word that
// looks like one of writ.extensions.
func isNearExtensions(path []string) bool {
	for _, word := range path[:min(len(path), 2)] {
		if word = strings.ToLower(word); diag.Edits(word, "writ") <= 1 || diag.Edits(word, "extensions") <= 2 {
			return true
		}
	}
	return false
}
