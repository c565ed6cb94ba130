package tests

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// Each exported method is called or named outside of its package, or implements an
// interface: one of this module, of the language, or one that standardMethods lists. Calls
// are found by name alone, so a dead method with the name of a living one is not found.
// Packages writ and client are the API that is promised.
func TestExportedMethodsAreUsed(t *testing.T) {
	declared := make(map[string][]string) // name to folders
	known := make(map[string]bool)        // implemented for callers elsewhere
	used := make(map[string]map[string]bool)
	walkSources(t, func(file string, parsed *ast.File) {
		folder := path.Dir(file)
		isProduction := folder != "." && folder != "client" && !strings.HasPrefix(folder, "tests") && !strings.HasSuffix(file, "_test.go")
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if isProduction && n.Recv != nil && ast.IsExported(n.Name.Name) && ast.IsExported(receiver(n.Recv.List[0].Type)) {
					declared[n.Name.Name] = append(declared[n.Name.Name], folder)
				}
			case *ast.InterfaceType:
				for _, m := range n.Methods.List {
					for _, name := range m.Names {
						known[name.Name] = true
					}
				}
			case *ast.SelectorExpr:
				if used[n.Sel.Name] == nil {
					used[n.Sel.Name] = make(map[string]bool)
				}
				used[n.Sel.Name][folder] = true
			}
			return true
		})
	})
	var dead []string
	for name, folders := range declared {
		for _, folder := range folders {
			elsewhere := len(used[name]) > 1 || len(used[name]) == 1 && !used[name][folder]
			if !elsewhere && !known[name] && !slices.Contains(standardMethods, name) {
				dead = append(dead, folder+"."+name)
			}
		}
	}
	slices.Sort(dead)
	if len(dead) > 0 {
		t.Errorf("%d exported methods are used by no other package:\n%s", len(dead), strings.Join(dead, "\n"))
	}
	if len(declared) < 100 {
		t.Errorf("found %d exported methods, which cannot be all", len(declared))
	}
}

// standardMethods are those of interfaces of other modules that types of this one implement.
var standardMethods = []string{"Error", "GoString", "MarshalJSON"}
