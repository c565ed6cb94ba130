package lsp

import (
	"bytes"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
)

// Verdict is the verdict of an assertion.
type Verdict struct {
	// Position is that of the first key of the assertion.
	diag.Position
	// Title is the verdict in a line, Detail what is behind it as Markdown.
	Title, Detail string
}

// proven are verdicts, and the documents that they are about.
type proven struct {
	list []Verdict
	of   *editor.Analysis
}

// verify verifies the assertions of documents without errors, and asks the editor to show it.
func (s *server) verify(c *jsonrpc2.Conn, a *editor.Analysis) {
	list, err := s.o.Verify(s.ctx, a)
	if err != nil {
		s.log(c, err.Error())
		return
	}
	s.mu.Lock()
	s.verdicts = proven{list, a}
	canRefresh := s.canRefresh && len(list) > 0
	s.mu.Unlock()
	if canRefresh {
		_, _ = c.DispatchCall(s.ctx, "workspace/codeLens/refresh", nil)
	}
}

// verdictsOf returns the verdicts of a file, none if its text has changed since.
func (s *server) verdictsOf(a *editor.Analysis, file string) (out []Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.verdicts.of == nil || !bytes.Equal(a.Content(file), s.verdicts.of.Content(file)) {
		return nil
	}
	for _, v := range s.verdicts.list {
		if v.File == file {
			out = append(out, v)
		}
	}
	return out
}

// lenses returns the verdict above each assertion of a file.
func (s *server) lenses(a *editor.Analysis, file string, _ *placeParams) any {
	text := linesOf(string(a.Content(file)))
	out := []codeLens{}
	for _, v := range s.verdictsOf(a, file) {
		out = append(out, codeLens{text.span(v.Position, 1), command{Title: v.Title}})
	}
	return out
}

// verdictAt returns the verdict of the assertion that begins in a line, as Markdown.
func (s *server) verdictAt(a *editor.Analysis, at diag.Position) string {
	var parts []string
	for _, v := range s.verdictsOf(a, at.File) {
		if v.Line == at.Line {
			parts = append(parts, v.Detail)
		}
	}
	return strings.Join(parts, "\n\n")
}

// codeLens is a line of text above a place. Its command does nothing.
type codeLens struct {
	Range   span    `json:"range"`
	Command command `json:"command"`
}

type command struct {
	Title   string `json:"title"`
	Command string `json:"command"`
}
