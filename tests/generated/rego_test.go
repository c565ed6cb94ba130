package generated

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	textConstant   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	numberConstant = regexp.MustCompile(`(?:[:=,\[] |\[)(-?[0-9]+)\b`)
	member         = regexp.MustCompile(`\{"(?:[^"\\]|\\.)*", `)
)

// regoChanges returns the text of a module with one element changed, by what is changed.
func regoChanges(text string) map[string]string {
	changes := make(map[string]string)
	lines := strings.Split(text, "\n")
	// When an expression is false is asked only by the rule of its error, which asks the value too.
	inFalse := false
	for i, line := range lines {
		if strings.HasPrefix(line, "_") && strings.HasSuffix(strings.TrimSuffix(line, " {"), "_false if") {
			inFalse = true
		} else if !strings.HasPrefix(line, "\t") {
			inFalse = false
		}
		if inFalse || line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "import ") || strings.HasPrefix(line, "}") {
			continue
		}
		put := func(what, changed string) {
			if changed == line {
				return
			}
			other := append([]string{}, lines...)
			other[i] = changed
			changes[fmt.Sprintf("line %d, %s: %s", i+1, what, strings.TrimSpace(line))] = strings.Join(other, "\n")
		}
		if strings.HasPrefix(line, "\t") && isCondition(line) {
			changeCondition(lines, i, put)
		}
		for _, at := range textConstant.FindAllStringIndex(line, -1) {
			if !isImplied(lines, i) {
				put("a longer text", line[:at[1]-1]+`z"`+line[at[1]:])
			}
		}
		if at := numberConstant.FindStringSubmatchIndex(line); at != nil {
			put("another number", line[:at[3]]+"1"+line[at[3]:])
		}
		put("without an entry", member.ReplaceAllString(line, "{"))
		put("with an entry", strings.Replace(line, " in {", ` in {"writ-other-verb", `, 1))
	}
	return changes
}

// isCondition reports whether a line of a body can be left out: it is neither an assignment
// nor an entry of a constant.
func isCondition(line string) bool {
	text := strings.TrimSpace(line)
	return !strings.Contains(text, ":=") && !strings.HasSuffix(text, ",") && !strings.HasPrefix(text, "}") && !strings.HasPrefix(text, "]") &&
		!strings.HasSuffix(text, "{") && !strings.HasSuffix(text, "[") && !strings.HasPrefix(text, "some ")
}

func changeCondition(lines []string, i int, put func(what, changed string)) {
	line := lines[i]
	if !isImplied(lines, i) {
		put("without the condition", "\ttrue")
	}
	put("not negated", strings.Replace(line, "\tnot ", "\t", 1))
	put("another comparison", strings.Replace(line, " == ", " != ", 1))
	put("another bound", strings.NewReplacer(" >= ", " > ", " <= ", " < ", " < ", " <= ").Replace(line))
	if !strings.Contains(line, "not ") {
		put("negated", strings.Replace(line, "\t", "\tnot ", 1))
	}
}

// isImplied reports whether a condition follows from the next ones: the start and the end of a
// text that a regular expression matches, the type of a text that begins with another one, and
// that an error is neither true nor false.
func isImplied(lines []string, i int) bool {
	line := strings.TrimSpace(lines[i])
	switch {
	case line == `input.name != ""`:
		return strings.Contains(lines[i-1], "input.name") // by a name
	case line == `input.namespace != ""`:
		return strings.Contains(lines[i+1], "input.namespaceLabels") // which are those of a namespace
	}
	rest := strings.Join(lines[i+1:min(i+3, len(lines))], "\n")
	switch {
	case strings.HasPrefix(line, "is_string("):
		return strings.HasPrefix(strings.TrimSpace(lines[i+1]), "startswith(") || strings.HasPrefix(strings.TrimSpace(lines[i+1]), "endswith(")
	case strings.HasPrefix(line, "not ") && (strings.HasSuffix(line, "_true") || strings.HasSuffix(line, "_false")):
		return strings.Contains(rest, "data.writ.cel.broken(") // an error is neither
	}
	return strings.HasPrefix(line, "startswith(") && strings.Contains(lines[i+1]+lines[min(i+2, len(lines)-1)], "regex.match(") ||
		strings.HasPrefix(line, "endswith(") && strings.Contains(lines[i+1], "regex.match(")
}
