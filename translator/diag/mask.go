package diag

import (
	"regexp"
	"unicode/utf8"
)

// secrets are the parts of a line of YAML or JSON that may be secrets, each as the first
// group: user information in a URL, the credentials of an authentication scheme, and the
// value of a key that is named for a secret.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`://([^/?#@\s]+)@`),
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([^\s"',}\]]+)`),
	regexp.MustCompile(`(?i)(?:authorization|cookie|secret|password|passwd|token|api-?key)["']?\s*:\s*(?:\{[^{}]*?value["']?\s*:\s*)?` +
		`("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',{}\[\]#][^,{}\[\]#]*)`),
}

// mask returns the line with an asterisk for each character of what may be a secret.
// Excerpts are shown in logs of builds, to readers that the document is not for.
func mask(line []byte) []byte {
	if !utf8.Valid(line) {
		return line
	}
	for _, pattern := range secrets {
		var out []byte
		kept := 0
		for _, at := range pattern.FindAllSubmatchIndex(line, -1) {
			out = append(out, line[kept:at[2]]...)
			for range utf8.RuneCount(line[at[2]:at[3]]) {
				out = append(out, '*')
			}
			kept = at[3]
		}
		line = append(out, line[kept:]...)
	}
	return line
}
