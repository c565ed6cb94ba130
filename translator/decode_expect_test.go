package translator_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

// expectation is what a line of a test file says of itself: `# want CODE "TEXT"`,
// several times if need be.
type expectation struct {
	line int
	code diag.Code
	text string
	seen bool
}

var (
	wantForm  = regexp.MustCompile(`# want ([a-z0-9-]+ "(?:[^"\\]|\\.)*"(?: [a-z0-9-]+ "(?:[^"\\]|\\.)*")*)$`)
	entryForm = regexp.MustCompile(`([a-z0-9-]+) ("(?:[^"\\]|\\.)*")`)
)

func expectations(t *testing.T, content string) []*expectation {
	t.Helper()
	var wants []*expectation
	for i, line := range strings.Split(content, "\n") {
		if !strings.Contains(line, "# want ") {
			continue
		}
		match := wantForm.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("line %d: malformed expectation: %s", i+1, line)
		}
		for _, entry := range entryForm.FindAllStringSubmatch(match[1], -1) {
			text, err := strconv.Unquote(entry[2])
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			wants = append(wants, &expectation{line: i + 1, code: diag.Code(entry[1]), text: text})
		}
	}
	return wants
}

func TestExpectations(t *testing.T) {
	files, err := filepath.Glob("testdata/decode/*.*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list := translator.Kinds().Decode(filepath.Base(file), content, syntax.Options{}).List
			compare(t, expectations(t, string(content)), list)
		})
	}
}

func compare(t *testing.T, wants []*expectation, list diag.List) {
	t.Helper()
	for _, d := range list {
		if !expected(wants, d) {
			t.Errorf("unexpected: %d:%d: %s[%s]: %s", d.Line, d.Column, d.Severity, d.Code, d.Message)
		}
		if d.Line < 1 || d.Column < 1 {
			t.Errorf("without a place: %+v", d)
		}
	}
	for _, w := range wants {
		if !w.seen {
			t.Errorf("missing: line %d: %s %q", w.line, w.code, w.text)
		}
	}
}

func expected(wants []*expectation, d diag.Diagnostic) bool {
	for _, w := range wants {
		if !w.seen && w.line == d.Line && w.code == d.Code && strings.Contains(d.Message, w.text) {
			w.seen = true
			return true
		}
	}
	return false
}
