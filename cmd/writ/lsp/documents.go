package lsp

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sourcegraph/jsonrpc2"
)

// notified handles a notification. Ones that are not known or not valid are ignored, as the
// protocol requires.
func (s *server) notified(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Method == "exit" {
		s.exit.Do(func() { close(s.exited) })
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
			s.edit(c, file, p.TextDocument.documentID, p.TextDocument.Text)
		}
	case "textDocument/didChange":
		s.didChange(c, r)
	case "textDocument/didClose":
		var p openParams
		if file := s.file(decoded(r, &p).TextDocument.URI); file != "" {
			s.close(file)
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

func (s *server) didChange(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var p changeParams
	file := s.file(decoded(r, &p).TextDocument.URI)
	text, isOpen := s.workspace.Text(file)
	if !isOpen {
		return
	}
	for _, change := range p.ContentChanges {
		text = replace(text, change)
	}
	s.edit(c, file, p.TextDocument, text)
}

// close makes the stored text of a document count.
func (s *server) close(file string) {
	s.mu.Lock()
	delete(s.open, file)
	s.mu.Unlock()
	s.workspace.Close(file)
	s.changed()
}

// maxOpen bounds the texts of open documents in bytes.
const maxOpen = 256 << 20

// edit sets the text of an open document. A document that is too large, with those that are
// open, keeps the text that is stored.
func (s *server) edit(c *jsonrpc2.Conn, file string, id documentID, text string) {
	s.mu.Lock()
	size := len(text)
	for name, d := range s.open {
		if name != file {
			size += d.size
		}
	}
	isTooLarge := size > maxOpen
	if !isTooLarge {
		s.open[file] = &document{uri: id.URI, version: id.Version, size: len(text)}
	}
	s.mu.Unlock()
	if isTooLarge {
		s.log(c, fmt.Sprintf("%s is not analysed as it is edited: open documents have more than %d bytes", file, maxOpen))
		s.close(file)
		return
	}
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
	return uriOf(filepath.Join(s.dir, filepath.FromSlash(file)))
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
