package generated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/writ-policy/writ/bundles"
	library "github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
)

// The part of all changes that generated tests must notice, in percent. At the gateway some
// changes mean the same and are not known here to: of a rule that no request can reach, as one
// of an error where the expression has none.
const (
	noticed          = 95
	noticedAtGateway = 80
)

// few changes say nothing about the part of all: so many may always be not noticed.
const few = 2

// A bundle of which one element was changed, in its tables or in generated Rego, fails its
// generated tests: a list without an entry or with one more, another word, number or
// condition. Changes that mean the same are left out. The survivors are printed.
func TestGeneratedTestsNoticeChanges(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{
		"../../examples/policies", "../conformance/deny/seed-policies/policies", "../conformance/deny/own-rules/policies",
		"../conformance/deny/overrides/policies", "../conformance/visibility/filters-older/policies", "../conformance/inheritance/authz/policies",
	} {
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, dir)
			if failed := b.failed(t, b.data, isTested); len(failed) > 0 {
				t.Fatalf("got %q for the bundle as it is, want none", failed)
			}
			b.changeTables(t, gate.Times(2))
			b.changeRego(t, gate.Times(1)) // each change compiles a bundle
		})
	}
}

func isTested(string) bool { return true }

// tested is a built bundle as OPA loads it.
type tested struct {
	modules  map[string]*ast.Module
	compiler *ast.Compiler // nil until tests run
	text     map[string]string
	data     map[string]any
}

func newBundle(t *testing.T, dir string) *tested {
	t.Helper()
	snapshot, list, err := source.Dir(dir, source.DirOptions{}).Snapshot(context.Background())
	if err != nil || list.HasErrors() {
		t.Fatalf("%v %v", err, list)
	}
	result, list := translator.New(translator.Options{Tests: true}).Translate(context.Background(), snapshot)
	if result == nil {
		t.Fatalf("%+v", list)
	}
	built, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := &tested{modules: make(map[string]*ast.Module), text: make(map[string]string), data: make(map[string]any)}
	for path, content := range built.Files {
		if strings.HasSuffix(path, ".rego") {
			if b.modules[path], err = ast.ParseModule(path, string(content)); err != nil {
				t.Fatal(err)
			}
			b.text[path] = string(content)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(built.Data.Bytes()))
	decoder.UseNumber()
	if err := decoder.Decode(&b.data); err != nil {
		t.Fatal(err)
	}
	return b
}

// compiled returns modules without the tests that are not included, and their compiler. The
// error is that of modules that do not compile.
func compiled(modules map[string]*ast.Module, isIncluded func(path string) bool) (map[string]*ast.Module, *ast.Compiler, error) {
	included := make(map[string]*ast.Module)
	for path, module := range modules {
		if !bundles.IsTest(path) || strings.HasPrefix(path, "compiled/tests/") && isIncluded(path) {
			included[path] = module
		}
	}
	compiler := ast.NewCompiler()
	library.Compile(func() { compiler.Compile(included) })
	if compiler.Failed() {
		return nil, nil, compiler.Errors
	}
	return included, compiler, nil
}

// failed returns the tests that fail with data, of the files for which isIncluded is true.
func (b *tested) failed(t *testing.T, data any, isIncluded func(path string) bool) []string {
	t.Helper()
	if b.compiler == nil {
		var err error
		if b.modules, b.compiler, err = compiled(b.modules, isTested); err != nil {
			t.Fatal(err)
		}
	}
	modules := maps.Clone(b.modules)
	maps.DeleteFunc(modules, func(path string, _ *ast.Module) bool { return bundles.IsTest(path) && !isIncluded(path) })
	return failing(t, modules, b.compiler, data)
}

func failing(t *testing.T, modules map[string]*ast.Module, compiler *ast.Compiler, data any) []string {
	t.Helper()
	failed, _, err := Failing(t.Context(), compiler, modules, inmem.NewFromObject(map[string]any{"compiled": data}))
	if evaluation, ok := errors.AsType[*topdown.Error](err); ok { // such as two values of one rule: opa test fails
		return []string{evaluation.Error()}
	}
	if err != nil {
		t.Fatal(err)
	}
	return failed
}

// score counts the changes that tests notice.
type score struct {
	all, noticed, byRequests int
	survivors                []string
}

func (s *score) add(what string, failed []string) {
	s.all++
	if len(failed) == 0 {
		s.survivors = append(s.survivors, what)
		return
	}
	s.noticed++
	if slices.ContainsFunc(failed, func(name string) bool {
		return !strings.Contains(name, "tables_test") && !strings.Contains(name, "stated_test")
	}) {
		s.byRequests++
	}
}

func (s *score) check(t *testing.T, what string, noticed int) {
	t.Helper()
	if s.all == 0 {
		return
	}
	t.Logf("%s: %d of %d changes are noticed, %d of them by requests", what, s.noticed, s.all, s.byRequests)
	for _, survivor := range s.survivors {
		t.Logf("%s: not noticed: %s", what, survivor)
	}
	if s.noticed*100 < s.all*noticed && s.all-s.noticed > few {
		t.Errorf("%s: %d of %d changes are noticed, want %d %%", what, s.noticed, s.all, noticed)
	}
}

// some returns n of the list.
func some[T any](list []T, n int) []T {
	random := rand.New(rand.NewPCG(gate.Seed(), 0))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

// change is one changed element of the tables.
type change struct {
	what string
	data any
}

func (b *tested) changeTables(t *testing.T, n int) {
	var changes []change
	for _, table := range slices.Sorted(maps.Keys(b.data)) {
		for _, c := range changesOf(b.data[table], "") {
			data := maps.Clone(b.data)
			data[table] = c.data
			changes = append(changes, change{table + c.what, data})
		}
	}
	var s score
	for _, c := range some(changes, n) {
		s.add(c.what, b.failed(t, c.data, isTested))
	}
	s.check(t, "tables", noticed)
}

// changesOf returns a JSON value with one element changed, in all ways.
func changesOf(value any, at string) []change {
	var out []change
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			without := maps.Clone(value)
			delete(without, key)
			out = append(out, change{at + "." + key + " removed", without})
			for _, c := range changesOf(value[key], at+"."+key) {
				other := maps.Clone(value)
				other[key] = c.data
				out = append(out, change{c.what, other})
			}
		}
	case []any:
		for i := range value {
			out = append(out, change{fmt.Sprintf("%s[%d] removed", at, i), slices.Delete(slices.Clone(value), i, i+1)})
			for _, c := range changesOf(value[i], fmt.Sprintf("%s[%d]", at, i)) {
				other := slices.Clone(value)
				other[i] = c.data
				out = append(out, change{c.what, other})
			}
		}
		if len(value) > 0 {
			if _, isText := value[0].(string); isText {
				out = append(out, change{at + ` with "*"`, append(slices.Clone(value), "*")}, change{at + ` with "delete"`, append(slices.Clone(value), "delete")})
			}
		}
	case string:
		out = append(out, change{at + " longer", value + "z"})
		if value != "*" {
			out = append(out, change{at + ` "*"`, "*"})
		}
	case bool:
		out = append(out, change{at + " negated", !value})
	case json.Number:
		out = append(out, change{at + " plus one", json.Number(fmt.Sprint(value, "1"))})
	}
	return out
}

