package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// promises is the heading of the promises in SECURITY.md.
const promises = "## What is promised\n"

var (
	testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
	// testReference is a package, by its folder, and a test in it.
	testReference = regexp.MustCompile("`([a-z][a-z0-9_/]*)\\.((?:Test|Fuzz)[A-Z]\\w*)`")
)

// Each promise of SECURITY.md names a test that holds it, and each named test exists.
func TestPromisesHaveTests(t *testing.T) {
	page, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := make(map[string]map[string]bool)
	exists := func(folder, test string) bool {
		if declared[folder] == nil {
			declared[folder] = declaredTests(t, folder)
		}
		return declared[folder][test]
	}
	for _, mistake := range mistakesOfPage(string(page), exists) {
		t.Error(mistake)
	}
}

// Mistakes in a page are found.
func TestMistakesOfPage(t *testing.T) {
	exists := func(folder, test string) bool { return folder+"."+test == "server/engine.TestIt" }
	for name, row := range map[string]struct{ page, want string }{
		"a promise with a test":        {promises + "- **A.** Tests:\n  `server/engine.TestIt`.\n", ""},
		"no test":                      {promises + "- **A.** Tests: `server/engine.TestIt`.\n- **B.** Text.\n", "names no test: **B.** Text."},
		"a test of another promise":    {promises + "- **A.** Text.\n- **B.** Tests: `server/engine.TestIt`.\n", "names no test: **A.** Text."},
		"an unknown test":              {promises + "- **A.** Tests: `server/engine.TestIts`.\n", "server/engine.TestIts does not exist"},
		"a test of another package":    {promises + "- **A.** Tests: `server.TestIt`.\n", "server.TestIt does not exist"},
		"a test without a package":     {promises + "- **A.** Tests: `TestIt`.\n", "names no test: **A.** Tests: `TestIt`.\nTestIt must be written as `PACKAGE.TestIt`"},
		"an unknown test elsewhere":    {promises + "- **A.** Tests: `server/engine.TestIt`.\n## Rest\nSee `server.FuzzIt`.\n", "server.FuzzIt does not exist"},
		"a list of what is not":        {promises + "- **A.** Tests: `server/engine.TestIt`.\n## Rest\n- **B.** Text.\n", ""},
		"a subsection without promise": {promises + "### A\nText.\n### B\n- **A.** Tests: `server/engine.TestIt`.\n", "no promises below A"},
		"no promises":                  {promises + "## Rest\n", "no promises below What is promised"},
		"no section":                   {"# Security\n", "the page has no section \"What is promised\""},
	} {
		if got := strings.Join(mistakesOfPage(row.page, exists), "\n"); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

// mistakesOfPage returns a line for each promise without a test and each reference to a
// test that does not exist; nil if it has no mistakes.
func mistakesOfPage(page string, exists func(folder, test string) bool) []string {
	_, section, found := strings.Cut(page, promises)
	if !found {
		return []string{`the page has no section "What is promised"`}
	}
	section, _, _ = strings.Cut("\n"+section, "\n## ")
	var mistakes []string
	for i, part := range strings.Split("### What is promised\n"+section, "### ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		items := strings.Split("\n"+text, "\n- ")[1:]
		if len(items) == 0 && (i > 0 || !strings.Contains(section, "### ")) {
			mistakes = append(mistakes, "no promises below "+title)
		}
		for _, item := range items {
			if !testReference.MatchString(item) {
				mistakes = append(mistakes, "names no test: "+strings.Join(strings.Fields(item), " "))
			}
		}
	}
	return append(mistakes, mistakesOfReferences(page, exists)...)
}

// mistakesOfReferences returns a line for each name of a test that has no package or
// does not exist.
func mistakesOfReferences(page string, exists func(folder, test string) bool) []string {
	var mistakes []string
	for _, reference := range testReference.FindAllStringSubmatch(page, -1) {
		if !exists(reference[1], reference[2]) {
			mistakes = append(mistakes, fmt.Sprintf("%s.%s does not exist", reference[1], reference[2]))
		}
	}
	for _, name := range testName.FindAllString(testReference.ReplaceAllString(page, ""), -1) {
		mistakes = append(mistakes, fmt.Sprintf("%s must be written as `PACKAGE.%s`", name, name))
	}
	return mistakes
}

// declaredTests returns the names of the tests and fuzz tests in a folder below the top.
func declaredTests(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string]bool)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && testName.FindString(f.Name.Name) == f.Name.Name && f.Type.Params.NumFields() == 1 {
				tests[f.Name.Name] = true
			}
		}
	}
	return tests
}
