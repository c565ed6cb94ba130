// Package ignore reads files of patterns in the syntax of gitignore, and decides which
// files and folders they leave out. It knows text and paths; it reads no files.
//
// # Design
//
// A pattern becomes a regular expression, whose time is linear in the path: authors write
// patterns, and some are hostile. The gitignore package of go-git was rejected: its "**"
// matches without going back, and it does not know "[!a]". Tests compare with git itself.
package ignore

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Rules are patterns in the order of their precedence: the last one that matches decides.
// The zero value leaves nothing out. Rules are immutable.
type Rules struct {
	patterns []pattern
}

// pattern is one line of a file.
type pattern struct {
	// folder holds the file of the pattern; "" is the top.
	folder string
	// expression matches the path below folder, or the name alone if byName is set.
	expression *regexp.Regexp
	byName     bool
	// negated means that a path is read after all, folders that the pattern concerns
	// folders alone.
	negated, folders bool
}

// With returns the rules and those of a file in a folder, which take precedence.
func (r Rules) With(folder string, content []byte) Rules {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	return r.WithPatterns(folder, strings.Split(string(content), "\n"))
}

// WithPatterns is With for the lines of a file.
func (r Rules) WithPatterns(folder string, lines []string) Rules {
	all := slices.Clip(r.patterns)
	for _, line := range lines {
		if p, ok := parse(strings.TrimSuffix(line, "\r")); ok {
			p.folder = folder
			all = append(all, p)
		}
	}
	return Rules{all}
}

// Ignores reports whether a file or folder is left out. The folders above it are not left
// out: a walk does not enter those.
func (r Rules) Ignores(name string, isFolder bool) bool {
	for i := len(r.patterns) - 1; i >= 0; i-- {
		if p := &r.patterns[i]; p.matches(name, isFolder) {
			return !p.negated
		}
	}
	return false
}

func (p *pattern) matches(name string, isFolder bool) bool {
	if p.folders && !isFolder {
		return false
	}
	if p.folder != "" {
		rest, inside := strings.CutPrefix(name, p.folder+"/")
		if !inside {
			return false
		}
		name = rest
	}
	if p.byName {
		name = path.Base(name)
	}
	return p.expression.MatchString(name)
}

// parse returns false for empty lines, comments and patterns that match nothing.
func parse(line string) (p pattern, ok bool) {
	line = trimBlanks(line)
	if line == "" || line[0] == '#' {
		return p, false
	}
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.folders = strings.CutSuffix(line, "/")
	p.byName = !strings.Contains(line, "/")
	expression, ok := translate(strings.TrimPrefix(line, "/"))
	if !ok {
		return p, false
	}
	compiled, err := regexp.Compile("^(?s:" + expression + ")$")
	p.expression = compiled
	return p, err == nil
}

// trimBlanks removes the blanks at the end, except an escaped one.
func trimBlanks(line string) string {
	trimmed := strings.TrimRight(line, " ")
	escapes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if escapes%2 == 1 && len(trimmed) < len(line) {
		trimmed += " "
	}
	return trimmed
}
