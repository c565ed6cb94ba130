package answers

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// repository has a role, a Secret of its own file, one beside a role, one in a list and
// values of a chart.
const repository = `== apps/secret.yaml
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: hunter2-a}
== apps/values.yaml
password: hunter2-b
== rbac/list.yaml
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: t}
  data:
    password: hunter2-c
    more: |
      hunter2-d
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: listed}
  rules: []
== rbac/mixed.yaml
apiVersion: v1
kind: Secret
metadata: {name: u}
stringData:
  password: hunter2-e
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
`

// Secrets of a repository are not shown, neither as files nor beside documents, in
// differences or with diagnostics.
func TestSecretsOfTheRepositoryAreNotShown(t *testing.T) {
	s := newSite(t, repository)
	v := s.explorer.Now()
	files, err := v.Files(all)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files.Files {
		names = append(names, f.File)
	}
	if got, want := strings.Join(names, " "), "rbac/list.yaml rbac/mixed.yaml"; got != want {
		t.Errorf("the files are %s, want %s", got, want)
	}
	for _, name := range []string{"apps/secret.yaml", "apps/values.yaml"} {
		if _, err := v.Document(all, name, 0); reasonOf(err) != console.NotFound {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
	for _, name := range names {
		d, err := v.Document(all, name, 0)
		if err != nil {
			t.Fatal(err)
		}
		if shown := text(t, d); strings.Contains(shown, "hunter2") {
			t.Errorf("%s shows a Secret: %s", name, shown)
		}
	}
	mixed, err := v.Document(all, "rbac/mixed.yaml", 0)
	if err != nil {
		t.Fatal(err)
	}
	if mixed.Lines[0] != "# kind: Secret, not shown" || mixed.Lines[8] != "metadata: {name: viewer}" {
		t.Errorf("the lines are %q", mixed.Lines)
	}

	first := s.active.Loaded().Revision
	broken := strings.ReplaceAll(strings.ReplaceAll(repository, "verbs: [get]", "verbs: 1"), "name: t}", "name: t")
	if s.load(broken) == nil {
		t.Fatal("broken documents are active")
	}
	v = s.explorer.Now()
	if files, err = v.Files(all); err != nil {
		t.Fatal(err)
	}
	shown := text(t, files)
	for _, name := range names {
		d, err := v.Document(all, name, 0)
		if err != nil {
			t.Fatal(err)
		}
		shown += text(t, d)
	}
	if strings.Contains(shown, "hunter2") {
		t.Errorf("an error shows a Secret: %s", shown)
	}

	changed := strings.ReplaceAll(strings.ReplaceAll(repository, "hunter2", "hunter2-new"), "verbs: [get]", "verbs: [get, list]")
	if err := s.load(changed); err != nil {
		t.Fatal(err)
	}
	d, err := s.explorer.Now().Diff(t.Context(), all, first, s.active.Loaded().Revision)
	if err != nil {
		t.Fatal(err)
	}
	if shown := text(t, d.Texts); strings.Contains(shown, "hunter2") || !strings.Contains(shown, "list") {
		t.Errorf("the difference is %s", shown)
	}
}

// Whatever way a value is written, no part of it is left.
func TestDataIsMasked(t *testing.T) {
	for _, written := range []string{
		"data: {a: hunter2}\n", "data: {\na: hunter2,\nb: hunter2}\n", "\"data\":\n{\n\"a\": \"hunter2\"\n}\n", "stringData: # here\n  a: hunter2\n",
		"data:\n\n  a: |-\n\n    hunter2\n", "- kind: Secret\n  data:\n    a: hunter2\n", "- data:\n    a: hunter2\n", "- - data:\n      a: hunter2\n",
		`{"kind": "Secret", "data": {"a": "hunter2"}}` + "\n", "metadata:\n  annotations:\n    a: |\n      {\"stringData\":{\"a\":\"hunter2\"}}\n",
		`a: "{\"data\":{\"a\":\"hunter2\"}}"` + "\n", "data : {a: hunter2}\n", "{apiVersion: v1,data: {a: hunter2}}\n", "'data': >\n  hunter2\n",
	} {
		got := string(shownText([]byte(written+"kind: Role\nrules: []\n"), []int{1}))
		if strings.Contains(got, "hunter2") {
			t.Errorf("%q is shown as %q", written, got)
		}
		if !strings.HasSuffix(got, "kind: Role\nrules: []\n") || strings.Count(got, "\n") != strings.Count(written, "\n")+2 {
			t.Errorf("%q has other lines: %q", written, got)
		}
	}
}

// A mistake that is taken back by the old text has no diagnostics any more.
func TestDiagnosticsEndWithTheMistake(t *testing.T) {
	s := newSite(t, policies)
	good := Attempt{Files: s.explorer.attempt.Files, Documents: s.explorer.attempt.Documents}
	if s.load(strings.Replace(policies, "precedence: 10", "precedence: x", 1)) == nil {
		t.Fatal("broken documents are active")
	}
	files, err := s.explorer.Now().Files(all)
	if err != nil || files.Errors == 0 {
		t.Fatalf("%+v, %v: want errors", files, err)
	}
	s.explorer.Attempted(Attempt{Known: true, Revision: s.active.Loaded().Revision}) // another change, such as of the pin
	if files, err = s.explorer.Now().Files(all); err != nil || files.Errors == 0 {
		t.Fatalf("%+v, %v: want the errors still", files, err)
	}
	s.explorer.Attempted(Attempt{Known: true, Read: true, Files: good.Files, Documents: good.Documents, Revision: s.active.Loaded().Revision})
	if files, err = s.explorer.Now().Files(all); err != nil || files.Errors != 0 || len(files.Diagnostics) != 0 {
		t.Errorf("%+v, %v: want no errors", files, err)
	}
}

// A refused change is shown on its own text, and the counts of the served text are not.
func TestRefusedChangeIsShownOnItsText(t *testing.T) {
	s := newSite(t, policies)
	moved := strings.Replace(policies, "== deny.yaml\n", "== deny.yaml\n# one\n# two\n# three\n", 1)
	if s.load(strings.Replace(moved, "precedence: 10", "precedence: x", 1)) == nil {
		t.Fatal("broken documents are active")
	}
	d, err := s.explorer.Now().Document(all, "deny.yaml", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Diagnostics) == 0 || !strings.Contains(d.Lines[d.Diagnostics[0].Line-1], "precedence: x") {
		t.Errorf("%+v is shown at %q", d.Diagnostics, d.Lines)
	}
	if d.Note == "" || len(d.Documents) != 0 {
		t.Errorf("note %q, documents %+v: want a note, and no counts of another text", d.Note, d.Documents)
	}
}

// What is kept of earlier files is what is shown of files that are read for the first time.
func TestShownFilesAreKept(t *testing.T) {
	contents := []string{"kind: Role\n---\nkind: Secret\ndata: {a: hunter2}\n", "kind: Role\ndata: {a: x}\n", "kind: Role\n", ""}
	rapid.Check(t, func(t *rapid.T) {
		var kept shown
		for range rapid.IntRange(1, 6).Draw(t, "attempts") {
			var files []source.File
			var found diag.List
			for i := range rapid.IntRange(0, 3).Draw(t, "files") {
				content := rapid.SampledFrom(contents).Draw(t, "content")
				f := source.File{Path: fmt.Sprint(i, rapid.SampledFrom([]string{".yaml", ".json", ".rego"}).Draw(t, "extension")), Content: source.TextOf([]byte(content)), Hash: sha256.Sum256([]byte(content)), Object: rapid.IntRange(0, 5).Draw(t, "is object") == 0}
				files = append(files, f)
				for range rapid.IntRange(0, 2).Draw(t, "lines") {
					found.Add(diag.Diagnostic{Position: diag.Position{File: f.Path, Line: rapid.SampledFrom([]int{1, 3}).Draw(t, "line")}})
				}
			}
			got, want := kept.files(files, nil, found), new(shown).files(files, nil, found)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}
