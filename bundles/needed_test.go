package bundles

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/rego"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/tables"
)

// What a query or a document refers to is compiled with it, directly or not; other modules
// of the library are not.
func TestCompileFor(t *testing.T) {
	const vip = "writ/extensions/vip/vip_2erego.rego"
	for _, row := range []struct {
		name, extension string
		queries         []string
		with, without   []string // beginnings of paths
	}{
		{"access", "", []string{"data.writ.access.grants"}, []string{"writ/access/compact/", "writ/shape/", vip}, []string{"writ/visibility/", "writ/cel/", "writ/gateway/"}},
		{"a folder of rules", "", []string{"data.writ.visibility"}, []string{"writ/visibility/items/", "writ/shape/"}, []string{"writ/gateway/", "writ/cel/"}},
		{"a query with a variable", "", []string{"[value | value := data.writ.gateway[input.name].decision]"}, []string{"writ/gateway/", "writ/access/"}, []string{"writ/visibility/"}},
		{"all", "", []string{"data"}, []string{"writ/access/", "writ/visibility/", "writ/gateway/", "writ/cel/"}, nil},
		{"an extension imports", "import data.writ.cel\n\nholds(_, _) if cel.equals(1, 1)", nil, []string{"writ/cel/"}, []string{"writ/access/", "writ/gateway/"}},
		{"an extension refers by a variable", "holds(_, _) if {\n\tsome name\n\tdata.writ[name]\n}", nil, []string{"writ/visibility/", "writ/cel/"}, nil},
		{"an extension names a rule by a reference", "names[data.writ.tables.gateway].x := 1", nil, []string{"writ/tables/"}, []string{"writ/access/"}},
		{"an extension replaces data", "holds(_, _) if data.writ.access.grants with data.writ.tables as {}", nil, []string{"writ/access/", "writ/tables/"}, []string{"writ/cel/"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			access := translated(1)
			files := compiledFiles()
			if row.extension != "" {
				files[vip] = []byte("package writ.extensions.vip\n\n" + row.extension + "\n")
			}
			b, err := assemble(tables.List{access}, nil, BuildOptions{}, accessData(t, access), rego.Files(), files)
			check(t, err)
			modules, err := b.modules(isModule, nil, needed(row.queries))
			check(t, err)
			all, err := modules.parsed()
			check(t, err)
			kept := slices.Sorted(maps.Keys(all))
			has := func(beginning string) bool {
				return slices.ContainsFunc(kept, func(path string) bool { return strings.HasPrefix(path, beginning) })
			}
			for _, beginning := range row.with {
				if !has(beginning) {
					t.Errorf("%s is left out: got %q", beginning, kept)
				}
			}
			for _, beginning := range row.without {
				if has(beginning) {
					t.Errorf("%s is kept: got %q", beginning, kept)
				}
			}
		})
	}
}

// Each part of the library compiles with no more than the modules that it refers to.
func TestLibraryCompilesInParts(t *testing.T) {
	b := sample(t)
	packages := map[string]bool{}
	for path := range rego.Files() {
		module, err := parse(path, b.Files[path])
		check(t, err)
		packages[module.Package.Path[:3].String()] = true // data.writ.access
	}
	if len(packages) < 4 {
		t.Errorf("found %d parts, which cannot be all", len(packages))
	}
	for name := range packages {
		rego.Compile(func() {
			_, err := CompileFor(b, []string{name}, nil)
			check(t, err)
		})
	}
}

// exampleBundle is the bundle of documents of all families.
func exampleBundle(t *testing.T) *Bundle {
	t.Helper()
	snapshot, _, err := source.Dir("../examples/policies", source.DirOptions{}).Snapshot(t.Context())
	check(t, err)
	result, list := translator.New(translator.Options{}).Translate(t.Context(), snapshot)
	if result == nil {
		t.Fatal(list)
	}
	b, err := Build(result, BuildOptions{})
	check(t, err)
	return b
}

