// Package tests checks the order in which packages import each other. Its folders
// hold what no one package can prove: serving and console run the built command,
// conformance the cases of each family, agreement compares engine, stock OPA and
// the oracle, roads the endpoints with one another, and hostile attacks each of them.
package tests

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/writ-policy/writ"

// flow is the packages in the order data goes through them. A package imports
// earlier lines only; packages of one line do not meet.
var flow = [][]string{
	{"internal/jsontext", "internal/junit", "internal/linediff", "internal/elements", "internal/parallel", "translator/dates", "rego/builtin"},
	{"translator/diag", "translator/regotext", "rego", "translator/roles", "internal/progress", "internal/redirect"},
	{"translator/syntax", "translator/tables", "translator/source/ignore"},
	{"translator/rule"},
	{"translator/settings", "translator/vocabulary", "translator/selector", "analysis/shrink/edit"},
	{"translator/source"},
	{"analysis/regions"},
	{"translator/source/git", "translator/source/kube", "translator/emit", "translator/cel", "translator/directory"},
	{"translator/assertion"},
	{"analysis/statement"},
	{"translator/lint/risk"},
	{"analysis/diff", "analysis/question", "analysis/filter", "analysis/companion"},
	{"translator/extension"},
	{"translator/decisiontest", "translator/inventory", "translator/deny", "translator/session", "translator/visibility", "translator/gateway/document", "translator/gateway/effective"},
	{"translator/access", "translator/gateway", "translator/escalation"},
	{"translator/lint/accept"},
	{"translator/lint", "translator/footprint"},
	{"translator"},
	{"translator/schema"},
	{"translator/editor"},
	{"bundles"},
	{"bundles/remote"},
	{"internal/limits"},
	{"server/decision", "server/console", "server/console/page/html"},
	{"server/console/page/piece"},
	{"analysis/judge", "analysis/replay", "analysis/reach", "server/console/page"},
	{"analysis/verify"},
	{"analysis/assertions"},
	{"analysis/mutants"},
	{"analysis/shrink"},
	{"server/metrics", "server/trace", "server/auth", "server/engine/match", "server/engine/bounds", "server/engine/overdue", "server/projection"},
	{"server/engine/visibility", "server/engine/gateway"},
	{"server/filters"},
	{"server/lists"},
	{"server/engine", "server/cache", "server/cluster", "server/audit", "server/point"},
	{"server/api/exchange", "server/api/openapi", "server/decisionlog"},
	{"server/api/access", "server/api/dashboard", "server/api/admin", "server/api/questions", "server/console/handler"},
	{"server/api/kubernetes", "server/api/origin", "server/api/authzen", "server/api/opadata"},
	{"server/api/aggregated"},
	{"server/reload", "server/console/answers", "server/api", "server/envoy"},
	{"server/proofs"},
	{"server", ".", "client"},
	{"cmd/writ/pipeline", "cmd/writ/terminal", "cmd/writ/kubernetes", "cmd/writ/lsp"},
	{"cmd/writ/cli"},
	{"cmd/writ/documents", "cmd/writ/fleet"},
	{"cmd/writ/bundle", "cmd/writ/changes", "cmd/writ/evaluate"},
	{"cmd/writ/serve"},
	{"cmd/writ"},
}

// deciding are the packages that decide. They do not import the analysis, which states what
// documents mean a second time, for questions.
var deciding = []string{"server/decision", "server/projection", "server/engine", "server/cache"}

func TestDecidingImportsNoAnalysis(t *testing.T) {
	found := 0
	for name, imports := range packageImports(t) {
		if !slices.ContainsFunc(deciding, func(d string) bool { return name == d || strings.HasPrefix(name, d+"/") }) {
			continue
		}
		found++
		for _, imported := range imports {
			if strings.Contains(imported, "/analysis/") {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	if found < len(deciding) {
		t.Errorf("found %d packages that decide", found)
	}
}

// commands are the packages of the command line.
var commands = []string{
	"cmd/writ", "cmd/writ/bundle", "cmd/writ/changes", "cmd/writ/cli", "cmd/writ/documents", "cmd/writ/evaluate", "cmd/writ/fleet", "cmd/writ/serve",
}

// importers names the only packages that may import a heavy module.
var importers = map[string][]string{
	"github.com/gin-gonic/gin":                 {"server/api"},
	"github.com/hashicorp/golang-lru/v2":       {"server/cache"},
	"github.com/prometheus/client_golang":      {"server/metrics"},
	"github.com/fsnotify/fsnotify":             {"translator/source"},
	"github.com/go-git/go-git/v5":              {"translator/source/git"},
	"k8s.io/client-go":                         {"server/cluster", "translator/source/kube"},
	"github.com/spf13/cobra":                   commands,
	"github.com/KimMachineGun/automemlimit":    {"cmd/writ/serve"},
	"maragu.dev/gomponents":                    {"server/console/page/html"},
	"cel.dev/cel-go":                           {"translator/cel"},
	"github.com/sourcegraph/jsonrpc2":          {"cmd/writ/lsp"},
	"google.golang.org/grpc":                   {"server/envoy"},
	"github.com/open-policy-agent/opa/v1/rego": {"server/engine"},
	"oras.land/oras-go/v2":                     {"bundles/remote"},
	"github.com/coreos/go-oidc/v3":             {"server/auth"},
	"github.com/go-jose/go-jose/v4":            {"server/auth"},

	"github.com/open-policy-agent/opa/v1/plugins": {"bundles/remote", "server/decisionlog"},
	"go.opentelemetry.io":                         {"server/trace"},

	// A program that runs a template keeps every method of its types: 12 MB.
	"html/template": nil,
	"text/template": nil,

	// They link the types of every resource of Kubernetes: 100 packages, 16 MB.
	"k8s.io/client-go/discovery":  nil,
	"k8s.io/client-go/kubernetes": nil,
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

// alone are packages that judge the prover of assertions, and share no code with it.
var alone = []string{"tests/certificate", "tests/smt/encode"}

func TestSecondJudgesImportNothing(t *testing.T) {
	imports := packageImports(t)
	for _, name := range alone {
		if len(imports[name]) == 0 {
			t.Errorf("package %s is not there", name)
		}
		for _, imported := range imports[name] {
			if strings.Contains(imported, ".") {
				t.Errorf("%s imports %s, which is not of the standard library", name, imported)
			}
		}
	}
}

// largestFolder is how many production files a folder may have. A larger one is two folders.
const largestFolder = 25

func TestFoldersAreSmall(t *testing.T) {
	files := make(map[string]int)
	walkSources(t, func(file string, _ *ast.File) {
		if !strings.HasSuffix(file, "_test.go") {
			files[path.Dir(file)]++
		}
	})
	if len(files) < 10 {
		t.Errorf("found %d folders, which cannot be all", len(files))
	}
	for folder, n := range files {
		if n > largestFolder {
			t.Errorf("%s has %d files: a folder has at most %d", folder, n, largestFolder)
		}
	}
}

// packageImports is the imports of each package's own files, tests left out.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := make(map[string][]string)
	walkSources(t, func(file string, parsed *ast.File) {
		if !strings.HasSuffix(file, "_test.go") {
			imports[path.Dir(file)] = append(imports[path.Dir(file)], paths(parsed)...)
		}
	})
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
