package lsp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
	"github.com/writ-policy/writ/translator/source"
)

// The verdict is above its assertion and in a hover, until the text changes.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = "apiVersion: writ.dev/v1\nkind: Assertions\nmetadata: {name: a}\nspec:\n  assertions:\n    - {name: x, never: allowed}\n"
	role := "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}\n"
	for name, content := range map[string]string{"a.yaml": text, "r.yaml": role} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &server{ctx: t.Context(), dir: dir, workspace: editor.Open(dir, translator.Options{}, source.DirOptions{})}
	asked := 0
	s.o.Verify = func(_ context.Context, a *editor.Analysis) ([]Verdict, error) {
		asked++
		return []Verdict{{diag.Position{File: "a.yaml", Line: 6, Column: 8}, "fails: eve may", "**fails**: eve may"}}, nil
	}
	a, err := s.workspace.Analyse(t.Context())
	if err != nil || a.Result == nil {
		t.Fatal(err, a.List)
	}
	s.verify(nil, a)
	shown := func(a *editor.Analysis) string {
		lenses, err := json.Marshal(s.lenses(a, "a.yaml", nil))
		if err != nil {
			t.Fatal(err)
		}
		return string(lenses) + s.verdictAt(a, diag.Position{File: "a.yaml", Line: 6, Column: 20})
	}
	const want = `[{"range":{"start":{"line":5,"character":7},"end":{"line":5,"character":8}},"command":{"title":"fails: eve may","command":""}}]**fails**: eve may`
	if got := shown(a); got != want || asked != 1 {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := s.verdictAt(a, diag.Position{File: "a.yaml", Line: 5, Column: 1}); got != "" {
		t.Errorf("another line has the verdict %q", got)
	}
	s.workspace.Edit("a.yaml", strings.Replace(text, "x", "y", 1))
	if a, err = s.workspace.Analyse(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := shown(a); got != "[]" {
		t.Errorf("another text has the verdicts %s", got)
	}
}
