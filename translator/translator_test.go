package translator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

func TestTranslateIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	translator := New(Options{})
	result, list := translator.Translate(ctx, generated(200))
	if result != nil || len(list) != 1 || list[0].Code != diag.Interrupted {
		t.Errorf("got result %v and %v, want only the diagnostic %s", result, list, diag.Interrupted)
	}
	mustTranslate(t, translator, generated(200))
}

// Ten thousand mistakes in one document do not hide the mistakes of other documents.
func TestManyMistakesAreCounted(t *testing.T) {
	text := "kind: role\nname: r\nnamespace: master\nrules:\n" +
		strings.Repeat("  - {verbs: [get], resourceKinds: [--x]}\n", 10_000)
	_, list := New(Options{}).Translate(t.Context(), source.Snapshot{Files: []source.File{
		file("many.yaml", text),
		file("other.yaml", "kind: role\nname: s\nnamespace: hammer\n"),
	}})
	count := make(map[diag.Code]int)
	for _, d := range list {
		count[d.Code]++
	}
	if len(list) > 2000 || count[diag.TooManyMistakes] != 1 || count[diag.NoPolicy] != 1 {
		t.Errorf("got %v, want few of the mistakes, their number, and those of the other file", count)
	}
}

// Errors are kept before warnings, and what is left out is counted.
func TestManyDiagnosticsAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range maxDiagnostics {
		fmt.Fprintf(&text, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r%d}\n"+
			"aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\n", i)
	}
	for _, row := range []struct {
		name   string
		other  string
		errors int
	}{
		{"warnings alone", "kind: role\nname: s\nnamespace: master\n", 0},
		{"an error among them", "kind: roleBinding\nname: b\nnamespace: master\nroleName: gone\nuserNames: [a]\n", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, list := New(Options{}).Translate(t.Context(), source.Snapshot{Files: []source.File{
				file("many.yaml", text.String()), file("other.yaml", row.other),
			}})
			if (result == nil) != (row.errors > 0) {
				t.Errorf("got result %v with %d errors", result != nil, row.errors)
			}
			if errors, _ := list.Count(); errors != row.errors || len(list) != maxDiagnostics+1 {
				t.Errorf("got %d diagnostics with %d errors, want %d with %d", len(list), errors, maxDiagnostics+1, row.errors)
			}
			if got, want := list[0].Code, diag.TooManyMistakes; got != want {
				t.Errorf("got %s first, want %s", got, want)
			}
		})
	}
}

// A document that was handed out must not change when it is translated again.
func TestTranslateLeavesDocumentsAsTheyAre(t *testing.T) {
	translator := New(Options{})
	snapshot := generated(200)
	first, err := json.Marshal(tables.Of[*tables.Access](mustTranslate(t, translator, snapshot).Tables))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := json.Marshal(tables.Of[*tables.Access](mustTranslate(t, translator, snapshot).Tables))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, first) {
			t.Fatal("got other tables than the first time")
		}
	}
}
