package main

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// A text is prose from a file. It has the line breaks of the file, so that a
// line can be computed; comment marks are removed.
type text struct {
	line    int
	content string
}

type extractor func(content string) []text

// extractorOf returns nil for files without prose.
func extractorOf(file string) extractor {
	base := filepath.Base(file)
	switch filepath.Ext(base) {
	case ".go":
		return goTexts
	case ".rego":
		return regoTexts
	case ".md":
		return markdownTexts
	case ".txtar":
		return txtarTexts
	case ".sh", ".mk":
		return wholeText
	}
	switch base {
	case "Makefile", "run", ".golangci.yml":
		return wholeText
	}
	return nil
}

func wholeText(content string) []text { return []text{{line: 1, content: content}} }

// goTexts returns comments, string literals and declared names. A file that
// cannot be parsed still yields its comments and strings; the compiler reports it.
func goTexts(content string) []text {
	texts := goTokens(content)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", content, parser.SkipObjectResolution)
	if err != nil {
		return texts
	}
	name := func(id *ast.Ident) {
		texts = append(texts, text{line: fset.Position(id.Pos()).Line, content: splitName(id.Name)})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name(n.Name)
		case *ast.TypeSpec:
			name(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				name(id)
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				break
			}
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok {
					name(id)
				}
			}
		}
		return true
	})
	return texts
}

// goTokens returns comments and string literals. Line comments of consecutive
// lines are one text: a phrase may go over the end of a line.
func goTokens(content string) []text {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(content))
	var s scanner.Scanner
	s.Init(file, []byte(content), nil, scanner.ScanComments)
	var texts []text
	comment, end := -1, 0 // the text of the last line comment, and its last line
	for {
		pos, tok, literal := s.Scan()
		line := fset.Position(pos).Line
		switch tok {
		case token.EOF:
			return texts
		case token.STRING:
			texts = append(texts, text{line, literal})
		case token.COMMENT:
			literal = strings.TrimPrefix(literal, "//")
			if comment >= 0 && line == end+1 {
				texts[comment].content += "\n" + strings.TrimSpace(literal)
			} else {
				comment = len(texts)
				texts = append(texts, text{line: line, content: strings.TrimSpace(literal)})
			}
			end = line + strings.Count(literal, "\n")
		}
	}
}

var regoName = regexp.MustCompile(`^(?:package |default )?([a-z_][a-zA-Z0-9_.]*)`)

// regoTexts returns comments, string literals, and the names of packages and
// rules, which begin a line.
func regoTexts(content string) []text {
	var texts []text
	comment, end := -1, 0
	for i, line := range strings.Split(content, "\n") {
		if name := regoName.FindStringSubmatch(line); name != nil {
			texts = append(texts, text{line: i + 1, content: splitName(name[1])})
		}
		strs, found := regoLine(line)
		for _, s := range strs {
			texts = append(texts, text{line: i + 1, content: s})
		}
		if found == "" {
			continue
		}
		found = strings.TrimSpace(strings.TrimLeft(found, "#"))
		if comment >= 0 && i == end+1 {
			texts[comment].content += "\n" + found
		} else {
			comment = len(texts)
			texts = append(texts, text{line: i + 1, content: found})
		}
		end = i
	}
	return texts
}

// regoLine splits a line into its string literals and its comment. A raw string
// over several lines yields its first line only.
func regoLine(line string) (strs []string, comment string) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '#':
			return strs, line[i:]
		case '"', '`':
			end := i + 1
			for end < len(line) && line[end] != c {
				if c == '"' && line[end] == '\\' {
					end++
				}
				end++
			}
			strs = append(strs, line[i:min(end+1, len(line))])
			i = end
		}
	}
	return strs, ""
}

var inlineCode = regexp.MustCompile("`[^`\n]*`")

// markdownTexts returns everything but code, in one text.
func markdownTexts(content string) []text {
	lines := strings.Split(content, "\n")
	fenced := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			lines[i] = ""
		} else if fenced {
			lines[i] = ""
		} else {
			lines[i] = inlineCode.ReplaceAllString(line, "`code`")
		}
	}
	return wholeText(strings.Join(lines, "\n"))
}

// txtarTexts returns what stands before the first file: the script or the
// introduction.
func txtarTexts(content string) []text {
	if strings.HasPrefix(content, "-- ") {
		return nil
	}
	lead, _, _ := strings.Cut(content, "\n-- ")
	return wholeText(lead)
}

var wordBreak = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// splitName separates the words of a name: askedTwice becomes "asked Twice".
func splitName(name string) string {
	name = strings.NewReplacer("_", " ", ".", " ", "-", " ").Replace(name)
	return wordBreak.ReplaceAllString(name, "$1$3 $2$4")
}
