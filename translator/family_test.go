package translator_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// bell is a document of a family that exists only in this test. It lists the users who
// may sound the bell and the bells that sound with it.
type bell struct {
	syntax.Header
	ringers []string
	with    []syntax.Text
}

// bellTable holds, by bell, who may sound it.
type bellTable struct{ ringers map[string][]string }

func (*bellTable) Key() string                 { return "bell_tables" }
func (t *bellTable) IsEmpty() bool             { return len(t.ringers) == 0 }
func (t *bellTable) Features() tables.Features { return tables.Features{"bells": !t.IsEmpty()} }
func (*bellTable) Entrypoint() string          { return "compiled/bell/decision" }
func (t *bellTable) JSON() ([][]byte, error) {
	text, err := json.Marshal(t.ringers)
	return [][]byte{text}, err
}

// bellFamily is the family as a package of its own would have it.
type bellFamily struct {
	bells []*bell
	table *bellTable
}

func (*bellFamily) Kinds() syntax.Kinds    { return syntax.KindsOf("example.com/v1", decodeBell, "Bell") }
func (*bellFamily) NewTable() tables.Table { return new(bellTable) }

func decodeBell(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	b := &bell{Header: d.Header("bell", "example.com/v1", "Bell", kind.Key)}
	c := d.Cursor(n, "Bell", false)
	c.At = kind.Key
	c.Skip("apiVersion", "kind")
	if m := c.RequiredMapping("metadata"); m != nil {
		d.NameInto(m, &b.Header)
		m.Done()
	}
	if spec := c.RequiredMapping("spec"); spec != nil {
		ringers, _ := spec.Texts("ringers")
		for _, ringer := range ringers {
			b.ringers = append(b.ringers, ringer.Value)
		}
		with, _ := spec.Texts("with")
		for _, other := range with {
			b.with = append(b.with, d.Text(other))
		}
		spec.Done()
	}
	c.Done()
	d.Out = append(d.Out, b)
}

func (f *bellFamily) Resolve(d *directory.Directory) {
	f.bells = directory.DocumentsOf[*bell](d)
	for _, b := range f.bells {
		for _, other := range b.with {
			if d.Find(directory.Identity{Family: "bell", Kind: "Bell", Name: other.Value}) == nil {
				d.List.Add(diag.Diagnostic{Position: other.At, Code: diag.DanglingRole, Message: fmt.Sprintf("bell %q is not declared", other.Value)})
			}
		}
	}
}

func (f *bellFamily) Lower() (tables.Table, diag.List) {
	f.table = &bellTable{ringers: make(map[string][]string)}
	for _, b := range f.bells {
		f.table.ringers[b.Name] = slices.Concat(f.table.ringers[b.Name], b.ringers)
		for _, other := range b.with {
			f.table.ringers[other.Value] = slices.Concat(f.table.ringers[other.Value], b.ringers)
		}
	}
	return f.table, nil
}

func (f *bellFamily) Emit(emit.Options) map[string][]byte {
	return map[string][]byte{"compiled/bell/bell.rego": []byte(`package compiled.bell

default decision := {"allowed": false}

decision := {"allowed": true} if {
	some ringer in data.compiled.bell_tables[input.bell]
	ringer == input.user
}
`)}
}

func translateBells(t *testing.T, documents string) (*translator.Result, diag.List) {
	t.Helper()
	translator := translator.NewWith(translator.Options{}, func() translator.Family { return new(bellFamily) })
	return translator.Translate(t.Context(), source.Snapshot{Files: []source.File{{Path: "bells.yaml", Content: []byte(documents)}}})
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
	if got := tables.Of[*bellTable](b.Tables); got == nil || !b.Features.Has("bells") {
		t.Errorf("got table %v and features %v", got, b.Features)
	}
	var data struct {
		Features map[string]bool
		Bells    map[string][]string `json:"bell_tables"`
	}
	if err := json.Unmarshal(b.Files[bundles.DataPath], &data); err != nil {
		t.Fatal(err)
	}
	if !data.Features["bells"] || !slices.Equal(data.Bells["gate"], []string{"ann", "bob"}) && !slices.Equal(data.Bells["gate"], []string{"bob", "ann"}) {
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
