package accept

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// marker begins a comment that accepts the findings of its line, or of the next one.
const marker = "writ:ignore"

var newLines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// addComments adds the acceptances in the comments of a file.
func (s *state) addComments(f source.File) {
	content := f.Content.Bytes()
	if !bytes.Contains(content, []byte(marker)) {
		return
	}
	lines := strings.Split(newLines.Replace(string(content)), "\n")
	for i, line := range lines {
		column := commentAt(line)
		if column < 0 {
			continue
		}
		words, ok := strings.CutPrefix(strings.TrimLeft(line[column:], "# \t"), marker)
		if !ok || words != "" && words[0] != ' ' && words[0] != '\t' {
			continue
		}
		at := diag.Position{File: f.Path, Line: i + 1, Column: len([]rune(line[:column])) + 1}
		a, err := parseComment(words)
		if err != nil {
			s.list.Add(diag.Diagnostic{Position: at, Length: len([]rune(line[column:])), Severity: diag.Warning, Code: diag.BadAcceptance,
				Message: "the comment accepts nothing: " + err.Error(), Hint: "write # " + marker + " CODE REASON"})
			continue
		}
		a.Position = at
		s.all = append(s.all, a)
		for _, number := range targets(lines, i, strings.TrimSpace(line[:column]) == "") {
			s.comments[place{f.Path, number, a.code}] = a
		}
	}
}

// parseComment reads what follows the marker.
func parseComment(words string) (*acceptance, error) {
	code, reason, _ := strings.Cut(strings.TrimSpace(words), " ")
	reason = strings.TrimSpace(reason)
	if code == "" {
		return nil, fmt.Errorf("it has no code")
	}
	if err := settings.CheckAcceptable(diag.Code(code)); err != nil {
		return nil, err
	}
	if reason == "" {
		return nil, fmt.Errorf("it has no reason")
	}
	return &acceptance{Suppression: diag.Suppression{Reason: reason, IsComment: true}, code: diag.Code(code), left: -1}, nil
}

// targets returns the lines that a comment concerns, from 1: its own, or if it is alone on
// its line, the next one without a comment. A finding about a whole document is at its kind, which
// is usually the second line.
func targets(lines []string, i int, isAlone bool) []int {
	if !isAlone {
		return []int{i + 1}
	}
	for i++; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i])
		if strings.HasPrefix(text, "#") {
			continue
		}
		isVersion := strings.HasPrefix(strings.TrimPrefix(text, "- "), "apiVersion:")
		if isVersion && i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "kind:") {
			return []int{i + 1, i + 2}
		}
		return []int{i + 1}
	}
	return nil
}

// commentAt returns where the comment of a line of YAML begins, -1 for none. A number sign
// in quotes or within a word begins none.
func commentAt(line string) int {
	var quote byte
	for i := 0; i < len(line); i++ {
		begins := i == 0 || strings.IndexByte(" \t[{,", line[i-1]) >= 0
		switch c := line[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && begins:
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return i
		}
	}
	return -1
}
