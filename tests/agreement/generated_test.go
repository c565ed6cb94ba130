package agreement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/translator/tables"
)

// brokenPerRole is how many rules of each role are broken, one at a time: the
// rows of one test are alike, and each break compiles everything anew.
const brokenPerRole = 2

// A generated test that cannot fail proves nothing: a rule of the examples that
// is broken in the tables makes the test of its role fail.
func TestGeneratedTestsFailWhenTheirRuleIsBroken(t *testing.T) {
	t.Parallel()
	built, err := bundles.Build(translate(t, filepath.Join("..", "..", "examples", "policies")), bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if failed := failedTests(t, built, tables.Of[*tables.Access](built.Tables), "tests/access"); len(failed) > 0 {
		t.Fatalf("tests fail although nothing is broken: %q", failed)
	}
	broken := 0
	for key, role := range tables.Of[*tables.Access](built.Tables).Roles.All() {
		for number := range min(len(role.Kubernetes)+len(role.Origin), brokenPerRole) {
			name, ok := testOf(built, *role, number)
			if !ok {
				continue
			}
			broken++
			access := copyAccess(t, tables.Of[*tables.Access](built.Tables))
			if role.Family == tables.FamilyOrigin {
				access.Roles.At(key).Origin[number].Verbs = []string{"broken"}
			} else {
				access.Roles.At(key).Kubernetes[number].Verbs = []string{"broken"}
			}
			if failed := failedTests(t, built, access, name); len(failed) == 0 {
				t.Errorf("role %s, rule %d is broken and no test fails", key, number)
			}
		}
	}
	t.Logf("broke %d rules", broken)
	if broken < 5 {
		t.Errorf("broke %d rules, which is too few to show anything", broken)
	}
}

// The same of deny policies: without its rules, or without what it makes of pods,
// the policy's test fails.
func TestGeneratedTestsFailWhenTheirPolicyIsBroken(t *testing.T) {
	t.Parallel()
	broken := 0
	for _, suite := range []string{"seed-policies", "library"} {
		built, err := bundles.Build(translate(t, filepath.Join("..", "conformance", "deny", suite, "policies")), bundles.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range slices.Sorted(maps.Keys(built.Files)) {
			name, ok := strings.CutPrefix(path, "compiled/deny/")
			if !ok {
				continue
			}
			for _, set := range []string{"rules", "pods"} {
				if !bytes.Contains(built.Files[path], []byte("\n"+set+" contains ")) {
					continue
				}
				broken++
				other := *built
				other.Files = maps.Clone(built.Files)
				other.Files[path] = bytes.ReplaceAll(built.Files[path], []byte("\n"+set+" contains "), []byte("\nbroken contains "))
				test := "deny/" + regexp.QuoteMeta(strings.TrimSuffix(name, ".rego")) + "_test"
				if failed := failedTests(t, &other, tables.Of[*tables.Access](built.Tables), test); len(failed) == 0 {
					t.Errorf("%s has no %s and no test fails", path, set)
				}
			}
		}
	}
	if broken < 5 {
		t.Errorf("broke %d policies, which is too few to show anything", broken)
	}
}

// The same of visibility policies: a rule that selects no cluster, grants nothing or
// has other entries makes its policy's test fail, and so does a policy that no subject
// finds.
func TestGeneratedTestsFailWhenTheirVisibilityPolicyIsBroken(t *testing.T) {
	gate.Only(t)
	t.Parallel()
	built, err := bundles.Build(translate(t, filepath.Join("..", "conformance", "visibility", "filters-older", "policies")), bundles.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for i := range tables.Of[*tables.Visibility](built.Tables).Policies {
		p := &tables.Of[*tables.Visibility](built.Tables).Policies[i]
		path := "compiled/visibility/" + p.Module + ".rego"
		if !p.Applies || broken > 12 {
			continue
		}
		try := func(what, path, old, replacement string) {
			if !bytes.Contains(built.Files[path], []byte(old)) {
				return
			}
			broken++
			other := *built
			other.Files = maps.Clone(built.Files)
			other.Files[path] = bytes.ReplaceAll(built.Files[path], []byte(old), []byte(replacement))
			tests := "visibility/" + regexp.QuoteMeta(p.Module) + "_test"
			if failed := failedTests(t, &other, tables.Of[*tables.Access](built.Tables), tests); len(failed) == 0 {
				t.Errorf("%s is broken in %s and no test fails", what, p.Name)
			}
		}
		try("its clusters", path, "\nclusters contains ", "\nbroken contains ")
		try("its time", path, "\nholds if", "\nbroken if")
		try("its permissions", bundles.DataPath, `"permissions":["view`, `"permissions":["broken`)
		try("its entries", bundles.DataPath, `"visibility":"`, `"visibility":"broken `)
		try("whom it is for", bundles.DataPath, fmt.Sprintf("%q:[%d", p.SubjectKeys()[0], i), fmt.Sprintf("%q:[%d", "broken", i))
	}
	t.Logf("broke %d things", broken)
	if broken < 8 {
		t.Errorf("broke %d things, which is too few to show anything", broken)
	}
}

// testOf finds the generated test of a rule. A rule whose role has no
// binding, or whose restriction is written in Rego, has none.
func testOf(built *bundles.Bundle, role tables.Role, number int) (name string, ok bool) {
	for path, content := range built.Files {
		if bundles.IsTest(path) && bytes.Contains(content, []byte("source: "+role.Source+"\n")) {
			name := strings.TrimSuffix(filepath.Base(path), ".rego")
			return regexp.QuoteMeta(name), bytes.Contains(content, fmt.Appendf(nil, `"rule %d":`, number))
		}
	}
	return "", false
}

func copyAccess(t *testing.T, access *tables.Access) *tables.Access {
	t.Helper()
	copied := new(tables.Access)
	if err := json.Unmarshal(encode(t, access), copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// failedTests runs the bundle's tests in the files of that name over other tables.
func failedTests(t *testing.T, built *bundles.Bundle, access *tables.Access, name string) []string {
	t.Helper()
	compiled := tree(t, built.Files[bundles.DataPath]).(map[string]any)
	compiled["access"] = tree(t, encode(t, access))
	return newStockOver(t, built, compiled, regexp.MustCompile(name).MatchString).test(t)
}
