package translator

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/writ-policy/writ/translator/lint"
	"github.com/writ-policy/writ/translator/source"
)

// FuzzTranslate runs all phases over whatever is written: nothing panics, what
// has no error has tables that are JSON, and diagnostics point into the files.
func FuzzTranslate(f *testing.F) {
	for _, g := range goldens(f) {
		var documents, rego string
		for _, file := range g.snapshot("").Files {
			if strings.HasSuffix(file.Path, ".rego") {
				rego = string(file.Content.Bytes())
			} else {
				documents += "---\n" + string(file.Content.Bytes())
			}
		}
		f.Add(documents, rego)
	}
	f.Fuzz(func(t *testing.T, documents, rego string) {
		files := map[string]string{"a.yaml": documents, "b.rego": rego}
		s := source.Snapshot{Files: []source.File{file("a.yaml", documents)}}
		if rego != "" {
			s.Files = append(s.Files, file("b.rego", rego))
		}
		result, list := New(Options{Tests: true}).Translate(t.Context(), s)
		if (result == nil) != list.HasErrors() {
			t.Fatalf("got result %v with diagnostics %v", result != nil, list)
		}
		if result != nil {
			list = append(list, Lint(result, lint.Ends{Now: time.Unix(1_800_000_000, 0)})...)
			list = append(list, LintAuthor(result, nil, lint.Author{User: "alice"}, time.Unix(1_800_000_000, 0))...)
			if !json.Valid(result.Data.Bytes()) {
				t.Errorf("got invalid JSON in the data: %s", result.Data.Bytes())
			}
		}
		for _, d := range list {
			text, known := files[d.File]
			if d.File != "" && (!known || d.Line < 1 || d.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 || d.Column < 1) {
				t.Errorf("got a position outside the files: %+v", d)
			}
			if !utf8.ValidString(d.Message) || strings.Contains(d.Message, "\n") {
				t.Errorf("got a message that is not one line of text: %q", d.Message)
			}
		}
	})
}
