package translator

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
)

// elsewhere names the tests that raise what no archive can: it is about files
// and time, or takes too many documents.
var elsewhere = map[diag.Code]string{
	diag.AggregationLimit:  "access/resolve_aggregation_test.go",
	diag.PathLimit:         "gateway/*_test.go",
	diag.Interrupted:       "translator_test.go",
	diag.TooManyMistakes:   "translator_test.go",
	diag.NoReference:       "../cmd/writ/testdata/script/verify.txtar",
	diag.TooLarge:          "source/*_test.go",
	diag.RiskReach:         "../cmd/writ/testdata/script/lint-reach.txtar",
	diag.TestNeedsNow:      "../cmd/writ/testdata/script/dates.txtar",
	diag.BadAcceptance:     "lint/accept/*_test.go",
	diag.ExpiredAcceptance: "lint/accept/*_test.go",
	diag.UnusedAcceptance:  "lint/accept/*_test.go",
	"broken-link":          "source/*_test.go",
	"file-name":            "source/*_test.go",
	"link-loop":            "source/*_test.go",
	"not-regular":          "source/*_test.go",
	"outside-checkout":     "source/*_test.go",
	"unreadable":           "source/*_test.go",
}

// Each code is raised by a golden here, by a line of the registry's test files, or by a
// test elsewhere, and has an explanation.
func TestEveryCodeIsRaisedAndExplained(t *testing.T) {
	raised := make(map[diag.Code]bool)
	code := regexp.MustCompile(`(?m)^(?:\S+: )?(?:error|warning)\[([a-z0-9-]+)\]: `)
	for _, g := range goldens(t) {
		for _, f := range g.archive.Files {
			if !strings.HasPrefix(f.Name, "want/") {
				continue
			}
			for _, match := range code.FindAllSubmatch(f.Data, -1) {
				raised[diag.Code(match[1])] = true
			}
		}
	}
	expectInline(t, raised)
	for code := range raised {
		if _, ok := diag.Explain(code); !ok {
			t.Errorf("%s: got no explanation", code)
		}
	}
	for _, e := range diag.Explanations() {
		if !raised[e.Code] && !mentions(t, elsewhere[e.Code], e.Code) {
			t.Errorf("%s: got no golden that raises it", e.Code)
		}
	}
}

// expectInline adds the codes that the lines of the test files of the registry expect.
func expectInline(t *testing.T, raised map[diag.Code]bool) {
	t.Helper()
	paths, err := filepath.Glob("testdata/decode/*.*")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)# want .*$`)
	code := regexp.MustCompile(`([a-z0-9-]+) "(?:[^"\\]|\\.)*"`)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, expectation := range line.FindAll(text, -1) {
			for _, match := range code.FindAllSubmatch(expectation, -1) {
				raised[diag.Code(match[1])] = true
			}
		}
	}
}

// mentions reports whether a test speaks of a code, by its text or by the name
// of its constant.
func mentions(t *testing.T, pattern string, code diag.Code) bool {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	constant := strings.ReplaceAll(string(code), "-", "")
	word := regexp.MustCompile(`\b` + string(code) + `\b|(?i:\bdiag\.` + constant + `\b)`)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if word.Match(text) {
			return true
		}
	}
	return false
}
