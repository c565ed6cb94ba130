package console

import (
	"path/filepath"
	"testing"
)

// The page of each family shows what its documents and commands are.
func TestFirstPoliciesShowWhatCommandsPrint(t *testing.T) {
	pages, err := filepath.Glob("../../docs/first-*.md")
	if err != nil || len(pages) != 5 {
		t.Fatalf("got %d pages and %v, want 5", len(pages), err)
	}
	for _, page := range append(pages, "../../docs/sessions.md") {
		t.Run(filepath.Base(page), func(t *testing.T) { checkConsole(t, page) })
	}
}