// writtenByWrit selects the modules that authors did not write.
func writtenByWrit(path string) bool { return !translator.IsAuthored(path) }

// Of what this version writes for tables, modules are left out as those of the library are: those
// of visibility policies at the access point, the tables of routes where one rule is asked.
func TestCompileForLeavesOutEmittedModules(t *testing.T) {
	b := exampleBundle(t)
	for _, row := range []struct {
		query         string
		with, without []string // beginnings of paths
	}{
		{"data.writ.access.findings", []string{"compiled/deny/", "compiled/deny_resources"}, []string{"compiled/visibility/", "compiled/gateway/"}},
		{"[value | value := data.compiled.gateway.judged[input.rule]]", []string{"compiled/gateway/authpolicy-"}, []string{"compiled/gateway/gateways", "compiled/gateway/effective/", "compiled/deny/"}},
		{"data.writ.gateway.judgement", []string{"compiled/gateway/authpolicy-", "compiled/gateway/gateways", "compiled/gateway/effective/"}, []string{"compiled/visibility/"}},
		{"data.writ.visibility.decision", []string{"compiled/visibility/"}, []string{"compiled/gateway/"}},
	} {
		m, err := b.modules(isModule, writtenByWrit, needed([]string{row.query}))
		check(t, err)
		all, err := m.parsed()
		check(t, err)
		has := func(beginning string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(path string) bool { return strings.HasPrefix(path, beginning) })
		}
		for _, beginning := range row.with {
			if !has(beginning) {
				t.Errorf("%s: %s is left out", row.query, beginning)
			}
		}
		for _, beginning := range row.without {
			if has(beginning) {
				t.Errorf("%s: %s is kept", row.query, beginning)
			}
		}
	}
}

// Where OPA has resolved all names, nothing that is compiled for a query refers to a rule of a
// module that was left out.
func TestNothingRefersToWhatIsLeftOut(t *testing.T) {
	b := exampleBundle(t)
	var compiled map[string]*ast.Module
	rego.Compile(func() {
		compiler, err := Compile(b)
		check(t, err)
		compiled = compiler.Modules
	})
	refers := referrers(compiled)
	all, err := b.modules(isModule, writtenByWrit, everything)
	check(t, err)
	leftOut := 0
	for _, query := range queriesOf(compiled) {
		m := all
		m.library, m.emitted = maps.Clone(all.library), maps.Clone(all.emitted)
		check(t, needed([]string{query})(&m))
		kept, err := m.parsed()
		check(t, err)
		for path := range compiled {
			if kept[path] != nil {
				continue
			}
			leftOut++
			if i := slices.IndexFunc(refers[path], func(from string) bool { return kept[from] != nil }); i >= 0 {
				t.Fatalf("%s: %s refers to %s, which is left out", query, refers[path][i], path)
			}
		}
	}
	if leftOut == 0 {
		t.Error("no query leaves out a module")
	}
}

// referrers returns, by the path of a module, the paths of those that refer to a rule of it.
func referrers(modules map[string]*ast.Module) map[string][]string {
	answers := make(map[string]*parsedModule)
	for path, module := range modules {
		answers[path] = &parsedModule{defines: definitions(module)}
	}
	list := make(map[string][]string)
	for from, module := range modules {
		refs := refersToRules(module)
		for path, answering := range answers {
			if slices.ContainsFunc(refs, answering.answers) {
				list[path] = append(list[path], from)
			}
		}
	}
	return list
}

// queriesOf returns the packages of some modules, and a rule of each other one.
func queriesOf(modules map[string]*ast.Module) []string {
	queries := make(map[string]bool)
	for i, path := range slices.Sorted(maps.Keys(modules)) {
		module := modules[path]
		if i%3 == 0 || len(module.Rules) == 0 {
			queries[module.Package.Path.String()] = true
		} else {
			queries[module.Rules[i%len(module.Rules)].Ref().GroundPrefix().String()] = true
		}
	}
	return slices.Sorted(maps.Keys(queries))
}
