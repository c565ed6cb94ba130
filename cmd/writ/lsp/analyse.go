package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
)

const (
	// gather is how long edits are gathered before an analysis: one key may be several.
	gather = 20 * time.Millisecond
	// idle is how long nothing must be typed before documents are compiled, which takes
	// longer than an analysis.
	idle = 500 * time.Millisecond
)

// analyse analyses the directory after edits until the connection ends.
func (s *server) analyse(c *jsonrpc2.Conn) {
	for {
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
		for isNew := true; isNew; {
			s.pause(gather)
			a := s.analyseOnce(c)
			isNew = a != nil && a.Result != nil && s.compileWhenIdle(c, a)
		}
	}
}

// pause returns after a time, or when the connection ends.
func (s *server) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
	}
}

// analyseOnce returns nil if the directory cannot be read; its last analysis remains.
func (s *server) analyseOnce(c *jsonrpc2.Conn) (a *editor.Analysis) {
	s.mu.Lock()
	edits := s.edits
	s.mu.Unlock()
	defer func() {
		// A panic would end the editor's session over one document.
		if cause := recover(); cause != nil {
			s.log(c, fmt.Sprintf("the documents were not analysed: %v", cause))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if a != nil {
			s.analysis = a
		}
		s.seen = edits
		close(s.analysed)
		s.analysed = make(chan struct{})
	}()
	a, err := s.workspace.Analyse(s.ctx)
	if err != nil {
		s.log(c, err.Error())
		return nil
	}
	s.publish(c, a, s.withKept(a, a.List), edits)
	return a
}

// compileWhenIdle compiles documents without errors if nothing is typed for a while, and
// reports whether something was.
func (s *server) compileWhenIdle(c *jsonrpc2.Conn, a *editor.Analysis) bool {
	select {
	case <-s.wake:
		return true
	case <-s.ctx.Done():
		return false
	case <-time.After(idle):
	}
	list, err := s.o.Compile(s.ctx, a.Result)
	if err != nil {
		s.log(c, err.Error())
	} else if len(list) > 0 {
		s.publish(c, a, s.withKept(a, slices.Concat(a.List, list).Sorted()), -1)
	}
	s.verify(c, a)
	return false
}

// keptWarnings are the warnings of a file whose directory had no errors, and its text then.
type keptWarnings struct {
	text []byte
	list diag.List
}

// withKept returns a list with the warnings that files without a change had before the
// directory had errors: the phases that find them do not run then.
func (s *server) withKept(a *editor.Analysis, list diag.List) diag.List {
	if a.Result == nil {
		for _, file := range slices.Sorted(maps.Keys(s.kept)) {
			if bytes.Equal(a.Content(file), s.kept[file].text) {
				list = slices.Concat(list, s.kept[file].list)
			}
		}
		return list.Sorted()
	}
	s.kept = make(map[string]keptWarnings)
	for _, d := range list {
		if d.Severity == diag.Warning && d.File != "" {
			s.kept[d.File] = keptWarnings{a.Content(d.File), append(s.kept[d.File].list, d)}
		}
	}
	return list
}

// publish sends the diagnostics of the files for which they have changed.
func (s *server) publish(c *jsonrpc2.Conn, a *editor.Analysis, list diag.List, edits int) {
	byFile := make(map[string]diag.List)
	for _, d := range list {
		byFile[d.File] = append(byFile[d.File], d)
	}
	for file := range s.published {
		if _, has := byFile[file]; !has {
			byFile[file] = nil
		}
	}
	files := textsOf(a)
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		diagnostics := s.diagnostics(files, file, byFile[file])
		text, err := json.Marshal(diagnostics)
		if err != nil || s.published[file] == string(text) {
			continue
		}
		s.published[file] = string(text)
		if len(diagnostics) == 0 {
			delete(s.published, file)
		}
		if file == "" {
			for _, d := range byFile[file] {
				s.log(c, d.Message)
			}
			continue
		}
		_ = c.Notify(s.ctx, "textDocument/publishDiagnostics", publishParams{
			documentID: documentID{URI: s.uri(file), Version: s.version(file, edits)}, Diagnostics: diagnostics,
		})
	}
}

// version returns that of an open file if nothing was typed since so many edits.
func (s *server) version(file string, edits int) *int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[file]; d != nil && s.edits == edits {
		return d.version
	}
	return nil
}

// diagnostics converts those of one file.
func (s *server) diagnostics(files *texts, file string, list diag.List) []diagnostic {
	text := files.lines(file)
	out := make([]diagnostic, 0, len(list))
	for _, d := range list {
		severity := severityError
		if d.Severity == diag.Warning {
			severity = severityWarning
		}
		message := d.Message
		if d.Hint != "" {
			message += "\n" + d.Hint
		}
		one := diagnostic{Range: text.span(d.Position, d.Length), Severity: severity, Code: string(d.Code), Source: "writ", Message: message}
		for _, r := range d.Related {
			if at, ok := s.location(files, editor.Range{Position: r.Position, Length: 1}); ok {
				one.Related = append(one.Related, related{at, r.Message})
			}
		}
		out = append(out, one)
	}
	return out
}

// location returns where a range is, and whether it is in a file of the directory.
func (s *server) location(files *texts, r editor.Range) (location, bool) {
	text := files.lines(r.File)
	if text == nil {
		return location{}, false
	}
	return location{s.uri(r.File), text.span(r.Position, r.Length)}, true
}
