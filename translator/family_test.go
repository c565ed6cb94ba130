package translator_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/tests/bell"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

func translateBells(t *testing.T, documents string) (*translator.Result, diag.List) {
	t.Helper()
	translator := translator.NewWith(translator.Options{}, func() translator.Family { return new(bell.Family) })
	return translator.Translate(t.Context(), source.Snapshot{Files: []source.File{source.NewFile("bells.yaml", []byte(documents))}})
}

const bells = `
apiVersion: example.com/v1
kind: Bell
metadata: {name: tower}
spec: {ringers: [ann], with: [gate]}
---
apiVersion: example.com/v1
kind: Bell
metadata: {name: gate}
spec: {ringers: [bob]}
---
apiVersion: writ.dev/v1
kind: DecisionTest
metadata: {name: bells}
spec: {point: bell, cases: [{name: c, request: {user: ann, bell: gate}, expect: {allowed: true}}]}
`

// A family is a folder and one line in the registry: everything from YAML to the
// answers of a stock OPA follows from what the family implements.
func TestNewFamily(t *testing.T) {
	result, list := translateBells(t, bells)
	if result == nil {
		t.Fatal(list)
	}
	b, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := bundles.Check(b); err != nil {
		t.Error(err)
	}
	if got := b.Manifest.Metadata.Counts; len(got) != 1 || got["bell/Bell"] != 2 {
		t.Errorf("counts: got %v, want two bells", got)
	}
	if got := b.Manifest.Metadata.Entrypoints; !slices.Contains(got, "compiled/bell/decision") {
		t.Errorf("entrypoints: got %q, want that of the family as well", got)
	}
	if got := tables.Of[*bell.Table](b.Tables); got == nil || !b.Features.Has("bells") {
		t.Errorf("got table %v and features %v", got, b.Features)
	}
	var data struct {
		Features map[string]bool
		Bells    bell.Table `json:"bell_tables"`
	}
	if err := json.Unmarshal(b.Data.Bytes(), &data); err != nil {
		t.Fatal(err)
	}
	if !data.Features["bells"] || !slices.Equal(data.Bells.Ringers["gate"], []string{"ann", "bob"}) && !slices.Equal(data.Bells.Ringers["gate"], []string{"bob", "ann"}) {
		t.Errorf("data: got %+v", data)
	}
	path := filepath.Join(t.TempDir(), "bundle")
	if err := b.WriteDir(path); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		user, bell string
		want       bool
	}{
		{"ann", "tower", true}, {"ann", "gate", true}, {"bob", "gate", true}, {"bob", "tower", false}, {"eve", "yard", false},
	} {
		set, err := rego.New(rego.LoadBundle(path), rego.Query("data.compiled.bell.decision.allowed"),
			rego.Input(map[string]any{"user": row.user, "bell": row.bell})).Eval(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(set) != 1 || set[0].Expressions[0].Value != row.want {
			t.Errorf("%s sounds %s: got %v, want %v", row.user, row.bell, set, row.want)
		}
	}
}

// The diagnostics of the shared phases know the kinds of a new family as well.
func TestNewFamilyDiagnostics(t *testing.T) {
	for _, row := range []struct {
		name, documents string
		code            diag.Code
		hint            string
	}{
		{"unknown field", strings.Replace(bells, "with:", "width:", 1), diag.UnknownField, `"with"`},
		{"unknown kind", strings.Replace(bells, "kind: Bell", "kind: Bel", 1), diag.UnknownKind, `"Bell"`},
		{"no version", strings.Replace(bells, "apiVersion: example.com/v1", "", 1), diag.UnknownKind, "apiVersion: example.com/v1"},
		{"dangling reference", strings.Replace(bells, "with: [gate]", "with: [yard]", 1), diag.DanglingRole, ""},
		{"unknown point", strings.Replace(bells, "point: bell", "point: bel", 1), diag.BadValue, "access, visibility, gateway, bell"},
		{"declared twice", strings.Replace(bells, "name: gate", "name: tower", 1), diag.Duplicate, "remove one"},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, list := translateBells(t, row.documents)
			found := slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
				return d.Code == row.code && d.File == "bells.yaml" && d.Line > 0 && strings.Contains(d.Hint, row.hint)
			})
			if result != nil || !found {
				t.Errorf("got %v, want %s with a hint of %q", list, row.code, row.hint)
			}
		})
	}
}
