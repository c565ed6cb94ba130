package translator

import (
	"bytes"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"github.com/writ-policy/writ/translator/source"
)

// Generated Rego, tests included, is formatted as opa fmt writes it. Rego of a
// document stays as its author wrote it.
func TestGeneratedRegoIsFormatted(t *testing.T) {
	t.Parallel()
	snapshots := suites(t)
	for _, g := range goldens(t) {
		snapshots[g.path] = g.snapshot("")
	}
	folders := make(map[string]int)
	for path, snapshot := range snapshots {
		r, _ := New(Options{Tests: true}).Translate(t.Context(), snapshot)
		if r == nil {
			continue
		}
		for name, content := range r.Files {
			if !strings.HasPrefix(name, "compiled/") || !strings.HasSuffix(name, ".rego") || strings.HasPrefix(name, "compiled/gateway/rego/") {
				continue
			}
			folders[strings.Join(strings.Split(name, "/")[:2], "/")]++
			formatted, err := format.SourceWithOpts(name, content, format.Opts{RegoVersion: ast.RegoV1})
			if err != nil {
				t.Errorf("%s: %s: %v", path, name, err)
			} else if !bytes.Equal(content, formatted) {
				t.Errorf("%s: %s: got\n%s\nopa fmt writes\n%s", path, name, content, formatted)
			}
		}
	}
	for _, folder := range []string{"deny", "escalations", "expressions", "extensions", "gateway", "tests", "visibility"} {
		if folders["compiled/"+folder] == 0 {
			t.Errorf("no file of compiled/%s was formatted", folder)
		}
	}
}

// suites returns the documents of the conformance suites.
func suites(t *testing.T) map[string]source.Snapshot {
	t.Helper()
	return snapshotsOf(t, "../tests/conformance/*/*/policies/*.yaml")
}
