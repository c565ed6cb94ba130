package lsp

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/editor"
	"github.com/writ-policy/writ/translator/source"
)

const typed = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: shop}
rules: [{apiGroups: [""], resources: ["pods"], verbs: ["gett"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ann, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
`

// analysed returns a server with an analysis of one open file.
func analysed(t testing.TB, text string) (*server, *editor.Analysis) {
	t.Helper()
	dir := t.TempDir()
	w := editor.Open(dir, translator.Options{}, source.DirOptions{})
	w.Edit("a.yaml", text)
	s := &server{ctx: t.Context(), dir: dir, phase: ready, workspace: w, open: map[string]*document{}, published: map[string]string{}, analysed: make(chan struct{})}
	a, err := w.Analyse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.analysis = a
	return s, a
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCodeActionsReplaceTheWord(t *testing.T) {
	t.Parallel()
	s, a := analysed(t, typed)
	at := &placeParams{Range: span{position{3, 0}, position{3, 99}}}
	actions, _ := s.codeActions(a, "a.yaml", at).([]codeAction)
	if len(actions) != 1 || actions[0].Title != `Replace with "get"` {
		t.Fatalf("got %+v, want one replacement", actions)
	}
	for _, edits := range actions[0].Edit.Changes {
		edited := replace(typed, contentChange{&edits[0].Range, edits[0].NewText})
		if want := strings.Replace(typed, "gett", "get", 1); edited != want {
			t.Errorf("got %s", edited)
		}
	}
	if other := encoded(t, s.codeActions(a, "a.yaml", &placeParams{})); other != "[]" {
		t.Errorf("another line: got %s", other)
	}
}

func TestSymbolsAndHolders(t *testing.T) {
	t.Parallel()
	s, a := analysed(t, typed)
	if got := encoded(t, s.symbols(a, "a.yaml", nil)); !strings.Contains(got, `"Role shop/reader"`) || !strings.Contains(got, `"RoleBinding shop/ann"`) {
		t.Errorf("got symbols %s", got)
	}
	for _, line := range []int{2, 8} {
		column := strings.Index(strings.Split(typed, "\n")[line], "reader")
		if got := encoded(t, s.hover(a, "a.yaml", &placeParams{Position: position{line, column + 1}})); !strings.Contains(got, "ann") || !strings.Contains(got, "in namespace shop, by RoleBinding shop/ann") {
			t.Errorf("line %d: got %s, want who holds the role", line, got)
		}
	}
}

// The work for an answer is that for the text and that for each place, not their product.
func TestManyPlacesOfOneFile(t *testing.T) {
	role, binding, _ := strings.Cut(typed, "---\n")
	const count = 1000
	var text strings.Builder
	text.WriteString(role)
	for i := range count {
		text.WriteString("---\n" + strings.Replace(binding, "name: ann,", fmt.Sprintf("name: ann-%d,", i), 1))
	}
	s, a := analysed(t, text.String())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	places, _ := s.references(a, "a.yaml", &placeParams{Position: position{2, 17}}).([]location)
	runtime.ReadMemStats(&after)
	if len(places) != count {
		t.Errorf("got %d places, want %d", len(places), count)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 50*uint64(text.Len()) {
		t.Errorf("the answer took %d bytes for a text of %d", took, text.Len())
	}
}

func TestCompletionReplacesTheWholeWord(t *testing.T) {
	t.Parallel()
	text := strings.Replace(typed, "name: reader}\nsubjects", "name: rea-old}\nsubjects", 1)
	s, _ := analysed(t, text)
	_, a := analysed(t, typed)
	column := strings.Index(strings.Split(text, "\n")[8], "rea-old") + len("rea")
	items, _ := s.completion(a, "a.yaml", &placeParams{Position: position{8, column}}).([]completionItem)
	if len(items) != 1 {
		t.Fatalf("got %+v, want one item", items)
	}
	if got := replace(text, contentChange{&items[0].TextEdit.Range, items[0].TextEdit.NewText}); got != typed {
		t.Errorf("got %s", got)
	}
}

// The phases that find warnings do not run when a document has an error.
func TestErrorKeepsWarningsOfOtherFiles(t *testing.T) {
	t.Parallel()
	s, a := analysed(t, typed)
	warned := len(s.withKept(a, a.List))
	s.workspace.Edit("b.yaml", "kind: [")
	b, err := s.workspace.Analyse(t.Context())
	if err != nil || b.Result != nil {
		t.Fatalf("got %v and a result, want errors", err)
	}
	var kept diag.List
	for _, d := range s.withKept(b, b.List) {
		if d.File == "a.yaml" {
			kept = append(kept, d)
		}
	}
	if warned == 0 || len(kept) != warned {
		t.Errorf("got %v, want %d warnings", kept, warned)
	}
	s.workspace.Edit("a.yaml", "# mended\n")
	if b, err = s.workspace.Analyse(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, d := range s.withKept(b, b.List) {
		if d.File == "a.yaml" {
			t.Errorf("got %v of a text that is gone", d)
		}
	}
}

// Positions and documents of an editor are not trusted.
func TestHostilePlaces(t *testing.T) {
	t.Parallel()
	s, a := analysed(t, typed)
	numbers := []int{math.MinInt, -1, 0, 1, 3, 40, 1 << 30, math.MaxInt}
	for _, line := range numbers {
		for _, character := range numbers {
			for _, file := range []string{"a.yaml", "unknown.yaml", "", "../a.yaml"} {
				p := &placeParams{Position: position{line, character}, Range: span{position{line, character}, position{character, line}}}
				for _, answer := range []func(*editor.Analysis, string, *placeParams) any{s.hover, s.definition, s.references, s.completion, s.codeActions, s.symbols} {
					_ = encoded(t, answer(a, file, p))
				}
				_ = replace(typed, contentChange{&p.Range, "X"})
			}
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add("textDocument/didChange", `{"textDocument":{"uri":"file:///a.yaml"},"contentChanges":[{"range":{"start":{"line":-1},"end":{"line":9e18}},"text":"x"}]}`)
	f.Add("textDocument/didOpen", `{"textDocument":{"uri":"file:///../../etc/passwd","text":"kind: ["}}`)
	f.Add("$/cancelRequest", `{"id":{}}`)
	f.Add("textDocument/codeAction", `[]`)
	f.Fuzz(func(t *testing.T, method, params string) {
		if method == "exit" {
			return
		}
		s, _ := analysed(t, typed)
		s.wake = make(chan struct{}, 1)
		raw := json.RawMessage(strings.ReplaceAll(params, "file:///", "file://"+filepath.ToSlash(s.dir)+"/"))
		r := &jsonrpc2.Request{Method: method, Params: &raw, Notif: true}
		s.notified(nil, r)
		s.seen = s.edits
		_, _ = s.answer(t.Context(), r)
		if _, err := os.Stat(filepath.Join(s.dir, "a.yaml")); err == nil {
			t.Error("the server wrote a file")
		}
	})
}
