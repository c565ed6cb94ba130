package tests

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// namingTenant is how many production files may name the attribute tenant of access requests:
// the table of such attributes with what is derived of this one, the structs that have a field
// of it, and what searches know of it alone. An attribute that follows from no other has three.
const namingTenant = 5

// ofClusters are files about the tenant of a cluster, which a document or a list of clusters
// states: requests get theirs from it.
var ofClusters = map[string]string{
	"analysis/companion/":              "a companion is made for one cluster and its tenant",
	"cmd/writ/kubernetes_admission.go": "has the flags of a companion",
	"server/cluster/":                  "reads the list of clusters",
	"server/companions.go":             "asks about companions of the clusters of that list",
	"translator/escalation/":           "decodes ClusterConfigs",
}

// A scalar attribute of access requests is a row of tables.ScopeAttributes. What decodes, emits,
// projects, compares and shows requests loops over the table and names no attribute. The lists of
// tables.Tenants do not count: they lead from clusters to their tenants.
func TestFilesThatNameAnAttribute(t *testing.T) {
	name, list := regexp.MustCompile(`(?i)tenant([^s]|$)`), regexp.MustCompile(`(?i)tenant`)
	var naming []string
	walkProduction(t, func(file string, parsed *ast.File) {
		for prefix := range ofClusters {
			if strings.HasPrefix(file, prefix) {
				return
			}
		}
		found := false
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				found = found || name.MatchString(n.Name)
			case *ast.BasicLit:
				found = found || list.MatchString(n.Value)
			case *ast.SelectorExpr:
				x, _ := n.X.(*ast.Ident)
				found = found || n.Sel.Name == "Tenants" && (x == nil || x.Name != "tables")
			}
			return true
		})
		if found {
			naming = append(naming, file)
		}
	})
	if !slices.Contains(naming, "translator/tables/deny.go") {
		t.Error("the table of attributes does not name it")
	}
	if len(naming) > namingTenant {
		t.Errorf("%d files name the attribute tenant, want at most %d:\n%s", len(naming), namingTenant, strings.Join(naming, "\n"))
	} else if len(naming) < namingTenant {
		t.Logf("%d files name it: the limit of %d can be lowered", len(naming), namingTenant)
	}
}