func (b *tested) changeRego(t *testing.T, n int) {
	scores := make(map[string]*score)
	for _, folder := range []string{"deny/", "escalations/", "deny_resources/", "visibility/", "gateway/"} {
		var changes [][3]string // the path, what is changed, and the text
		for _, path := range slices.Sorted(maps.Keys(b.text)) {
			if strings.HasPrefix(path, "compiled/"+folder) && IsRego(path) {
				for what, text := range regoChanges(b.text[path]) {
					changes = append(changes, [3]string{path, what, text})
				}
			}
		}
		slices.SortFunc(changes, func(a, b [3]string) int { return slices.Compare(a[:], b[:]) })
		s := new(score)
		for _, c := range some(changes, n) {
			modules := maps.Clone(b.modules)
			module, err := ast.ParseModule(c[0], c[2])
			if err != nil {
				continue
			}
			modules[c[0]] = module
			included, compiler, err := compiled(modules, func(path string) bool {
				return strings.HasPrefix(path, "compiled/tests/"+folder) || folder == "deny_resources/" && strings.HasPrefix(path, "compiled/tests/deny")
			})
			if err == nil { // OPA loads no bundle that does not compile
				s.add(c[0]+": "+c[1], failing(t, included, compiler, b.data))
			}
		}
		scores[folder] = s
	}
	for _, folder := range slices.Sorted(maps.Keys(scores)) {
		want := noticed
		if folder == "gateway/" {
			want = noticedAtGateway
		}
		scores[folder].check(t, "compiled/"+folder, want)
	}
}
