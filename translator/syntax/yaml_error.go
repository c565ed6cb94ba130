package syntax

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// locate finds the position of a parser error, whose text has at most a line, counted
// from 0 or 1. It parses again with an empty line in front, because the parser omits the
// line if it is the first.
func locate(p part, err error) *syntaxError {
	if e := parseError(append([]byte{'\n'}, p.content...)); e != nil {
		err = e
	}
	line, reason := lineOf(err)
	switch {
	case strings.HasPrefix(reason, "unknown anchor"):
		line = anchorLine(p.content, reason)
	case reason == "did not find expected key" || reason == "did not find expected '-' indicator":
		line = breakingLine(p.content, reason, line)
	}
	text := bytes.TrimRight(p.content, " \t\r\n")
	line = min(max(line, 1), len(lineEnds(text)))
	return &syntaxError{
		Line: line + p.line - 1, Column: columnOf(lineText(text, line), reason),
		Message: reason, Hint: syntaxHint(reason),
	}
}

func parseError(content []byte) error {
	_, err := unmarshal(content, 1)
	return err
}

// lineOf returns the line and the reason in a parser error, for a text that begins with
// an empty line.
func lineOf(err error) (line int, reason string) {
	reason = strings.TrimPrefix(err.Error(), "yaml: ")
	rest, found := strings.CutPrefix(reason, "line ")
	if !found {
		return 1, reason
	}
	number, rest, found := strings.Cut(rest, ": ")
	line, e := strconv.Atoi(number)
	if !found || e != nil {
		return 1, reason
	}
	if !isStructural(rest) {
		line-- // the tokenizer counts the line it is on, and the empty one
	}
	return line, rest
}

// isStructural reports whether the reason concerns the order of tokens. Then its line is
// that of the construct that is not closed, counted from 0.
func isStructural(reason string) bool {
	return strings.HasPrefix(reason, "did not find expected") && !strings.Contains(reason, "character") ||
		strings.HasPrefix(reason, "found undefined tag handle") ||
		strings.HasPrefix(reason, "found duplicate")
}

// anchorLine finds the alias whose anchor is unknown.
func anchorLine(content []byte, reason string) int {
	_, rest, _ := strings.Cut(reason, "'")
	name, _, _ := strings.Cut(rest, "'")
	at := 0
	for i, end := range lineEnds(content) {
		if aliasIn(content[at:end], name) >= 0 {
			return i + 1
		}
		at = end
	}
	return 1
}

// aliasIn returns the offset of an alias in a line, or -1. It leaves out lines of comment, and names that
// only begin with the name.
func aliasIn(line []byte, name string) int {
	if isBlank(line) {
		return -1
	}
	return startOf(line, "*", func(next []byte) bool {
		rest, found := bytes.CutPrefix(next, []byte(name))
		return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n,]}:"), rest[0]) >= 0)
	})
}

// lineEnds returns the offset behind each line of a text, its line end included. An empty text is a line.
func lineEnds(content []byte) (ends []int) {
	for at := 0; at < len(content) || len(ends) == 0; {
		_, at = lineEnd(content, at)
		ends = append(ends, at)
	}
	return ends
}

// breakingLine returns the first line with which the text cannot be parsed, because the
// parser reports only the beginning of a block. It tries prefixes, and therefore skips
// long texts.
func breakingLine(content []byte, reason string, start int) int {
	const longest = 64 << 10
	if len(content) > longest {
		return start
	}
	ends := lineEnds(content)
	return 1 + sort.Search(len(ends)-1, func(i int) bool {
		err := parseError(append([]byte{'\n'}, content[:ends[i]]...))
		if err == nil {
			return false
		}
		_, found := lineOf(err)
		return found == reason
	})
}

// lineText returns a line of a text without its line end.
func lineText(content []byte, line int) []byte {
	at := 0
	for ; line > 1; line-- {
		_, at = lineEnd(content, at)
	}
	end, _ := lineEnd(content, at)
	return content[at:end]
}

// columnOf guesses the column of the error from the reason; by default that of the first
// character that is not a blank.
func columnOf(line []byte, reason string) int {
	at := len(line) - len(bytes.TrimLeft(line, " \t"))
	culprit := -1
	switch {
	case strings.Contains(reason, "',' or"):
		culprit = unclosed(line)
	case strings.Contains(reason, "unexpected end of stream"):
		culprit = max(bytes.LastIndexByte(line, '"'), bytes.LastIndexByte(line, '\''))
	case strings.Contains(reason, "cannot start any token"):
		culprit = startOf(line, "@`%\t", nil)
	case strings.Contains(reason, "alphabetic or numeric"):
		culprit = startOf(line, "*&", func(next []byte) bool {
			return len(next) == 0 || !IsIdentifier("a"+string(next[:1])) && next[0] != '-'
		})
	case strings.Contains(reason, "escape"):
		culprit = bytes.IndexByte(line, '\\')
	case strings.Contains(reason, "unknown anchor"):
		_, name, _ := strings.Cut(reason, "'")
		culprit = aliasIn(line, strings.TrimSuffix(name, "' referenced"))
	}
	if culprit >= 0 {
		at = culprit
	}
	return 1 + utf8.RuneCount(line[:at])
}

// unclosed returns the offset of the last bracket that the line does not close.
func unclosed(line []byte) int {
	var open []int
	for i, b := range line {
		switch b {
		case '[', '{':
			open = append(open, i)
		case ']', '}':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}

// startOf returns the offset of the first of some characters that begins a value and
// for the text behind which next returns true.
func startOf(line []byte, characters string, next func([]byte) bool) int {
	for i, b := range line {
		if strings.IndexByte(characters, b) < 0 || i > 0 && strings.IndexByte(" \t[{,", line[i-1]) < 0 {
			continue
		}
		if next == nil || next(line[i+1:]) {
			return i
		}
	}
	return -1
}

// syntaxHint returns what to write for common mistakes, or "".
func syntaxHint(reason string) string {
	switch {
	case strings.Contains(reason, "alphabetic or numeric"):
		return `a value that begins with "*" or "&" needs quotes`
	case strings.Contains(reason, "cannot start any token"):
		return "indent with blanks, and quote a value that begins with a special character"
	case strings.Contains(reason, "mapping values are not allowed"):
		return `quote a value that holds ": ", and check the indentation`
	case strings.Contains(reason, "',' or"):
		return "close the bracket"
	case strings.Contains(reason, "unexpected end of stream"):
		return "close the quotes"
	}
	return ""
}
