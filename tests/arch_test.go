// Package tests checks the order in which packages import each other. Its folders
// hold what no one package can prove: serving and console run the built command,
// conformance the cases of each family, agreement compares engine, stock OPA and
// the oracle, and hostile attacks every endpoint.
package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/writ-policy/writ"

// flow is the packages in the order data goes through them. A package imports
// earlier lines only; packages of one line do not meet.
var flow = [][]string{
	{"translator/jsontext", "rego/builtin"},
	{"translator/diag", "translator/regotext", "rego", "translator/roles", "translator/progress", "translator/source/redirect"},
	{"translator/syntax", "translator/tables", "translator/source/ignore"},
	{"translator/settings"},
	{"translator/source"},
	{"translator/change"},
	{"translator/source/git", "translator/source/kube", "translator/implication", "translator/emit", "translator/cel", "translator/directory"},
	{"translator/extension"},
	{"translator/decisiontest", "translator/inventory", "translator/deny", "translator/visibility", "translator/gateway/document", "translator/gateway/effective"},
	{"translator/access", "translator/gateway"},
	{"translator/lint", "translator/footprint"},
	{"translator"},
	{"translator/schema"},
	{"translator/editor"},
	{"bundles"},
	{"bundles/remote"},
	{"server/memory"},
	{"server/decision", "server/view"},
	{"server/replay"},
	{"server/metrics", "server/trace", "server/auth", "server/engine/match", "server/engine/bounds", "server/engine/overdue", "server/projection"},
	{"server/engine/visibility"},
	{"server/engine", "server/cache", "server/cluster", "server/audit", "server/point"},
	{"server/api/exchange", "server/decisionlog"},
	{"server/api/access", "server/api/dashboard", "server/api/admin", "server/api/questions"},
	{"server/api/kubernetes", "server/api/origin", "server/api/authzen", "server/api/opadata"},
	{"server/reload", "server/api", "server/envoy"},
	{"server", "."},
	{"cmd/writ/pipeline", "cmd/writ/terminal", "cmd/writ/kubernetes", "cmd/writ/lsp", "cmd/writ/fleet"},
	{"cmd/writ"},
}

// importers names the only packages that may import a heavy module.
var importers = map[string][]string{
	"github.com/gin-gonic/gin":                 {"server/api"},
	"github.com/hashicorp/golang-lru/v2":       {"server/cache"},
	"github.com/prometheus/client_golang":      {"server/metrics"},
	"github.com/fsnotify/fsnotify":             {"translator/source"},
	"github.com/go-git/go-git/v5":              {"translator/source/git"},
	"k8s.io/client-go":                         {"server/cluster", "translator/source/kube"},
	"github.com/spf13/cobra":                   {"cmd/writ"},
	"github.com/KimMachineGun/automemlimit":    {"cmd/writ"},
	"cel.dev/cel-go":                           {"translator/cel"},
	"github.com/sourcegraph/jsonrpc2":          {"cmd/writ/lsp"},
	"google.golang.org/grpc":                   {"server/envoy"},
	"github.com/open-policy-agent/opa/v1/rego": {"server/engine"},
	"oras.land/oras-go/v2":                     {"bundles/remote"},
	"github.com/coreos/go-oidc/v3":             {"server/auth"},
	"github.com/go-jose/go-jose/v4":            {"server/auth"},

	"github.com/open-policy-agent/opa/v1/plugins": {"bundles/remote", "server/decisionlog"},
	"go.opentelemetry.io":                         {"server/trace"},
}

// outside are packages that no package imports and that may import any.
var outside = []string{"tests", "deploy"}

// The imports are read from the files, not asked of the go command: a test that
// runs a command is answered from the test cache and stays green.
func TestImportsFlowOneWay(t *testing.T) {
	line := make(map[string]int)
	for i, packages := range flow {
		for _, name := range packages {
			line[name] = i
		}
	}
	found := 0
	for name, imports := range packageImports(t) {
		if slices.ContainsFunc(outside, func(o string) bool { return name == o || strings.HasPrefix(name, o+"/") }) {
			continue
		}
		found++
		at, listed := line[name]
		if !listed {
			t.Errorf("package %s has no line in the flow", name)
			continue
		}
		for _, imported := range imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok {
				if below, ok := line[own]; !ok || below >= at {
					t.Errorf("%s imports %s, which is not on an earlier line of the flow", name, own)
				}
			}
			for heavy, allowed := range importers {
				if (imported == heavy || strings.HasPrefix(imported, heavy+"/")) && !slices.Contains(allowed, name) {
					t.Errorf("%s imports %s, which only %v may import", name, imported, allowed)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d packages, which cannot be all", found)
	}
}

// packageImports is the imports of each package's own files, tests left out.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := make(map[string][]string)
	root := ".."
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); file != root && (strings.HasPrefix(name, ".") || name == "testdata" || hasModule(file)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		name := path.Clean(filepath.ToSlash(rel))
		imports[name] = append(imports[name], paths(parsed)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

func paths(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// hasModule reports whether a folder below the top is a module of its own.
func hasModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
