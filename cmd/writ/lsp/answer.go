package lsp

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
)

// answer returns the result of a request about a place in a document; null if it has
// none.
func (s *server) answer(ctx context.Context, r *jsonrpc2.Request) (any, error) {
	answers := map[string]func(*editor.Analysis, string, *placeParams) any{
		"textDocument/hover":          s.hover,
		"textDocument/definition":     s.definition,
		"textDocument/references":     s.references,
		"textDocument/completion":     s.completion,
		"textDocument/codeAction":     s.codeActions,
		"textDocument/documentSymbol": s.symbols,
		"textDocument/codeLens":       s.lenses,
	}
	answer, known := answers[r.Method]
	if !known {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "the method is not supported"}
	}
	var p placeParams
	if err := decode(r, &p); err != nil {
		return nil, err
	}
	file := s.file(p.TextDocument.URI)
	if file == "" {
		return nil, nil
	}
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	a := s.analysis
	s.mu.Unlock()
	if a == nil {
		return nil, nil // the directory cannot be read
	}
	return answer(a, file, &p), nil
}

// at returns the place of a request.
func at(a *editor.Analysis, file string, p position) diag.Position {
	return diag.Position{File: file, Line: p.Line + 1, Column: linesOf(string(a.Content(file))).runes(p) + 1}
}

func (s *server) hover(a *editor.Analysis, file string, p *placeParams) any {
	parts := elements.Map(a.At(at(a, file, p.Position)), editor.Explanation)
	if held := a.Holders(at(a, file, p.Position)); held != "" {
		parts = append(parts, held)
	}
	if verdict := s.verdictAt(a, at(a, file, p.Position)); verdict != "" {
		parts = append(parts, verdict)
	}
	if text, isOpen := s.workspace.Text(file); isOpen {
		if about := s.workspace.Describe(text, p.Position.Line+1, linesOf(text).runes(p.Position)); about != "" {
			parts = append(parts, about)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return map[string]any{"contents": map[string]string{"kind": "markdown", "value": strings.Join(parts, "\n---\n\n")}}
}

func (s *server) definition(a *editor.Analysis, file string, p *placeParams) any {
	return s.locations(a, a.Definition(at(a, file, p.Position)))
}

func (s *server) references(a *editor.Analysis, file string, p *placeParams) any {
	return s.locations(a, a.References(at(a, file, p.Position), p.Context.IncludeDeclaration))
}

func (s *server) locations(a *editor.Analysis, ranges []editor.Range) any {
	out := make([]location, 0, len(ranges))
	files := textsOf(a)
	for _, r := range ranges {
		if l, ok := s.location(files, r); ok {
			out = append(out, l)
		}
	}
	return out
}

func (s *server) completion(a *editor.Analysis, file string, p *placeParams) any {
	text, isOpen := s.workspace.Text(file)
	if !isOpen {
		return nil
	}
	l := linesOf(text)
	column := l.runes(p.Position)
	c := s.workspace.Complete(a, text, p.Position.Line+1, column)
	line := []rune(l.at(p.Position.Line))
	items := make([]completionItem, 0, len(c.Items))
	if !strings.HasSuffix(string(line[:column]), c.Word) {
		return items // after a blank or a quote
	}
	start := p.Position
	start.Character -= units(c.Word, len(c.Word))
	// The whole word is replaced, also what of it is behind the cursor.
	behind := wordLength(line[column:], c.IsKey)
	end := p.Position
	end.Character += units(string(line[column:]), behind)
	kind, suffix := kindValue, ""
	if c.IsKey {
		kind = kindField
		if !strings.HasPrefix(string(line[column+behind:]), ":") {
			suffix = ": "
		}
	}
	for _, label := range c.Items {
		items = append(items, completionItem{label, kind, textEdit{span{start, end}, label + suffix}})
	}
	return items
}

// wordLength returns how many of the first runes of a line belong to a name. A colon ends the
// name of a field, and another name if a blank or the end of the line follows.
func wordLength(line []rune, isKey bool) int {
	for i, r := range line {
		isEnd := i+1 == len(line) || line[i+1] == ' '
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("-_./*", r), r == ':' && !isKey && !isEnd:
		default:
			return i
		}
	}
	return len(line)
}

// replacement matches a hint that names what to type.
var replacement = regexp.MustCompile(`did you mean "([^"]+)"\?`)

// codeActions returns a replacement for each diagnostic in a range whose hint names one.
func (s *server) codeActions(a *editor.Analysis, file string, p *placeParams) any {
	files := textsOf(a)
	text := files.lines(file)
	actions := []codeAction{}
	for _, d := range a.List {
		named := replacement.FindStringSubmatch(d.Hint)
		where := text.span(d.Position, d.Length)
		if d.File != file || named == nil || where.Start.Line < p.Range.Start.Line || where.Start.Line > p.Range.End.Line {
			continue
		}
		line := []rune(text.at(d.Line - 1))
		from := min(max(d.Column-1, 0), len(line))
		if from < len(line) && (line[from] == '"' || line[from] == '\'') {
			from++
		}
		length := wordLength(line[from:], false)
		if diag.Suggest(string(line[from:from+length]), named[1:]) == "" {
			continue // the place is not that of the word
		}
		edit := textEdit{text.span(diag.Position{Line: d.Line, Column: from + 1}, length), named[1]}
		actions = append(actions, codeAction{
			Title: "Replace with " + strconv.Quote(named[1]), Kind: "quickfix", Diagnostics: s.diagnostics(files, file, diag.List{d}),
			Edit: workspaceEdit{Changes: map[string][]textEdit{s.uri(file): {edit}}},
		})
	}
	return actions
}

// symbols returns the documents of a file.
func (s *server) symbols(a *editor.Analysis, file string, _ *placeParams) any {
	text := linesOf(string(a.Content(file)))
	list := []documentSymbol{}
	for _, d := range a.Declared(file) {
		where := text.span(d.Position, d.Length)
		list = append(list, documentSymbol{Name: d.Title, Kind: symbolObject, Range: where, SelectionRange: where})
	}
	return list
}
