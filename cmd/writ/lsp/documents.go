package lsp

import (
	"context"

	"github.com/sourcegraph/jsonrpc2"
)

// notified handles a notification. Ones that are not known or not valid are ignored, as the
// protocol requires.
func (s *server) notified(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Method == "exit" {
		close(s.exited)
		return
	}
	s.mu.Lock()
	now := s.phase
	s.mu.Unlock()
	if now != ready {
		return
	}
	switch r.Method {
	case "$/cancelRequest":
		s.cancel(r)
	case "textDocument/didOpen":
		var p openParams
		if file := s.file(decoded(r, &p).TextDocument.URI); file != "" {
			s.edit(file, p.TextDocument.documentID, p.TextDocument.Text)
		}
	case "textDocument/didChange":
		s.didChange(r)
	case "textDocument/didClose":
		var p openParams
		if file := s.file(decoded(r, &p).TextDocument.URI); file != "" {
			s.mu.Lock()
			delete(s.open, file)
			s.mu.Unlock()
			s.workspace.Close(file)
			s.changed()
		}
	case "textDocument/didSave", "workspace/didChangeWatchedFiles":
		s.workspace.Changed()
		s.changed()
	default:
	}
}

// decoded reads the parameters of a notification, as far as they are valid.
func decoded[P any](r *jsonrpc2.Request, p *P) *P {
	if err := decode(r, p); err != nil {
		*p = *new(P)
	}
	return p
}

func (s *server) cancel(r *jsonrpc2.Request) {
	var p struct {
		ID jsonrpc2.ID `json:"id"`
	}
	if err := decode(r, &p); err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.running[p.ID]; cancel != nil {
		cancel()
	}
}

func (s *server) didChange(r *jsonrpc2.Request) {
	var p changeParams
	file := s.file(decoded(r, &p).TextDocument.URI)
	text, isOpen := s.workspace.Text(file)
	if !isOpen {
		return
	}
	for _, change := range p.ContentChanges {
		text = replace(text, change)
	}
	s.edit(file, p.TextDocument, text)
}

// edit sets the text of an open document.
func (s *server) edit(file string, id documentID, text string) {
	s.mu.Lock()
	s.open[file] = &document{uri: id.URI, version: id.Version}
	s.mu.Unlock()
	s.workspace.Edit(file, text)
	s.changed()
}

// changed requests an analysis.
func (s *server) changed() {
	s.mu.Lock()
	s.edits++
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // one is requested already
	}
}

// uri returns the URI of a file in the directory, as the editor writes it.
func (s *server) uri(file string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[file]; d != nil {
		return d.uri
	}
	return uriOf(joined(s.dir, file))
}

// wait returns when the analysis has all edits that were received before the call.
func (s *server) wait(ctx context.Context) error {
	s.mu.Lock()
	edits := s.edits
	for s.seen < edits {
		analysed := s.analysed
		s.mu.Unlock()
		select {
		case <-analysed:
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	return nil
}
