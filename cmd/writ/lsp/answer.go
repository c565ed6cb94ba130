package lsp

import (
	"context"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
)

// answer returns the result of a request about a place in a document; null if it has
// none.
func (s *server) answer(ctx context.Context, r *jsonrpc2.Request) (any, error) {
	answers := map[string]func(*editor.Analysis, string, *placeParams) any{
		"textDocument/hover":      s.hover,
		"textDocument/definition": s.definition,
		"textDocument/references": s.references,
		"textDocument/completion": s.completion,
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
	var parts []string
	for _, d := range a.At(at(a, file, p.Position)) {
		parts = append(parts, editor.Explanation(d))
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
	for _, r := range ranges {
		if l, ok := s.location(a, r); ok {
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
	kind, suffix := kindValue, ""
	if c.IsKey {
		kind = kindField
		if !strings.HasPrefix(string(line[column:]), ":") {
			suffix = ": "
		}
	}
	for _, label := range c.Items {
		items = append(items, completionItem{label, kind, textEdit{span{start, p.Position}, label + suffix}})
	}
	return items
}
