package generated

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"

	library "github.com/writ-policy/writ/rego"
)

// Failing runs the generated tests among modules, which the compiler has compiled, with the data
// of a store. It returns the tests that fail, by the names that OPA's runner gives them, and how
// many ran. A test without cases fails too.
//
// OPA's runner records a trace of every test with cases, to print them, which takes most of its
// time, and compiles the modules each time.
func Failing(ctx context.Context, compiler *ast.Compiler, modules map[string]*ast.Module, store storage.Store) (failed []string, ran int, err error) {
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		if !strings.HasSuffix(path, "_test.rego") {
			continue
		}
		module := modules[path]
		counts, err := count(ctx, compiler, store, module)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if ran++; counts[name][0] == 0 || counts[name][1] > 0 {
				failed = append(failed, module.Package.Path.String()+"."+name)
			}
		}
	}
	return failed, ran, nil
}

// count returns how many cases each test of a module has, and how many of them fail.
func count(ctx context.Context, compiler *ast.Compiler, store storage.Store, module *ast.Module) (map[string][2]int, error) {
	var members []string
	for _, rule := range module.Rules {
		ref := rule.Head.Ref()
		name := ref[0].Value.String()
		if !strings.HasPrefix(name, "test_") {
			continue
		}
		cases := "true"
		if len(ref) > 1 { // test_x[note] if some note, row in ...
			cases = rule.Body[0].String()
		}
		members = append(members, fmt.Sprintf("%q: [count([1 | %s]), count([1 | %s; not %s])]", name, cases, cases, ref))
	}
	var prepared rego.PreparedEvalQuery
	var err error
	library.Compile(func() {
		prepared, err = rego.New(rego.Compiler(compiler), rego.Store(store), rego.ParsedPackage(module.Package),
			rego.Query("{"+strings.Join(members, ", ")+"}")).PrepareForEval(ctx)
	})
	if err != nil {
		return nil, err
	}
	result, err := prepared.Eval(ctx)
	if err != nil || len(result) != 1 {
		return nil, fmt.Errorf("got %v and %w", result, err)
	}
	text, err := json.Marshal(result[0].Expressions[0].Value)
	if err != nil {
		return nil, err
	}
	var counts map[string][2]int
	return counts, json.Unmarshal(text, &counts)
}
